public import Foundation

/// An issuer whose tokens workloads and clients send to your service, with the rules that the
/// issuer documents for them.
///
/// A value has the issuer's name, its algorithms, the claims that identify the sender, and the
/// location of its keys. Only the audience is missing, which is your own name.
///
/// ```swift
/// let verifier = JWTVerifier(
///     .kubernetes(
///         issuer: "https://cluster.example",
///         namespace: "shop",
///         serviceAccount: "orders"
///     ),
///     audience: "https://api.example",
///     keys: keys
/// )
/// ```
///
/// The modules OAuth2 and ResourceServer have initializers that fetch the keys. For users who sign
/// in, see ``IdentityProvider``.
///
/// All claims are compared code point by code point. An empty value, which comes from a missing
/// setting, matches nothing.
public struct TokenIssuer: Sendable {
    /// The rules for the issuer's tokens, except for the audience.
    ///
    /// Without an audience, the policy rejects every token with `aud`.
    public var policy: ValidationPolicy
    /// The rules by which a token's key is selected from the issuer's keys.
    public var selection: KeySelection
    /// The URL of the issuer's keys, or `nil` if the issuer's metadata or nothing names it.
    public var keySetURL: URL?
    /// The identifier of an issuer whose metadata names the URL of its keys, or `nil`.
    package var metadataIssuer: String?
    /// The name of the claim with the scope.
    package var scopeClaim = "scope"
    /// The name of the claim with the client's ID.
    package var clientClaim = "client_id"
    /// A Boolean value that indicates whether the issuer omits `aud` from some access tokens.
    var mayLackAudience = false

    /// Creates an issuer with the algorithms that it may sign with, and that of RSA keys that don't
    /// state one.
    init(_ policy: ValidationPolicy, algorithms: Set<JWSAlgorithm>, assumedAlgorithm: JWSAlgorithm = .rs256) {
        self.policy = policy
        self.policy.algorithms = algorithms
        selection = KeySelection(assumedAlgorithms: [assumedAlgorithm])
    }

    /// Returns the policy for the issuer's tokens to an audience.
    ///
    /// - Parameter audience: The value that `aud` must be or contain. Choose one that no other
    ///   service uses, because a service can present the tokens that it receives to others of the
    ///   same name.
    /// - Returns: The policy.
    public func policy(audience: String) -> ValidationPolicy {
        var policy = policy
        policy.audience = mayLackAudience ? .absentOrContains(audience) : .contains(audience)
        return policy
    }
}

extension JWTVerifier {
    /// Creates a verifier of the tokens that an issuer makes for an audience.
    ///
    /// - Parameters:
    ///   - issuer: The issuer.
    ///   - audience: The value that `aud` must be or contain.
    ///   - keys: The issuer's keys.
    public init(_ issuer: TokenIssuer, audience: String, keys: JWKSet) {
        self.init(keys: keys, selection: issuer.selection, policy: issuer.policy(audience: audience))
    }
}
