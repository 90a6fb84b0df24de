/// The class of a status code ([RFC 9110 §15](https://www.rfc-editor.org/rfc/rfc9110#section-15)).
@nonexhaustive
public enum HTTPStatusClass: Sendable, Hashable {
    /// 1xx: the request was received, and a final response follows.
    case informational
    /// 2xx: the request was received, understood and accepted.
    case successful
    /// 3xx: the request needs further action.
    case redirection
    /// 4xx: the request is invalid or can't be fulfilled.
    case clientError
    /// 5xx: the server failed to fulfill an apparently valid request.
    case serverError
    /// A number that isn't an HTTP status code.
    case unknown

    /// Creates the class of a status code.
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
