public import Foundation

/// A response with a status that the client doesn't accept.
///
/// The error's texts never contain the response's body; see ``body`` for it.
public struct ServerError: ErrorWithCode, Sendable, CustomNSError, LocalizedError, CustomStringConvertible {
    /// The origin of the error, for analytics; `server` by default.
    public let reason: String
    /// The last component of the request's path; `nil` if the path is empty.
    public let endpoint: String?
    /// The status code.
    public let errorCode: Int
    package let response: Data?
    /// The response's header fields.
    public let headers: HTTPHeaders
    /// The error decoded from the body by ``ErrorDecoding``; `nil` if the body has none.
    public internal(set) var apiError: (any Error)?
    /// The complete response, if the error comes from a client.
    public internal(set) var httpResponse: HTTPResponse?
    /// The statuses that the endpoint accepts; 200…299 by default.
    public internal(set) var acceptedStatuses = AcceptedStatuses.successful
    /// The operation's history: earlier failures, and the reason why the client didn't retry again.
    public internal(set) var retry: Retry.Outcome?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - endpoint: The name of the endpoint for messages, or `nil`.
    ///   - errorCode: The status code.
    ///   - response: The response's body. The default is `nil`.
    ///   - headers: The response's header fields. The default is empty.
    ///   - reason: The kind of error for messages. The default is `server`.
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

    /// The status code, the same as ``errorCode``.
    public var status: Int { errorCode }
    /// The response's body, or empty data without one.
    public var body: Data { response ?? Data() }
    /// The reason for which an authenticator ended the operation, such as an `OAuth2Error`; `nil`
    /// if none did.
    public var authenticationError: (any Error)? {
        if case .custom(let error) = retry?.reason { error } else { nil }
    }

    /// The problem in the body ([RFC 9457](https://www.rfc-editor.org/rfc/rfc9457)), if any.
    public var problem: ProblemDetails? { apiError as? ProblemDetails }

    /// Values for analytics: `endpoint` (or `unknown`), `code`, `hash` (or `no hash`), `reason`.
    public var parameters: [String: String] {
        [
            "endpoint": endpoint ?? "unknown",
            "code": String(errorCode),
            "hash": hash ?? "no hash",
            "reason": reason,
        ]
    }

    /// The domain of the error as an `NSError`; the code is the status code.
    public static var errorDomain: String { "Networking.ServerError" }

    /// The status, the endpoint and the reason why the client didn't retry, in readable form.
    public var description: String {
        retry?.reason.map { "\(answer); \($0)" } ?? answer
    }

    var answer: String {
        var text = "the server answered \(errorCode)"
        if let endpoint { text += " to “\(endpoint)”" }
        if acceptedStatuses != .successful { text += "; accepted statuses: \(acceptedStatuses.text)" }
        return text
    }

    /// The same text as ``description``, for Foundation APIs.
    public var errorDescription: String? { description }

    /// The same text as ``description``, for `NSError` APIs.
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: description] }
}

extension ServerError {
    init(_ response: HTTPResponse, to request: HTTPRequest, traits: RequestTraits, decoding: ErrorDecoding) {
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
