internal import OpenSSLCrypto
public import TokenGeneration

/// A token that authorizes requests to a protected resource
/// ([RFC 6749 §1.4](https://www.rfc-editor.org/rfc/rfc6749#section-1.4)).
public struct AccessToken: Sendable, ComparedByParts {
    /// The token's text.
    public let value: Secret
    /// The token's type as the server spelled it, by default `Bearer`.
    ///
    /// A token exchange that issues something other than an access token returns `N_A`
    /// ([RFC 8693 §2.2.1](https://www.rfc-editor.org/rfc/rfc8693#section-2.2.1)).
    public let type: String
    /// The scope that the server granted, if stated.
    public let scope: String?
    /// The token's expiry on the monotonic clock, if the server stated it.
    public let expiry: ContinuousClock.Instant?
    /// The time when the token was requested, or found in a store.
    public let requested: ContinuousClock.Instant
    /// The generator of proofs for the key that the token is bound to
    /// ([RFC 9449](https://www.rfc-editor.org/rfc/rfc9449)).
    ///
    /// The value is `nil` for a bearer token.
    public let proofGenerator: DPoPProofGenerator?
    /// A Boolean value that indicates whether the token came from a store, issued at an unknown
    /// time.
    package var isFound = false
    /// The time to replace the token, if that's earlier than the client would do it by its expiry.
    package var renewal: ContinuousClock.Instant?

    package static let bearer = "Bearer"
    /// The type of an issued token that isn't an access token.
    package static let notApplicable = "N_A"

    /// Creates a token.
    public init(
        value: Secret,
        type: String = "Bearer",
        scope: String? = nil,
        expiry: ContinuousClock.Instant? = nil,
        requested: ContinuousClock.Instant,
        proofGenerator: DPoPProofGenerator? = nil
    ) {
        self.value = value
        self.type = type
        self.scope = scope
        self.expiry = expiry
        self.requested = requested
        self.proofGenerator = proofGenerator
    }

    func hasExpired(at now: ContinuousClock.Instant) -> Bool { expiry.map { $0 <= now } ?? false }

    /// All properties; proof generators are equal if they have the same key.
    var parts: [AnyHashable?] {
        [
            value, ByteComparedString(type), scope.map(ByteComparedString.init), expiry, requested, isFound, renewal,
            proofGenerator?.thumbprint,
        ]
    }
}

protocol ComparedByParts: Hashable {
    /// The values that equality and hashes depend on.
    var parts: [AnyHashable?] { get }
}

extension ComparedByParts {
    /// Returns a Boolean value that indicates whether two values are equal, with texts as bytes.
    public static func == (left: Self, right: Self) -> Bool { left.parts == right.parts }

    /// Feeds the value to a hasher.
    public func hash(into hasher: inout Hasher) { hasher.combine(parts) }
}

/// The tokens in a token endpoint's response
/// ([RFC 6749 §5.1](https://www.rfc-editor.org/rfc/rfc6749#section-5.1)).
public struct IssuedTokens: Sendable, Redacted {
    /// The access token, or after a token exchange the token of type ``issuedTokenType``.
    public let accessToken: AccessToken
    /// The refresh token, if the server issued one.
    public let refreshToken: Secret?
    /// All members of the response, including extensions and secrets.
    public let members: JSONObject
    /// The verified ID token, which identifies the user.
    ///
    /// It's `nil` without a request for one, or if the ``IDTokenRule`` skips it.
    public internal(set) var idToken: VerifiedToken?
    let boundKey: BoundKey?

    init(_ response: TokenResponse, boundKey: BoundKey?) {
        accessToken = response.accessToken
        refreshToken = response.refreshToken
        members = response.members
        self.boundKey = boundKey
    }

    /// The ID token as the server sent it, if the scope had `openid` ([OpenID Connect Core
    /// §3.1.3.3](https://openid.net/specs/openid-connect-core-1_0.html#TokenResponse)).
    ///
    /// - Warning: The token hasn't been verified. Use ``idToken`` to identify the user.
    public var unverifiedIDToken: Secret? { members["id_token"]?.string.map(Secret.init) }

    /// The type of the token issued in a token exchange, such as
    /// `urn:ietf:params:oauth:token-type:access_token`
    /// ([RFC 8693 §2.2.1](https://www.rfc-editor.org/rfc/rfc8693#section-2.2.1)).
    public var issuedTokenType: TokenType? { members["issued_token_type"]?.string.map(TokenType.init) }

    /// The granted authorization details
    /// ([RFC 9396 §7](https://www.rfc-editor.org/rfc/rfc9396#section-7)).
    public var authorizationDetails: [AuthorizationDetail] {
        (members["authorization_details"]?.array ?? []).compactMap(AuthorizationDetail.init)
    }

    /// The names of the response's members, without the tokens.
    public var description: String { "issued tokens: \(members.map(\.name).joined(separator: ", "))" }
}
