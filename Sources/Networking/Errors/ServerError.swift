public import Foundation
import FoundationNetworking

/// A response whose status the client does not accept.
///
/// Its texts never contain the response's body; whoever needs it asks for ``response``.
public struct ServerError: ErrorWithCode, Sendable {
    /// Where the error came from, for analytics: `server`.
    public let reason: String
    /// The last component of the request's path; `nil` if the path is empty.
    public let endpoint: String?
    /// The status code.
    public let errorCode: Int
    /// The response's body.
    public let response: Data?
    /// The response's header fields.
    public let headers: HTTPHeaders
    /// What the body means, as ``ErrorDecoding`` read it; `nil` if it says nothing.
    public internal(set) var apiError: (any Error)?
    /// The whole response, if the error comes from a client.
    public internal(set) var httpResponse: HTTPResponse?
    /// The statuses that would have been accepted; 200…299 unless the endpoint says otherwise.
    public internal(set) var acceptedStatuses = AcceptedStatuses.successful
    /// How the operation came to its end: earlier failures, and why there was no further attempt.
    public internal(set) var retry: Retry.Outcome?

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - endpoint: The last component of the request's path.
    ///   - errorCode: The status code.
    ///   - response: The response's body.
    ///   - headers: The response's header fields.
    ///   - reason: Where the error came from.
    public init(
        endpoint: String?,
        errorCode: Int,
        response: Data? = nil,
        headers: HTTPHeaders = [:],
        reason: String = "server"
    ) {
        self.reason = reason
        self.endpoint = endpoint
        self.errorCode = errorCode
        self.response = response
        self.headers = headers
    }

    /// The problem that the API described ([RFC 9457](https://www.rfc-editor.org/rfc/rfc9457)); `nil` if it described none.
    public var problem: ProblemDetails? { apiError as? ProblemDetails }

    /// What analytics record: `endpoint` (or `unknown`), `code`, `hash` (or `no hash`) and `reason`.
    public var parameters: [String: String] {
        [
            "endpoint": endpoint ?? "unknown",
            "code": String(errorCode),
            "hash": hash ?? "no hash",
            "reason": reason,
        ]
    }
}

extension ServerError: CustomNSError, LocalizedError, CustomStringConvertible {
    /// The domain of the error as an `NSError`; its code is the status code.
    public static var errorDomain: String { "Networking.ServerError" }

    /// The status, the endpoint and why there was no further attempt, for a person to read.
    public var description: String {
        retry?.reason.map { "\(answer); \($0)" } ?? answer
    }

    /// The status and the endpoint.
    var answer: String {
        var text = "the server answered \(errorCode)"
        if let endpoint { text += " to “\(endpoint)”" }
        if acceptedStatuses != .successful { text += ", where \(acceptedStatuses) would be accepted" }
        return text
    }

    /// The same text for APIs that ask Foundation.
    public var errorDescription: String? { description }

    /// The same text for APIs that ask an `NSError`.
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: description] }
}

extension ServerError {
    init(_ response: HTTPResponse, to request: URLRequest, traits: RequestTraits, decoding: ErrorDecoding) {
        self.init(
            endpoint: request.endpoint,
            errorCode: response.status,
            response: response.body,
            headers: response.headers
        )
        httpResponse = response
        acceptedStatuses = traits.acceptedStatuses
        apiError = decoding.decode(response)
    }
}

extension Retry.Error: CustomStringConvertible {
    /// Why there is no further attempt, for a person to read.
    public var description: String {
        switch self {
        case .retries(let limit): "not retried again: \(limit) retries are used up"
        case .delay(let limit): "not retried again: the delays would exceed \(limit)"
        case .bodyNotReplayable: "not retried: the request's body can be sent only once"
        case .serverDelay(let delay): "not retried: the server asks to wait for \(delay)"
        case .budget: "not retried again: the budget for retries to this server is used up"
        case .custom(let error): "not retried: \(error)"
        }
    }
}
