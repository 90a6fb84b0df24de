import Foundation
public import FoundationNetworking
public import Networking
import Synchronization
import TokenGeneration

/// A provider that exchanges one token for tokens with a narrower scope
/// ([RFC 8693](https://www.rfc-editor.org/rfc/rfc8693)).
///
/// ```swift
/// let provider = TokenExchangeProvider { Secret(try await session.token) }
/// let client = NetworkClient(options: .init(authenticationProvider: provider))
/// let licence = try await client.makeAuthorizedRequest(
///     exchangeRequest: URLRequest(url: tokenEndpoint),
///     scope: "licence.read",
///     request: URLRequest(url: licenceURL)
/// )
/// ```
///
/// An exchange is a `POST` to the exchange request's URL, with its header fields and a form of
/// `grant_type`, `scope`, `subject_token` and `subject_token_type`, in this order. It requires
/// https, follows no redirects, and is retried while the server is temporarily failing. Tokens of
/// another type than `Bearer` are rejected.
///
/// Tokens are cached by endpoint, scope and subject token until shortly before they expire.
/// Concurrent callers share one exchange. A cached token that a server rejects is exchanged again.
///
/// An ``OAuth2Authenticator`` takes a ``TokenExchangeGrant`` instead, which has actors, audiences
/// and other types of tokens.
public final class TokenExchangeProvider: AuthenticationProvider {
    private struct Key: Hashable {
        let url: URL
        let scope: String
        let subject: Secret
    }

    private final class Exchanged: Sendable {
        let token: AccessToken
        /// A Boolean value that indicates whether a caller got the token from the cache.
        let isReused = Atomic(false)

        init(_ token: AccessToken) { self.token = token }

        var text: String { token.value.expose { $0 } }
    }

    private let subjectToken: @Sendable () async throws -> Secret
    private let client: NetworkClient
    private let timing: OAuth2Timing
    private let hints: DPoPServerState
    private let tokens: SingleFlightCache<Key, Exchanged>

    /// Creates a provider.
    ///
    /// - Parameters:
    ///   - client: The client that sends the exchanges. Don't add an authenticator.
    ///   - timing: The timeout of an exchange, the number of attempts, and the clock.
    ///   - subjectToken: Returns the access token to exchange, such as that of a
    ///     ``CachedTokenSource``.
    public init(
        client: NetworkClient = NetworkClient(),
        timing: OAuth2Timing = OAuth2Timing(),
        subjectToken: @escaping @Sendable () async throws -> Secret
    ) {
        self.subjectToken = subjectToken
        self.client = client
        self.timing = timing
        hints = DPoPServerState(timeSource: timing.timeSource, journal: TokenJournal(client.options.observers))
        var policy = SingleFlightCache<Key, Exchanged>.Policy()
        policy.lifetime = { [timeSource = timing.timeSource] in
            let now = timeSource.now()
            let held = TokenLifecycle.Held(token: $0.token, generation: 0, at: now, jitter: 0)
            return (held.hard ?? held.soft) - now
        }
        tokens = SingleFlightCache(timeSource: timing.timeSource, policy: policy)
    }

    /// Returns a cached token, or exchanges the subject token for one.
    ///
    /// - Throws: ``OAuth2Error``: `requestRejected`, `reauthenticationRequired` or `invalidClient`
    ///   if the server rejects the exchange, `protocolViolation` or `unsupportedTokenType` if its
    ///   response has no usable token, `insecureTransport`, `endpointMissing`, `serverTransient` or
    ///   `serverUnreachable`; the closure's error; `NetworkError` with the code `timedOut` at the
    ///   deadline; `CancellationError`.
    public func bearerToken(
        exchanging exchangeRequest: URLRequest,
        scope: String,
        rejected: String?,
        until deadline: ContinuousClock.Instant?
    ) async throws -> String {
        let url = try exchangeRequest.url.required("the token endpoint")
        let key = Key(url: url, scope: scope, subject: try await subjectToken())
        if let kept = tokens.kept(key) {
            guard let rejected, kept.text.isExactly(rejected) else {
                kept.isReused.store(true, ordering: .relaxed)
                return kept.text
            }
            // Another token than one that has just been issued can't help.
            guard kept.isReused.load(ordering: .relaxed) else { return kept.text }
            tokens.remove(key) { $0 === kept }
        }
        return try await tokens.value(for: key, until: deadline) { [self] in
            Exchanged(try await exchange(exchangeRequest, key))
        }
        .text
    }

    private func exchange(_ exchangeRequest: URLRequest, _ key: Key) async throws -> AccessToken {
        let subject = key.subject.expose { $0 }
        let form = [
            ("grant_type", TokenExchangeGrant.type), ("scope", key.scope), ("subject_token", subject),
            ("subject_token_type", TokenType.accessToken.uri),
        ]
        var request = exchangeRequest
        request.httpMethod = "POST"
        request.setValue(FormURLEncoded.contentType, forHTTPHeaderField: "Content-Type")
        request.httpBodyStream = nil
        request.httpBody = Data(FormURLEncoded.encode(form).utf8)
        let secrets = SentSecrets([subject] + (exchangeRequest.allHTTPHeaderFields ?? [:]).values)
        let requested = timing.timeSource.now()
        let place = "the token endpoint"
        var exchange = EndpointExchange(place: place, url: key.url, client: client, timing: timing, hints: hints)
        exchange.isOfClient = true
        return try await exchange.value { [request] _ in
            (request, secrets)
        } read: { response, secrets in
            try TokenResponse(parsing: response.body, status: response.status, requested: requested, hiding: secrets)
                .accessToken
        }
    }
}
