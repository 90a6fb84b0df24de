public import OAuth2
internal import OpenSSLCrypto
public import TokenGeneration

/// One of several authorization servers whose access tokens an ``AccessTokenVerifier`` accepts.
///
/// ```swift
/// var partners = TrustedIssuer(issuer: "https://partners.example")
/// partners.scopeClaim = "scp"
/// let verifier = try AccessTokenVerifier(
///     issuers: [staff, partners],
///     audience: "https://api.example"
/// )
/// ```
///
/// Unless they are set, ``audience``, ``policy`` and ``scopeClaim`` are those of the verifier.
public struct TrustedIssuer: Sendable {
    let issuer: String
    /// The issuer's name for the API, which replaces the audience of its ``policy``, too.
    public var audience: String?
    /// The policy that the issuer's JWTs must meet.
    ///
    /// The verifier sets the policy's issuer and clock.
    public var policy: ValidationPolicy?
    /// The name of the claim with the scope.
    public var scopeClaim: String?
    /// The introspection of the issuer's tokens that aren't JWTs, or of all its tokens if the
    /// issuer has no keys.
    ///
    /// The default is `nil`, which rejects such tokens.
    public var introspection: CachedTokenIntrospection?
    /// The prefix of the issuer's tokens that aren't JWTs.
    ///
    /// The default is empty, for tokens that match no other issuer's prefix. A token is sent to one
    /// server at most, because any other could misuse it.
    public var opaqueTokenPrefix = ""

    /// The status lists of the issuer, to reject its revoked JWTs.
    ///
    /// The default is `nil`, which accepts a JWT until it expires.
    public var statusLists: CachedStatusLists?

    let jwtVerifier: RemoteJWTVerifier?

    /// Creates a trusted issuer, without fetching anything yet.
    ///
    /// - Parameters:
    ///   - issuer: The issuer identifier, exactly as the server writes it.
    ///   - keys: The issuer's keys. The default is those that its metadata names
    ///     ([RFC 8414](https://www.rfc-editor.org/rfc/rfc8414)); `nil` requires ``introspection``
    ///     of all tokens.
    public init(issuer: String, keys: IssuerKeys? = .published) {
        self.issuer = issuer
        jwtVerifier = keys.map { RemoteJWTVerifier(keys: $0.of(issuer: issuer)) }
    }
}

extension AccessTokenVerifier {
    /// Creates a verifier of the tokens of several authorization servers.
    ///
    /// The issuer of a token is determined before any request:
    ///
    /// - A JWT belongs to the issuer named by its `iss` and is verified with that issuer's keys
    ///   only. If the issuer isn't trusted, the token is rejected without any request.
    /// - A token that isn't a JWT belongs to the issuer with an ``TrustedIssuer/introspection`` and
    ///   the longest matching ``TrustedIssuer/opaqueTokenPrefix``. Only that issuer's server
    ///   introspects it. If no prefix matches, the token is rejected.
    ///
    /// - Parameters:
    ///   - issuers: The issuers.
    ///   - audience: The issuers' name for this API, unless an issuer has its own.
    /// - Throws: `OAuth2Error` with the code `invalidIssuer` if the list is empty or contains an
    ///   issuer twice, or if two issuers with introspection have the same prefix.
    public init(issuers: [TrustedIssuer], audience: String) throws(OAuth2Error) {
        let trusted = try TrustedIssuers(issuers)
        policy = .accessToken(issuer: trusted.names[0], audience: audience)
        policy.issuer = .oneOf(trusted.names)
        self.trusted = trusted
    }

    func confined(to issuer: TrustedIssuer) -> Self {
        var verifier = self
        verifier.trusted = nil
        if let own = issuer.policy {
            verifier.policy = own
            verifier.policy.currentDate = policy.currentDate
        }
        if let audience = issuer.audience { verifier.policy.audience = .contains(audience) }
        verifier.policy.issuer = .exactly(issuer.issuer)
        verifier.scopeClaim = issuer.scopeClaim ?? scopeClaim
        verifier.jwtVerifier = issuer.jwtVerifier
        verifier.introspection = issuer.introspection
        verifier.statusLists = issuer.statusLists
        return verifier
    }
}

final class TrustedIssuers: Sendable {
    /// The identifiers in the given order, at least one.
    let names: [String]
    private let byName: [ByteComparedString: TrustedIssuer]
    /// The issuers with introspection, the longest prefix first.
    private let byPrefix: [TrustedIssuer]

    init(_ issuers: [TrustedIssuer]) throws(OAuth2Error) {
        names = issuers.map(\.issuer)
        byName = Dictionary(issuers.map { (ByteComparedString($0.issuer), $0) }) { first, _ in first }
        guard !names.isEmpty, byName.count == names.count else {
            throw OAuth2Error(
                .invalidIssuer,
                names.isEmpty ? "the list of issuers is empty" : "the list of issuers contains one twice"
            )
        }
        byPrefix = issuers.filter { $0.introspection != nil }
            .sorted { $0.opaqueTokenPrefix.utf8.count > $1.opaqueTokenPrefix.utf8.count }
        guard Set(byPrefix.map { Array($0.opaqueTokenPrefix.utf8) }).count == byPrefix.count else {
            throw OAuth2Error(
                .invalidIssuer,
                "two issuers have the same opaqueTokenPrefix; give each a different one to tell their opaque tokens apart"
            )
        }
    }

    /// Returns the issuer of a token, and whether the token is a JWT.
    func issuer(of text: String) throws(TokenError) -> (issuer: TrustedIssuer, isJWT: Bool) {
        let token: UnverifiedToken
        do { token = try UnverifiedToken(text) } catch {
            let octets = text.utf8
            guard let issuer = byPrefix.first(where: { octets.starts(with: $0.opaqueTokenPrefix.utf8) }) else {
                throw error
            }
            return (issuer, false)
        }
        switch token.unverifiedClaims["iss"] {
        case .string(let name)?:
            guard let issuer = byName[ByteComparedString(name)] else {
                throw TokenError(.issuerMismatch, "the token's issuer isn't trusted")
            }
            return (issuer, true)
        case nil, .null?:
            throw TokenError(.missingClaim, "the claim “iss” is missing, so the token's issuer is unknown")
        default: throw TokenError(.malformedClaim, "the claim “iss” must be a string")
        }
    }
}
