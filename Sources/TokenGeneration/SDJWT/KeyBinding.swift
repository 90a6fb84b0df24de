internal import FoundationEssentials

/// A key binding JWT: a holder's signature over an SD-JWT
/// ([RFC 9901 §4.3](https://www.rfc-editor.org/rfc/rfc9901#section-4.3)).
enum KeyBindingJWT {
    static let type = "kb+jwt"
    static let holderKeyPath: ClaimPath = ["cnf", "jwk"]
    private static let limits = JWSLimits(size: 8_192)

    static func holderKey(in claims: JSONObject) throws(TokenError) -> JSONObject {
        guard let confirmation = claims["cnf"] else {
            throw TokenError(.confirmationMismatch, "the SD-JWT isn't bound to a key: it has no “cnf”")
        }
        guard let members = confirmation.object else {
            throw TokenError(.malformedClaim, "the claim “cnf” must be an object, not \(confirmation.kind)")
        }
        guard let value = members["jwk"] else {
            throw TokenError(.confirmationMismatch, "“cnf” of the SD-JWT has no “jwk”, the holder's key")
        }
        guard let jwk = value.object else {
            throw TokenError(.malformedClaim, "“jwk” in the claim “cnf” must be an object, not \(value.kind)")
        }
        return jwk
    }

    static func parts(of text: String) throws(TokenError) -> CompactToken {
        do throws(TokenError) {
            return try CompactToken(text, limits: limits)
        } catch {
            throw TokenError(
                error.code,
                "the text after the last “~” is the key binding, but not a signed token: \(error.message)"
            )
        }
    }

    static func signer(
        of token: CompactToken,
        _ header: ProtectedHeader,
        _ claims: JSONObject,
        algorithms: Set<JWSAlgorithm>
    ) throws(TokenError) -> VerificationKey {
        let jwk = try holderKey(in: claims)
        let algorithm = try header.asymmetricAlgorithm(among: algorithms, for: "key bindings")
        let key = try VerificationKey(sentAs: jwk, for: algorithm, "“jwk” in the claim “cnf”")
        guard try token.signer(among: [key]) != nil else {
            throw TokenError(.signatureInvalid, "the key binding's signature doesn't verify with the holder's key")
        }
        return key
    }

    /// [RFC 9901 §7.3](https://www.rfc-editor.org/rfc/rfc9901#section-7.3), step 5.
    static func verify(
        _ text: String,
        _ requirement: KeyBindingRule.Requirement,
        boundText: String,
        hash: NamedHash,
        processed claims: JSONObject,
        algorithms: Set<JWSAlgorithm>,
        leeway: Duration,
        at now: Date
    ) throws(TokenError) -> VerifiedSDJWT.KeyBinding {
        let token = try parts(of: text)
        let header = try described { () throws(TokenError) in
            let header = try token.header()
            try header.checkCriticalMembers()
            return header
        }
        let key = try signer(of: token, header, claims, algorithms: algorithms)
        let (found, registered) = try described { () throws(TokenError) in
            let found = try token.claims(in: token.payload())
            return (found, try policy(requirement, leeway).check(header, found, signedBy: key, at: now))
        }
        guard let issuedAt = registered.issuedAt else {
            throw TokenError(.missingClaim, "the key binding has no “iat”")
        }
        try check(found, requirement)
        guard let bound = try found.stringClaim("sd_hash"),
            bound.isExactly(try hash.digest(of: Array(boundText.utf8)))
        else {
            throw TokenError(.hashMismatch, "“sd_hash” of the key binding isn't the hash of the presented SD-JWT")
        }
        return VerifiedSDJWT.KeyBinding(key: key, issuedAt: issuedAt, claims: found)
    }

    private static func described<Value>(_ check: () throws(TokenError) -> Value) throws(TokenError) -> Value {
        do throws(TokenError) {
            return try check()
        } catch {
            throw TokenError(error.code, "in the key binding: \(error.message)", cause: error)
        }
    }

    private static func policy(_ requirement: KeyBindingRule.Requirement, _ leeway: Duration) -> ValidationPolicy {
        var policy = ValidationPolicy(
            type: .exactly(type),
            leeway: leeway,
            expiration: .optional,
            maximumAge: max(requirement.maximumAge, .zero),
            requiredClaims: ["iat", "nonce", "aud", "sd_hash"]
        )
        // The audience must be a single string, and a key binding has no issuer but the key.
        policy.issuer = .skipIssuerCheck
        policy.audience = .skipAudienceCheck
        return policy
    }

    private static func check(
        _ claims: JSONObject,
        _ requirement: KeyBindingRule.Requirement
    ) throws(TokenError) {
        guard let nonce = try claims.stringClaim("nonce"), !requirement.nonce.isEmpty,
            nonce.isExactly(requirement.nonce)
        else {
            throw TokenError(.nonceMismatch, "“nonce” of the key binding isn't the one that the verifier expects")
        }
        guard let audience = try claims.stringClaim("aud"), !requirement.audience.isEmpty,
            audience.isExactly(requirement.audience)
        else {
            throw TokenError(.audienceMismatch, "“aud” of the key binding isn't the verifier")
        }
    }
}

/// A verifier's rule about key bindings: proofs that the presenter of an SD-JWT has the holder's
/// key ([RFC 9901 §9.5](https://www.rfc-editor.org/rfc/rfc9901#section-9.5)).
///
/// The verifier decides before it sees a presentation. A presentation without a key binding can't
/// change the rule.
public struct KeyBindingRule: Sendable, Hashable {
    struct Requirement: Hashable {
        let nonce: String
        let audience: String
        let maximumAge: Duration
    }

    let requirement: Requirement?

    /// The presentation must have a key binding that was made for this verifier and this
    /// transaction.
    ///
    /// - Parameters:
    ///   - nonce: The nonce that the verifier sent to the holder, a new one for each transaction.
    ///     An empty nonce rejects every presentation.
    ///   - audience: The name that holders know the verifier by. An empty name rejects every
    ///     presentation.
    ///   - maximumAge: The maximum time since the key binding was made. The default is 5 minutes.
    ///     The leeway of the verifier's policy extends it.
    /// - Returns: The rule.
    public static func required(
        nonce: String,
        audience: String,
        maximumAge: Duration = .seconds(300)
    ) -> KeyBindingRule {
        KeyBindingRule(requirement: Requirement(nonce: nonce, audience: audience, maximumAge: maximumAge))
    }

    /// The verifier accepts presentations with and without a key binding, and ignores key bindings.
    ///
    /// - Warning: Anyone who gets a copy of an SD-JWT, such as another verifier, can present it.
    public static let notRequired = KeyBindingRule(requirement: nil)

    /// [RFC 9901 §7.3](https://www.rfc-editor.org/rfc/rfc9901#section-7.3), step 2.
    func checkPresence(in token: SDJWT) throws(TokenError) {
        guard requirement == nil || token.keyBindingJWT != nil else {
            throw TokenError(
                .keyBindingMismatch,
                "the presentation has no key binding, but the verifier requires one; the holder must sign it"
            )
        }
    }
}
