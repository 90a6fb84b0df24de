import Foundation
public import Networking
public import OAuth2
public import TokenGeneration

extension MockAuthorizationServer {
    /// How a server issues tokens.
    public struct Configuration: Sendable {
        /// How long an access token lives; five minutes by default.
        public var tokenLifetime: Duration
        /// Whether each use of a refresh token replaces it, and the use of a replaced one revokes all that came of it.
        public var rotatesRefreshTokens: Bool
        /// How long a replaced refresh token may be used again, for a client that has lost the answer; not at all by default.
        ///
        /// It gets the same successor.
        public var refreshTokenGrace: Duration = .zero
        /// Whether tokens are bound to keys ([RFC 9449](https://www.rfc-editor.org/rfc/rfc9449)).
        public var dpop: DPoPSupport = .optional
        /// Whether DPoP proofs need a nonce, which the server changes as often as it is told to.
        public var requiresNonces = false
        /// What entitles a client to register itself; `nil`, the default, if everybody may.
        public var initialAccessToken: Secret?
        /// How much the server's clock is ahead; negative if it is late.
        public var clockOffset: Duration = .zero
        /// Where time comes from.
        public var time: TimeSource

        /// Makes a configuration.
        ///
        /// - Parameters:
        ///   - tokenLifetime: How long an access token lives.
        ///   - rotatesRefreshTokens: Whether each use of a refresh token replaces it.
        ///   - time: Where time comes from.
        public init(
            tokenLifetime: Duration = .seconds(300),
            rotatesRefreshTokens: Bool = true,
            time: TimeSource = .system
        ) {
            self.tokenLifetime = tokenLifetime
            self.rotatesRefreshTokens = rotatesRefreshTokens
            self.time = time
        }
    }

    /// Whether a server binds tokens to keys.
    public enum DPoPSupport: Sendable {
        /// Proofs are not looked at.
        case none
        /// A token is bound if there is a proof.
        case optional
        /// There is no token without a proof.
        case required
    }

    /// A client that the server knows.
    public struct Client: Sendable {
        enum Credential: Sendable {
            case secret(Secret)
            case key(VerificationKey)
        }

        /// The client's identifier.
        public let id: String
        /// The scopes that the client may ask for; `nil` for any.
        public let scopes: Set<String>?
        let credential: Credential

        /// Makes a client that authenticates with a secret: `client_secret_basic`.
        ///
        /// - Parameters:
        ///   - id: The client's identifier.
        ///   - secret: The client's secret.
        ///   - scopes: The scopes that the client may ask for; `nil` for any.
        public init(id: String, secret: String, scopes: Set<String>? = nil) {
            self.id = id
            self.scopes = scopes
            credential = .secret(Secret(secret))
        }

        /// Makes a client that authenticates with signed assertions: `private_key_jwt`.
        ///
        /// - Parameters:
        ///   - id: The client's identifier.
        ///   - key: The public half of the client's key.
        ///   - scopes: The scopes that the client may ask for; `nil` for any.
        public init(id: String, key: VerificationKey, scopes: Set<String>? = nil) {
            self.id = id
            self.scopes = scopes
            credential = .key(key)
        }
    }
}

extension MockAuthorizationServer.Configuration {
    /// The time by the server's clock.
    var serverTime: TimeSource {
        TimeSource(
            now: time.now,
            date: { [time, clockOffset] in time.date().addingTimeInterval(clockOffset / .seconds(1)) },
            sleep: time.sleep
        )
    }
}
