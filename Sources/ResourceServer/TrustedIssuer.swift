public import Foundation
public import Networking
public import OAuth2
internal import OpenSSLCrypto
public import TokenGeneration

/// One of several authorization servers whose access tokens an ``AccessTokenVerifier`` lets in.
///
/// ```swift
/// var partners = TrustedIssuer(discovery: AuthorizationServerDiscovery(issuer: "https://partners.example"))
/// partners.scopeClaim = "scp"
/// let verifier = try AccessTokenVerifier(issuers: [staff, partners], audience: "https://api.example")
/// ```
///
/// What is not said here is as the verifier has it.
public struct TrustedIssuer: Sendable {
    /// The issuer identifier, exactly as the server writes it: a token is this issuer's if its `iss` is this text.
    public let issuer: String
    /// The name by which this issuer knows the API; `nil`, the default, for ``AccessTokenVerifier/audience``.
    public var audience: String?
    /// What this issuer's JWTs must say; `nil`, the default, for ``AccessTokenVerifier/policy``.
    ///
    /// The issuer and the clock are the verifier's business, whatever this says of them.
    public var policy: ValidationPolicy?
    /// The claim that has the scope; `nil`, the default, for ``AccessTokenVerifier/scopeClaim``.
    public var scopeClaim: String?
    /// What is asked about this issuer's tokens that are no JWTs; `nil`, the default, if there are none.
    public var introspection: CachedTokenIntrospection?
    /// How this issuer's tokens begin that are no JWTs; empty, the default, for those that begin like no other issuer's.
    ///
    /// A token is shown to one server only, or to none: another one could use it.
    public var opaqueTokenPrefix = ""

    let keys: IssuerKeys?

    /// Trusts an issuer that says itself where its keys are ([RFC 8414](https://www.rfc-editor.org/rfc/rfc8414)); nothing is asked yet.
    ///
    /// - Parameters:
    ///   - discovery: Finds out where the issuer's keys are.
    ///   - client: What fetches the keys.
    ///   - options: How long keys are used, and how often they are fetched.
    ///   - selection: Which of the keys a token can mean.
    public init(
        discovery: AuthorizationServerDiscovery,
        client: NetworkClient = NetworkClient(),
        options: RemoteKeySet.Options = RemoteKeySet.Options(),
        selection: KeySelection = KeySelection()
    ) {
        let keys = RemoteKeySet(discovery: discovery, client: client, options: options)
        self.init(issuer: discovery.issuer, keys: keys, selection: selection)
    }

    /// Trusts an issuer whose keys are published at a known address.
    ///
    /// - Parameters:
    ///   - issuer: The issuer identifier, exactly as the server writes it.
    ///   - keys: The issuer's keys.
    ///   - selection: Which of the keys a token can mean.
    public init(issuer: String, keys: RemoteKeySet, selection: KeySelection = KeySelection()) {
        self.issuer = issuer
        self.keys = IssuerKeys(keys, selection)
    }

    /// Trusts an issuer whose keys are at hand.
    ///
    /// - Parameters:
    ///   - issuer: The issuer identifier, exactly as the server writes it.
    ///   - keys: The issuer's keys.
    ///   - selection: Which of the keys a token can mean.
    public init(issuer: String, keys: JWKSet, selection: KeySelection = KeySelection()) {
        self.issuer = issuer
        self.keys = IssuerKeys(keys, selection)
    }

    /// Trusts an issuer that is asked about every token of its own, be it a JWT or not
    /// ([RFC 7662](https://www.rfc-editor.org/rfc/rfc7662)).
    ///
    /// - Parameters:
    ///   - introspection: What asks.
    ///   - issuer: The issuer identifier; `nil` for that of the server that is asked.
    public init(introspection: CachedTokenIntrospection, issuer: String? = nil) {
        self.issuer = issuer ?? introspection.issuer
        self.introspection = introspection
        keys = nil
    }
}

extension AccessTokenVerifier {
    /// Makes a verifier of the tokens of several issuers: for an API behind several authorization servers.
    ///
    /// Whose a token is, is decided before anything is fetched or asked:
    ///
    /// - A JWT is that issuer's whose identifier is its `iss`. One of another issuer is refused, and nobody is asked anything.
    ///   It is then verified with that issuer's keys and no others.
    /// - What is no JWT is that issuer's whose ``TrustedIssuer/opaqueTokenPrefix`` it begins with, of several the longest, among those that have
    ///   an ``TrustedIssuer/introspection``; only that server is asked. One of nobody is refused.
    ///
    /// - Parameters:
    ///   - issuers: The issuers.
    ///   - audience: The name by which they know this API, unless they have one of their own for it.
    ///   - currentDate: Tells the time.
    /// - Throws: `OAuth2Error` with the code `invalidIssuer` if there is no issuer, or one twice, or if the tokens of two that are no JWTs
    ///   begin alike.
    public init(
        issuers: [TrustedIssuer],
        audience: String,
        currentDate: @escaping @Sendable () -> Date = { Date() }
    ) throws(OAuth2Error) {
        let trusted = try TrustedIssuers(issuers)
        var policy = ValidationPolicy.accessToken(issuer: trusted.names[0], audience: audience)
        policy.issuer = .oneOf(trusted.names)
        self.init(policy, audience, keys: nil, introspection: nil, currentDate: currentDate)
        self.trusted = trusted
    }

    /// The verifier of one issuer's tokens, with all that holds for each of them.
    func confined(to issuer: TrustedIssuer) -> Self {
        var verifier = self
        verifier.trusted = nil
        if let own = issuer.policy {
            verifier.policy = own
            verifier.policy.currentDate = policy.currentDate
        }
        if let audience = issuer.audience {
            verifier.audience = audience
            if issuer.policy == nil { verifier.policy.audience = .contains(audience) }
        }
        verifier.policy.issuer = .exactly(issuer.issuer)
        verifier.scopeClaim = issuer.scopeClaim ?? scopeClaim
        verifier.keys = issuer.keys
        verifier.introspection = issuer.introspection
        return verifier
    }
}

/// A closed list of issuers, by their names.
final class TrustedIssuers: Sendable {
    /// Their names, in the order in which they were given; there is one at least.
    let names: [String]
    private let byName: [ByteComparedString: TrustedIssuer]
    /// Those that can be asked about tokens that are no JWTs, the longest prefix first.
    private let byPrefix: [TrustedIssuer]

    init(_ issuers: [TrustedIssuer]) throws(OAuth2Error) {
        names = issuers.map(\.issuer)
        byName = Dictionary(issuers.map { (ByteComparedString($0.issuer), $0) }) { first, _ in first }
        guard !names.isEmpty, byName.count == names.count else {
            throw OAuth2Error(
                .invalidIssuer,
                names.isEmpty ? "there is no issuer whose tokens could be let in" : "an issuer is there twice"
            )
        }
        byPrefix = issuers.filter { $0.introspection != nil }
            .sorted { $0.opaqueTokenPrefix.utf8.count > $1.opaqueTokenPrefix.utf8.count }
        guard Set(byPrefix.map { Array($0.opaqueTokenPrefix.utf8) }).count == byPrefix.count else {
            throw OAuth2Error(
                .invalidIssuer,
                "the opaque tokens of two issuers begin alike: say how they can be told apart, by opaqueTokenPrefix"
            )
        }
    }

    /// Whose a token is, and whether it is a JWT.
    ///
    /// - Throws: `TokenError` if it is nobody's.
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
                throw TokenError(.issuerMismatch, "the token is of an issuer that is not trusted here")
            }
            return (issuer, true)
        case nil, .null?:
            throw TokenError(.missingClaim, "the claim “iss” is missing, so that whose token it is can't be told")
        default: throw TokenError(.malformedClaim, "the claim “iss” must be a string")
        }
    }
}
