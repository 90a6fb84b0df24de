import Foundation
public import Networking
public import OAuth2
public import TokenGeneration

extension MockAuthorizationServer {
    /// How a server issues tokens.
    public struct Configuration: Sendable {
        /// How long an access token lives; five minutes by default.
        public var tokenLifetime: Duration
        /// Whether each use of a refresh token replaces it, and the use of a replaced one revokes
        /// all that came of it.
        public var rotatesRefreshTokens: Bool
        /// How long a replaced refresh token may be used again, for a client that has lost the
        /// answer; not at all by default.
        ///
        /// It gets the same successor.
        public var refreshTokenGrace: Duration = .zero
        /// The algorithm of the server's signatures, all of them; ES256 by default.
        public var signingAlgorithm: JWSAlgorithm = .es256
        /// Whether tokens are bound to keys ([RFC 9449](https://www.rfc-editor.org/rfc/rfc9449)).
        public var dpop: DPoPSupport = .optional
        /// Whether DPoP proofs need a nonce, which the server changes as often as it is told to.
        public var requiresNonces = false
        /// Whether authorization requests must be left with the server before
        /// ([RFC 9126 §5](https://www.rfc-editor.org/rfc/rfc9126#section-5)); no by default.
        public var requiresPushedAuthorizationRequests = false
        /// What entitles a client to register itself; `nil`, the default, if everybody may.
        public var initialAccessToken: Secret?
        /// How much the server's clock is ahead; negative if it is late.
        public var clockOffset: Duration = .zero
        /// The resources that tokens can be asked for
        /// ([RFC 8707](https://www.rfc-editor.org/rfc/rfc8707)); `nil`, the default, for any.
        public var resources: Set<String>?
        /// The types of details that can be asked for
        /// ([RFC 9396](https://www.rfc-editor.org/rfc/rfc9396)); `nil`, the default, for any.
        public var authorizationDetailTypes: Set<String>?
        /// How long a user of a device has; ten minutes by default.
        public var deviceCodeLifetime: Duration = .seconds(600)
        /// How long a device has to wait between two questions; `nil` to leave it unsaid, that is
        /// five seconds.
        public var deviceInterval: Duration?
        /// Whom clients may address their assertions to; the issuer or the token endpoint by
        /// default.
        public var assertionAudience: AssertionAudience = .issuerOrTokenEndpoint
        /// How the server says what is wrong with an assertion; as most do by default.
        public var dialect: Dialect = .standard
        /// How the server speaks TLS at a second port, for clients that show a certificate; `nil`,
        /// the default, if it has none
        /// ([RFC 8705 §5](https://www.rfc-editor.org/rfc/rfc8705#section-5)).
        public var mutualTLS: LoopbackServer.TLS?
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

    /// Whom clients may address their assertions to.
    public enum AssertionAudience: Sendable {
        /// The issuer alone, as a text
        /// ([FAPI 2.0](https://openid.net/specs/fapi-security-profile-2_0-final.html)).
        case issuer
        /// The issuer or the token endpoint, perhaps among others.
        case issuerOrTokenEndpoint
    }

    /// What a server says and asks for that others don't.
    public enum Dialect: Sendable {
        /// What the RFCs have.
        case standard
        /// That of [GOV.UK One Login](https://docs.sign-in.service.gov.uk): an assertion that has
        /// expired is an `invalid_grant`, one that is wrong in another way an `invalid_client` with
        /// status 400; every audience of it must be the server; a request without a `User-Agent`
        /// gets 403.
        case govUKOneLogin
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
