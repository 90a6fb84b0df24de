import Foundation
import FoundationNetworking
import Networking

/// Asks an endpoint of an authorization server: again if it fails for the moment, never at another place, and with errors in
/// the vocabulary of OAuth 2.
struct EndpointExchange: Sendable {
    /// A request and the values in it that no error may repeat.
    typealias Request = (request: URLRequest, secrets: SentSecrets)

    /// How the endpoint is called in errors.
    let place: String
    let url: URL
    let client: NetworkClient
    let timing: OAuth2Timing
    let hints: DPoPServerState
    /// Whether a request has a time in it, so that a wrong clock makes it invalid.
    var usesAssertion = false
    /// A Boolean value that indicates whether the client authenticates at the endpoint, instead of presenting an access token.
    var isOfClient = false
    /// Whether errors may repeat the server's words: not if an authenticator of the client puts secrets on the request.
    var isQuotable = true
    /// Whether a request whose answer was lost may be sent again.
    var isRepeatable = true

    /// Asks until there is an answer that counts, or no time left.
    ///
    /// - Parameters:
    ///   - makeRequest: Makes the request, by the time of the server's clock; called anew for every attempt.
    ///   - read: Reads an answer with a status of 2xx, given the secrets that its errors must not repeat.
    /// - Returns: What was read.
    /// - Throws: ``OAuth2Error``; `NetworkError` with the code `cancelled`, or `CancellationError`, if the caller is cancelled.
    func value<Value>(
        _ makeRequest: (Date) async throws -> Request,
        read: (HTTPResponse, SentSecrets) async throws -> Value
    ) async throws -> Value {
        let origin = try url.confidentialOrigin("what \(place) is asked with")
        let deadline = timing.timeSource.now() + timing.timeout
        var sequence = TokenRequestSequence(attempts: isRepeatable ? timing.attempts : 1)
        while true {
            let skew = hints.skew(for: origin)
            let failure: OAuth2Error
            do {
                let request = try await makeRequest(hints.date(for: origin))
                return try await read(try await response(to: request, until: deadline), request.secrets)
            } catch let error as OAuth2Error { failure = error }
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

    /// Sends one request.
    private func response(
        to request: Request,
        until deadline: ContinuousClock.Instant
    ) async throws -> HTTPResponse {
        let requested = timing.timeSource.now()
        func note(_ headers: HTTPHeaders) {
            hints.note(headers, from: url, age: timing.timeSource.now() - requested)
        }
        do {
            // A redirect would carry credentials, and what is trusted, to wherever it points.
            let response = try await client.response(
                for: request.request,
                options: RequestOptions(
                    redirects: .never,
                    timeout: deadline - requested,
                    maximumBodySize: TokenEndpoint.maximumBodySize
                )
            )
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
            // An authenticator of the client's own.
            if let cause = error.cause as? OAuth2Error { throw cause }
            if error.code == .bodyTooLarge {
                let limit = TokenEndpoint.maximumBodySize
                throw OAuth2Error(
                    .protocolViolation,
                    "the answer of \(place) is larger than \(limit) octets; check the endpoint's URL",
                    cause: error
                )
            }
            throw OAuth2Error(.serverUnreachable, "\(place) could not be asked", cause: error)
        }
    }
}
