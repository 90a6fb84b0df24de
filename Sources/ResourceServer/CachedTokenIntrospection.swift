import Foundation
public import Networking
public import OAuth2
import OpenSSLCrypto
import TokenGeneration

/// Introspection of tokens at an authorization server, with a cache of the responses.
///
/// ```swift
/// let oauth = OAuth2Client(
///     server: server,
///     clientAuthentication: .clientSecretBasic(clientID: "api", secret: secret)
/// )
/// let introspection = CachedTokenIntrospection(oauth, lifetime: .seconds(30))
/// let verifier = AccessTokenVerifier(
///     audience: "https://api.example",
///     introspection: introspection
/// )
/// ```
///
/// Concurrent requests with the same token share one introspection. The cache contains fingerprints
/// of tokens, not the tokens. Its size is bounded: it drops the least recently used response that
/// isn't in use. Inactive tokens have their own cache, so that invented tokens can't displace valid
/// ones. Failures aren't cached.
public final class CachedTokenIntrospection: Sendable {
    private let client: OAuth2Client
    private let verifier: SignedResponseVerifier?
    private let answers: SingleFlightCache<[UInt8], IntrospectedToken>

    /// Creates a cache.
    ///
    /// - Parameters:
    ///   - client: The client that introspects tokens.
    ///   - verifier: The verifier of responses that are JWTs, which are then required
    ///     ([RFC 9701](https://www.rfc-editor.org/rfc/rfc9701)). The default, `nil`, accepts only
    ///     JSON.
    ///   - capacity: The maximum number of cached responses, for active and for inactive tokens
    ///     each. The default is 1,000.
    ///   - lifetime: The lifetime of a cached response, in which a revoked token may still be
    ///     accepted, limited by the token's expiry. The default is one minute; zero disables the
    ///     cache.
    ///   - timeout: The maximum duration of an introspection, in addition to the client's own
    ///     limit. The default is 30 seconds.
    ///   - timeSource: The source of time, which should be the client's.
    public init(
        _ client: OAuth2Client,
        verifiedBy verifier: SignedResponseVerifier? = nil,
        capacity: Int = 1_000,
        lifetime: Duration = .seconds(60),
        timeout: Duration = .seconds(30),
        timeSource: TimeSource = .system
    ) {
        self.client = client
        self.verifier = verifier
        let lifetime = max(lifetime, .zero)
        var policy = SingleFlightCache<[UInt8], IntrospectedToken>.Policy(timeout: timeout)
        policy.capacity = max(capacity, 0)
        policy.kind = \.isActive
        policy.lifetime = { answer in
            let left = answer.expiration.map { Duration(clampingSeconds: $0.timeIntervalSince(timeSource.date())) }
            return min(lifetime, left ?? lifetime)
        }
        answers = SingleFlightCache(timeSource: timeSource, policy: policy)
    }

    var issuer: String { client.issuer }

    /// The number of cached responses.
    var count: Int { answers.count }

    /// Introspects a token.
    ///
    /// - Parameter token: The token.
    /// - Returns: The server's response, possibly from the cache.
    /// - Throws: The errors of `OAuth2Client.introspect(_:kind:verifiedBy:)`; `OAuth2Error` with
    ///   the code `serverUnreachable` if the server doesn't respond in time; `CancellationError` if
    ///   the caller is cancelled while it waits.
    public func answer(about token: Secret) async throws -> IntrospectedToken {
        do {
            return try await answers.value(for: token.fingerprint) { [client, verifier] in
                try await client.introspect(token, kind: .accessToken, verifiedBy: verifier)
            }
        } catch let error as NetworkError where error.code == .timedOut {
            throw OAuth2Error(.serverUnreachable, "the introspection endpoint didn't respond in time", cause: error)
        }
    }

    /// Removes a token from the cache, for example because it was just revoked.
    ///
    /// - Parameter token: The token.
    public func forget(_ token: Secret) {
        // A pending response still goes to the callers that are waiting for it.
        answers.remove(token.fingerprint)
    }
}
