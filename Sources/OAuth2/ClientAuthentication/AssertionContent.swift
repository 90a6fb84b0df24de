import Foundation
import OpenSSLCrypto
import TokenGeneration

/// What an assertion says ([RFC 7523 §3](https://www.rfc-editor.org/rfc/rfc7523#section-3)).
struct AssertionContent: Sendable {
    let issuer: String
    let subject: String
    private let lifetime: Int
    private let claims: JSONObject

    /// - Parameters:
    ///   - issuer: Who signs.
    ///   - subject: Whom it is about.
    ///   - lifetime: How long an assertion is valid: whole seconds count, at least one and at most a day of them.
    ///   - claims: What else it says.
    init(issuer: String, subject: String, lifetime: Duration, claims: JSONObject = [:]) {
        self.issuer = issuer
        self.subject = subject
        self.lifetime = Int(min(max(lifetime, .seconds(1)), .seconds(86_400)).components.seconds)
        self.claims = claims
    }

    /// The claims of one assertion, with a `jti` of its own, and without `nbf`: servers whose clock is a second behind would
    /// refuse it.
    func claims(audience: String, at date: Date) throws(CryptoError) -> JSONObject {
        let issued = Int(date.timeIntervalSince1970)
        var content = claims
        content["iss"] = .string(issuer)
        content["sub"] = .string(subject)
        content["aud"] = .string(audience)
        content["jti"] = .string(try SecureRandom.bytes(count: 16).hexadecimal)
        content["iat"] = .number(JSONNumber(issued))
        content["exp"] = .number(JSONNumber(issued + lifetime))
        return content
    }
}
