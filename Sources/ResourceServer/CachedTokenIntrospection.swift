import Foundation
public import Networking
public import OAuth2
import TokenGeneration

/// Asks an authorization server what tokens are, and remembers its answers for a while.
///
/// ```swift
/// let oauth = OAuth2Client(server: server, clientAuthentication: .clientSecretBasic(clientID: "api", secret: secret))
/// let introspection = CachedTokenIntrospection(oauth, lifetime: .seconds(30))
/// let verifier = AccessTokenVerifier(audience: "https://api.example", introspection: introspection)
/// ```
///
/// However many requests come with one token at the same time, the server is asked once. The cache has no tokens in it, only their
/// fingerprints, and has a bound: of the answers that are not used, the one that was used longest ago makes room. Tokens that are
/// not active have a cache of their own, so that made-up ones can't push the good ones out. A failure is not remembered.
public final class CachedTokenIntrospection: Sendable {
    /// The most answers that are remembered about good tokens, and about others.
    public let capacity: Int
    /// How long an answer is used; that is how long a token may still be accepted after it was revoked.
    public let lifetime: Duration

    private let client: OAuth2Client
    private let answers: SingleFlightCache<[UInt8], IntrospectedToken>

    /// Makes a cache.
    ///
    /// - Parameters:
    ///   - client: What asks the server.
    ///   - capacity: The most answers that are remembered about good tokens, and about others; 1000 of each by default.
    ///   - lifetime: How long an answer is used, though never beyond the token's expiry; a minute by default, zero for not at all.
    ///   - timeout: How long an answer may take to come, whatever the client's own limit; 30 seconds by default.
    ///   - timeSource: Where time comes from; the client should have the same.
    public init(
        _ client: OAuth2Client,
        capacity: Int = 1_000,
        lifetime: Duration = .seconds(60),
        timeout: Duration = .seconds(30),
        timeSource: TimeSource = .system
    ) {
        self.client = client
        self.capacity = max(capacity, 0)
        self.lifetime = max(lifetime, .zero)
        var policy = SingleFlightCache<[UInt8], IntrospectedToken>.Policy(timeout: timeout)
        policy.capacity = self.capacity
        policy.kind = \.isActive
        policy.lifetime = { [lifetime = self.lifetime] answer in
            let left = answer.expiration.map { Duration.seconds($0.timeIntervalSince(timeSource.date())) }
            return min(lifetime, left ?? lifetime)
        }
        answers = SingleFlightCache(timeSource: timeSource, policy: policy)
    }

    /// The server that is asked.
    var issuer: String { client.server.issuer }

    /// How many answers are remembered.
    public var count: Int { answers.count }

    /// Says what a token is.
    ///
    /// - Parameter token: The token.
    /// - Returns: What the server says of it, or said a while ago.
    /// - Throws: As `OAuth2Client.introspect(_:kind:)` does; `OAuth2Error` with the code `serverUnreachable` if no answer comes
    ///   in time; `CancellationError` if the caller is cancelled while it waits.
    public func answer(about token: Secret) async throws -> IntrospectedToken {
        do {
            return try await answers.value(for: token.fingerprint) { [client] in
                try await client.introspect(token, kind: .accessToken)
            }
        } catch let error as NetworkError where error.code == .timedOut {
            throw OAuth2Error(.serverUnreachable, "the introspection endpoint did not answer in time", cause: error)
        }
    }

    /// Forgets what is known of a token, such as one that was just revoked here.
    ///
    /// - Parameter token: The token.
    public func forget(_ token: Secret) {
        // An answer that is on its way is for those who have asked before.
        answers.remove(token.fingerprint)
    }
}
