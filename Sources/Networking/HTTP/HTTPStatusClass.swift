/// The class of a status code, by its first digit ([RFC 9110 §15](https://www.rfc-editor.org/rfc/rfc9110#section-15)).
@nonexhaustive
public enum HTTPStatusClass: Sendable, Hashable {
    /// 1xx: the request was received, more follows.
    case informational
    /// 2xx: the request was received, understood and accepted.
    case successful
    /// 3xx: more must be done to complete the request.
    case redirection
    /// 4xx: the request has a fault or can't be fulfilled.
    case clientError
    /// 5xx: the server failed to fulfill a request that seems valid.
    case serverError
    /// Not a status code of HTTP.
    case unknown

    /// The class of a status code.
    ///
    /// - Parameter status: The status code.
    public init(status: Int) {
        switch status {
        case 100...199: self = .informational
        case 200...299: self = .successful
        case 300...399: self = .redirection
        case 400...499: self = .clientError
        case 500...599: self = .serverError
        default: self = .unknown
        }
    }
}

extension HTTPResponse {
    /// The class of the status.
    public var statusClass: HTTPStatusClass { HTTPStatusClass(status: status) }
}
