import Foundation
import OpenSSLCrypto
import TestVectors
import Testing
import TokenGeneration

/// Keys, verifiers and handmade SD-JWTs for several suites.
enum SDJWTFixture {
    static let issuer = "https://issuer.example"
    static let audience = "https://verifier.example"
    static let nonce = "n-1"

    static var date: Date { Date(timeIntervalSince1970: Double(Fixture.now)) }

    /// A key of the reference implementation: `issuer` or `holder`.
    static func key(_ name: String) throws -> SigningKey {
        let vector = try JSONObject(parsing: Vector.data("rfc9901-sd-jwt"))
        let jwk = try #require(vector["keys"]?.object?[name]?.object)
        return try SigningKey(jwk: JWK(jwk))
    }

    static func policy(_ change: (inout ValidationPolicy) -> Void = { _ in }) -> ValidationPolicy {
        var policy = ValidationPolicy(issuer: .skipIssuerCheck, expiration: .optional)
        policy.currentDate = { Date(timeIntervalSince1970: Double(Fixture.now)) }
        change(&policy)
        return policy
    }

    static func verifier(_ change: (inout ValidationPolicy) -> Void = { _ in }) throws -> SDJWTVerifier {
        try SDJWTVerifier(key: key("issuer").verificationKey, policy: policy(change))
    }

    static func issuer(_ change: (inout SDJWTIssuer) -> Void = { _ in }) throws -> SDJWTIssuer {
        var issuer = try SDJWTIssuer(type: "example+sd-jwt", signingService: key("issuer"))
        change(&issuer)
        return issuer
    }

    /// An issued SD-JWT with a disclosable name, a nested claim and an element of an array.
    static func issued(bound: Bool = true, _ change: (inout SDJWTIssuer) -> Void = { _ in }) throws -> SDJWT {
        try issuer(change).issue(
            [
                "iss": .string(issuer), "name": "Alice", "roles": ["reader", "editor"],
                "address": ["city": "Köln", "zip": "50667"],
            ],
            disclosable: ["name", ["address", "city"], "address", ["roles", 1]],
            holderKey: bound ? key("holder").verificationKey : nil
        )
    }

    /// The rule for the key bindings of ``bound(_:disclosing:by:)``.
    static let required = KeyBindingRule.required(nonce: nonce, audience: audience)

    /// Presents claims with a key binding.
    static func bound(
        _ holder: SDJWTHolder,
        disclosing paths: [ClaimPath] = [],
        by key: SigningKey? = nil
    ) throws -> SDJWT {
        try holder.presentation(
            disclosing: paths,
            nonce: nonce,
            audience: audience,
            signingService: key ?? self.key("holder"),
            date: date
        )
    }

    static func holder() throws -> SDJWTHolder { try SDJWTHolder(issued().compact, verifiedBy: verifier()) }

    /// Signs any payload, well formed or not, as the issuer.
    static func token(
        _ payload: String,
        _ disclosures: [String] = [],
        type: String = "example+sd-jwt",
        binding: String = ""
    ) throws -> String {
        let jwt = try Fixture.token(
            header: #"{"alg":"ES256","typ":"\#(type)"}"#,
            payload: payload,
            key: key("issuer")
        )
        return ([jwt] + disclosures).map { "\($0)~" }.joined() + binding
    }

    /// Encodes the JSON of a disclosure.
    static func disclosure(_ json: String) -> String { Base64URL.encode(Array(json.utf8)) }

    /// Returns the SHA-256 digest of a disclosure.
    static func digest(_ disclosure: String) throws -> String {
        Base64URL.encode(try Array(disclosure.utf8).withBytes { try HashFunction.sha256.hash($0) })
    }

    /// Verifies handmade SD-JWTs without a key binding.
    static func verify(_ token: String, by verifier: SDJWTVerifier? = nil) throws -> VerifiedSDJWT {
        try (verifier ?? self.verifier()).verify(token, keyBinding: .notRequired)
    }
}
