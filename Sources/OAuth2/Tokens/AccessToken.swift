internal import OpenSSLCrypto
public import TokenGeneration

/// A token that opens a protected resource ([RFC 6749 §1.4](https://www.rfc-editor.org/rfc/rfc6749#section-1.4)).
public struct AccessToken: Sendable, Hashable {
    /// The token itself.
    public let value: Secret
    /// What kind of token it is, as the server wrote it; `Bearer` in most cases, and `N_A` for what came of a token exchange and is
    /// no access token ([RFC 8693 §2.2.1](https://www.rfc-editor.org/rfc/rfc8693#section-2.2.1)).
    public let type: String
    /// The scope the server granted, if it said so.
    public let scope: String?
    /// When the token expires on the monotonic clock, if the server said so.
    public let expiry: ContinuousClock.Instant?
    /// When the request that brought the token was sent, or the token was found in a store.
    public let requested: ContinuousClock.Instant
    /// What proves that the sender has the key that the token is bound to; `nil` for a token that everybody can use
    /// ([RFC 9449](https://www.rfc-editor.org/rfc/rfc9449)).
    public let proofGenerator: DPoPProofGenerator?
    /// Whether the token was in a store, where somebody else had put it: nobody knows when it was issued.
    public var isFound: Bool

    /// The type of a token that any holder can use.
    static let bearer = "Bearer"
    /// The type of what is no access token.
    static let notApplicable = "N_A"

    /// Makes a token.
    ///
    /// - Parameters:
    ///   - value: The token itself.
    ///   - type: What kind of token it is.
    ///   - scope: The scope the server granted.
    ///   - expiry: When the token expires.
    ///   - requested: When the request that brought the token was sent.
    ///   - proofGenerator: What proves that the sender has the key that the token is bound to.
    ///   - isFound: Whether the token was in a store.
    public init(
        value: Secret,
        type: String = "Bearer",
        scope: String? = nil,
        expiry: ContinuousClock.Instant? = nil,
        requested: ContinuousClock.Instant,
        proofGenerator: DPoPProofGenerator? = nil,
        isFound: Bool = false
    ) {
        self.value = value
        self.type = type
        self.scope = scope
        self.expiry = expiry
        self.requested = requested
        self.proofGenerator = proofGenerator
        self.isFound = isFound
    }

    /// Whether two tokens are the same in all respects; two generators are if they have the same key.
    ///
    /// - Parameters:
    ///   - left: One token.
    ///   - right: The other.
    /// - Returns: Whether they are the same.
    public static func == (left: Self, right: Self) -> Bool {
        left.value == right.value && ByteComparedString(left.type) == ByteComparedString(right.type)
            && left.scope.map(ByteComparedString.init) == right.scope.map(ByteComparedString.init)
            && left.expiry == right.expiry && left.requested == right.requested && left.isFound == right.isFound
            && left.proofGenerator?.thumbprint == right.proofGenerator?.thumbprint
    }

    /// Feeds the token to a hasher.
    ///
    /// - Parameter hasher: The hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(value)
        hasher.combine(ByteComparedString(type))
        hasher.combine(requested)
    }
}
