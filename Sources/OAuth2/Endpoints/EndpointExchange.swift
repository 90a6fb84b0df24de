import Foundation
import FoundationNetworking
import Networking

/// A request to an endpoint of an authorization server, which retries temporary failures, doesn't
/// follow redirects, and throws OAuth 2 errors.
struct EndpointExchange: Sendable {
    /// A request with the secrets in it that errors must not repeat.
    typealias Request = (request: URLRequest, secrets: SentSecrets)

    /// The endpoint's name in error messages.
    let place: String
    let url: URL
    let client: NetworkClient
    let timing: OAuth2Timing
    let hints: DPoPServerState
    /// A Boolean value that indicates whether the request contains a time.
    var usesAssertion = false
    /// A Boolean value that indicates whether the endpoint authenticates the client.
    var isOfClient = false
    /// A Boolean value that indicates whether errors may quote the server, which they must not if
    /// the network client's authenticator adds secrets to the request.
    var isQuotable = true
    /// A Boolean value that indicates whether the error of the network client's authenticator is
    /// that of the request.
    var isOfAuthenticator = true
    /// A Boolean value that indicates whether a lost request may be sent again.
    var isRepeatable = true

    /// Sends requests until one succeeds, a failure is final, or the time is up.
    ///
    /// One closure creates each attempt's request, with the server's time. The other reads a 2xx
    /// response, given the secrets that errors can't repeat.
    ///
    /// - Throws: ``OAuth2Error``; `NetworkError` with the code `cancelled`, or `CancellationError`.
    func value<Value>(
        _ makeRequest: (Date) async throws -> Request,
        read: (HTTPResponse, SentSecrets) async throws -> Value
    ) async throws -> Value {
        let origin = try url.confidentialOrigin("a request to \(place)")
        let deadline = timing.timeSource.now() + timing.timeout
        var sequence = TokenRequestSequence(attempts: isRepeatable ? timing.attempts : 1)
        var previous: OAuth2Error?
        while true {
            let skew = hints.skew(for: origin)
            let failure: OAuth2Error
            do {
                let request = try await makeRequest(hints.date(for: origin))
                let timeout = deadline - timing.timeSource.now()
                return try await read(try await response(to: request, timeout: timeout), request.secrets)
            } catch let error as OAuth2Error { failure = error.following(previous) }
            previous = failure
            let step = sequence.next(
                after: failure,
                TokenRequestSequence.Circumstances(
                    isSkewNews: hints.skew(for: origin) != skew,
                    usesAssertion: usesAssertion,
                    timeLeft: deadline - timing.timeSource.now(),
                    jitter: timing.random()
                )
            )
            switch step {
            case .fail(let error): throw error
            case .again(let delay): if delay > .zero { try await timing.timeSource.sleep(delay) }
            }
        }
    }

    /// Sends one request, whose network client's errors become OAuth 2 errors.
    ///
    /// - Throws: ``OAuth2Error``; `NetworkError` with the code `cancelled`, or `CancellationError`.
    func response(
        to request: Request,
        timeout: Duration?,
        observers: [any ClientObserver] = []
    ) async throws -> HTTPResponse {
        let requested = timing.timeSource.now()
        func note(_ headers: HTTPHeaders) {
            hints.note(headers, from: url, age: timing.timeSource.now() - requested)
        }
        // A redirect would carry credentials and trust to another server.
        var options = RequestOptions(
            redirects: .never,
            timeout: timeout,
            maximumBodySize: TokenEndpoint.maximumBodySize
        )
        options.additionalObservers = observers
        do {
            let response = try await client.response(for: request.request, options: options)
            note(response.headers)
            return response
        } catch let error as ServerError {
            note(error.headers)
            throw OAuth2Error(
                answer: error,
                place: place,
                hiding: request.secrets,
                now: timing.timeSource.date(),
                isOfClient: isOfClient,
                isQuotable: isQuotable
            )
        } catch let error as NetworkError {
            if error.code == .cancelled { throw error }
            if isOfAuthenticator, let cause = error.cause as? OAuth2Error { throw cause }
            if error.code == .bodyTooLarge {
                let limit = TokenEndpoint.maximumBodySize
                throw OAuth2Error(
                    .protocolViolation,
                    "the response from \(place) is larger than \(limit) bytes; check the endpoint's URL",
                    cause: error
                )
            }
            throw OAuth2Error(.serverUnreachable, "\(place) couldn't be reached", cause: error)
        }
    }
}
