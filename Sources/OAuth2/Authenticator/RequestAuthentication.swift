public import Foundation
public import Networking
public import TokenGeneration

/// The authentication of a request that another HTTP client sends.
///
/// Use it to keep your HTTP client. The loop makes the decisions that a `NetworkClient` makes with
/// the same authenticator:
///
/// ```swift
/// var authentication = authenticator.authentication(method: .get, url: url)
/// var response: Response
/// repeat {
///     var attempt = request
///     for field in try await authentication.credentials() {
///         attempt.headers[field.name] = field.value
///     }
///     response = try await client.send(attempt)
/// } while try await authentication.needsRetry(
///     after: response.status,
///     headers: response.headers
/// )
/// ```
///
/// - The credentials are empty for an origin that the authenticator's ``ResourceRule`` doesn't
///   cover.
/// - The loop ends: the authenticator limits its retries.
/// - Evaluate every response, also a successful one, because it may have a nonce for DPoP proofs.
/// - Start each attempt from the request without credentials.
///
/// - Important: If your client follows redirects, it must remove `Authorization` and `DPoP` from a
///   request to another origin.
public struct RequestAuthentication: Sendable, Redacted {
    private let authenticator: OAuth2Authenticator
    private var session: OAuth2Session
    private let request: HTTPRequest
    private let deadline: ContinuousClock.Instant?
    private let started: ContinuousClock.Instant
    private var refusals: [ServerError] = []
    private var delays: [Duration] = []
    /// The attempt whose response hasn't been evaluated.
    private var pending: HTTPRequest?

    fileprivate init(_ authenticator: OAuth2Authenticator, _ request: HTTPRequest, deadline: ContinuousClock.Instant?) {
        self.authenticator = authenticator
        session = OAuth2Session(authenticator)
        self.request = request
        self.deadline = deadline
        started = authenticator.timing.timeSource.now()
    }

    private var state: Retry.State {
        Retry.State(authenticationErrors: refusals, delays: delays, started: started)
    }

    /// Returns the credentials for the next attempt, obtaining or refreshing the token if
    /// necessary.
    ///
    /// - Returns: The header fields to set, each replacing a field of the same name:
    ///   `Authorization`, and `DPoP` for a token that is bound to a key. Empty if the request isn't
    ///   for this authenticator.
    /// - Throws: The errors of ``OAuth2Authenticator/authenticateRequest(_:context:)``;
    ///   `NetworkError` with the code `timedOut` at the deadline; `CancellationError`.
    public mutating func credentials() async throws -> HTTPHeaders {
        var attempt = request
        try await session.authenticate(&attempt, until: deadline, after: state)
        pending = attempt
        guard request.headers["Authorization"] == nil else { return [:] }
        var fields: HTTPHeaders = [:]
        for name in authenticator.credentialFields.sorted() { fields[name] = attempt.headers[name] }
        return fields
    }

    /// Returns the action after a response, for a client that schedules its own retries.
    ///
    /// Call it once after each attempt. The action is `none` if the response isn't about the token,
    /// and `noRetry` if new credentials can't help. After `retry` or `retryAfter`, get new
    /// ``credentials()`` and send the request again. ``needsRetry(after:headers:body:from:)``
    /// carries the action out.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - headers: The response's header fields, with repeated fields kept separate.
    ///   - body: The response's body, which some servers put the error into. The default is `nil`.
    ///   - url: The URL that the response comes from, if the client followed a redirect. The
    ///     default is `nil`, for the URL of the request.
    /// - Returns: The action.
    public mutating func action(
        after status: Int,
        headers: HTTPHeaders,
        body: Data? = nil,
        from url: URL? = nil
    ) async -> Retry.Action {
        guard let attempt = pending.take() else { return .none }
        let response = HTTPResponse(url: url ?? attempt.url, status: status, headers: headers, body: body ?? Data())
        let refusal = ServerError(endpoint: nil, errorCode: status, response: body, headers: headers)
        let action = session.action(after: response, to: attempt, state)
        switch action {
        case .none, .noRetry: return action
        case .retry, .retryAfter:
            let limit = Retry.maximumAuthenticationRetries
            guard refusals.count < limit else { return .noRetry(.retries(limit)) }
        }
        if case .retryAfter(let delay) = action, delay > .zero {
            if let deadline, authenticator.timing.timeSource.now() + delay >= deadline {
                return .noRetry(.delay(deadline - started))
            }
            delays.append(delay)
        }
        refusals.append(refusal)
        return action
    }

    /// Evaluates a response, and waits if the next attempt needs a delay.
    ///
    /// Call it once after each attempt.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - headers: The response's header fields, with repeated fields kept separate.
    ///   - body: The response's body, which some servers put the error into. The default is `nil`.
    ///   - url: The URL that the response comes from, if the client followed a redirect. The
    ///     default is `nil`, for the URL of the request.
    /// - Returns: `true` if the request should be sent again with new ``credentials()``; `false` if
    ///   the response isn't about the token.
    /// - Throws: ``OAuth2Error`` if the server rejected the request and new credentials can't help,
    ///   for example with the code `freshTokenRejected` or `insufficientScope`; `Retry.Error` if
    ///   the delay would exceed the deadline or the limit; `CancellationError`.
    public mutating func needsRetry(
        after status: Int,
        headers: HTTPHeaders,
        body: Data? = nil,
        from url: URL? = nil
    ) async throws -> Bool {
        switch await action(after: status, headers: headers, body: body, from: url) {
        case .none: return false
        case .retry: return true
        case .noRetry(.custom(let error)): throw error
        case .noRetry(let reason): throw reason
        case .retryAfter(let delay):
            if delay > .zero { try await authenticator.timing.timeSource.sleep(delay) }
            return true
        }
    }

    /// The method, the URL without its query, and the number of rejected attempts.
    public var description: String {
        let place = request.url.absoluteString.unicodeScalars.prefix { $0 != "?" && $0 != "#" }
        return "\(request.method) \(String(place)), rejected: \(refusals.count)"
    }
}

extension OAuth2Authenticator {
    /// Returns the authentication of a request that another HTTP client sends.
    ///
    /// It lasts for all attempts of one request. See ``RequestAuthentication`` for the loop.
    ///
    /// - Parameters:
    ///   - method: The request's method.
    ///   - url: The request's absolute URL.
    ///   - headers: The request's header fields. With an `Authorization` field, the request gets no
    ///     credentials. The default is empty.
    ///   - deadline: The time to stop waiting for a token or a retry. The default is `nil`, for
    ///     none.
    /// - Returns: The authentication.
    public func authentication(
        method: HTTPMethod,
        url: URL,
        headers: HTTPHeaders = [:],
        deadline: ContinuousClock.Instant? = nil
    ) -> RequestAuthentication {
        var request = HTTPRequest(method: method, url: url)
        request.headers["Authorization"] = headers["Authorization"]
        return RequestAuthentication(self, request, deadline: deadline)
    }
}
