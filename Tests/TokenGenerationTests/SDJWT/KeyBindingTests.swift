import Foundation
import OpenSSLCrypto
import TestSupport
import Testing
import TokenGeneration

@Suite("Key bindings of SD-JWTs", .computing)
struct KeyBindingTests {
    private typealias Make = SDJWTFixture

    /// A presentation, without its key binding, and a valid key binding's header and claims.
    private struct Parts {
        let text: String
        var header: JSONObject = ["alg": "ES256", "typ": "kb+jwt"]
        var claims: JSONObject

        init(_ text: String) throws {
            self.text = text
            claims = [
                "iat": .number(JSONNumber(Fixture.now)), "nonce": .string(Make.nonce), "aud": .string(Make.audience),
                "sd_hash": .string(try Make.digest(text)),
            ]
        }

        func signed(by key: SigningKey? = nil) throws -> String {
            let key = try key ?? Make.key("holder")
            return text + (try Fixture.token(header: header.serialized(), payload: claims.serialized(), key: key))
        }
    }

    private static func parts() throws -> Parts {
        try Parts(Make.holder().presentation(disclosing: ["name"]).compact)
    }

    private static func refusal(
        _ token: String,
        _ rule: KeyBindingRule = Make.required,
        by verifier: SDJWTVerifier? = nil
    ) throws -> TokenError.Code? {
        let verifier = try verifier ?? Make.verifier()
        return code { try verifier.verify(token, keyBinding: rule) }
    }

    @Test("Verifies a holder's presentation", .shows("J24", "RFC 9901 §4.3")) func valid() throws {
        let presentation = try Make.bound(Make.holder(), disclosing: ["name"])
        let found = try Make.verifier().verify(presentation.compact, keyBinding: Make.required)
        #expect(found.claims["name"] == "Alice")
        #expect(found.claims["address"] == nil)
        #expect(found.disclosedPaths == ["name"])
        #expect(found.keyBinding?.issuedAt == Make.date)
        #expect(try found.keyBinding?.key.thumbprint == Make.key("holder").verificationKey.thumbprint)
        let json = presentation.flattenedJSON().serializedData()
        #expect(try Make.verifier().verify(json: json, keyBinding: Make.required).claims == found.claims)
        #expect(try Self.refusal(Self.parts().signed()) == nil)
    }

    @Test("Rejects a presentation without the required key binding", .shows("V1", "RFC 9901 §7.3")) func missing()
        throws
    {
        let text = try Self.parts().text
        #expect(try Self.refusal(text) == .keyBindingMismatch)
        let stripped = try Self.parts().signed().split(separator: "~").dropLast().map { "\($0)~" }.joined()
        #expect(try Self.refusal(stripped) == .keyBindingMismatch)
    }

    @Test("Ignores a key binding that the verifier doesn't require", .shows("RFC 9901 §7.3")) func ignored() throws {
        var parts = try Self.parts()
        parts.claims["nonce"] = "other"
        let verifier = try Make.verifier()
        #expect(try verifier.verify(parts.signed(), keyBinding: .notRequired).keyBinding == nil)
        #expect(try Self.refusal(parts.text + "x", .notRequired) == .malformedToken)
    }

    /// Changes to the header and claims of a valid key binding; `nil` removes a member.
    typealias Changes = [String: JSONValue?]

    @Test(
        "Rejects a key binding with another, a missing or a large claim",
        .shows("V2", "RFC 9901 §4.3"),
        arguments: [
            (["nonce": "other"], .nonceMismatch), (["nonce": ""], .nonceMismatch), (["nonce": 1], .malformedClaim),
            (["aud": "https://other.example"], .audienceMismatch), (["aud": [.string(Make.audience)]], .malformedClaim),
            (["sd_hash": "AAAA"], .hashMismatch), (["sd_hash": 1], .malformedClaim), (["iat": 1_699_999_000], .tooOld),
            (["iat": 1_700_000_100], .issuedInFuture), (["iat": "now"], .malformedClaim),
            (["exp": 1_699_999_000], .expired), (["nbf": 1_700_000_100], .notYetValid), (["iat": nil], .missingClaim),
            (["nonce": nil], .missingClaim), (["aud": nil], .missingClaim), (["sd_hash": nil], .missingClaim),
            (["padding": .string(String(repeating: "a", count: 8_192))], .tooLarge),
        ] as [(Changes, TokenError.Code)]
    )
    func claim(changes: Changes, expected: TokenError.Code) throws {
        var parts = try Self.parts()
        for (name, value) in changes { parts.claims[name] = value }
        #expect(try Self.refusal(parts.signed()) == expected)
    }

    @Test(
        "Rejects a key binding with another type, algorithm or a required extension",
        .shows("V4", "RFC 9901 §4.3"),
        arguments: [
            (["typ": "JWT"], .typeMismatch), (["typ": "example+sd-jwt"], .typeMismatch),
            (["typ": "at+jwt"], .typeMismatch), (["typ": nil], .typeMismatch), (["alg": "none"], .unsupportedAlgorithm),
            (["alg": "None"], .unsupportedAlgorithm), (["alg": "HS256"], .unsupportedAlgorithm),
            (["alg": "XX"], .unsupportedAlgorithm), (["alg": "ES384"], .algorithmMismatch),
            (["crit": ["exp"], "exp": 1], .criticalHeaderUnsupported),
        ] as [(Changes, TokenError.Code)]
    )
    func header(changes: Changes, expected: TokenError.Code) throws {
        var parts = try Self.parts()
        for (name, value) in changes { parts.header[name] = value }
        #expect(try Self.refusal(parts.signed()) == expected)
    }

    @Test("Rejects an algorithm that the verifier doesn't accept") func acceptedAlgorithms() throws {
        var verifier = try Make.verifier()
        verifier.keyBindingAlgorithms = [.ed25519]
        #expect(try Self.refusal(Self.parts().signed(), by: verifier) == .unsupportedAlgorithm)
        verifier.keyBindingAlgorithms = [.es256]
        #expect(try Self.refusal(Self.parts().signed(), by: verifier) == nil)
    }

    @Test(
        "Rejects a key binding that another key signed, even with that key in its header",
        .shows("V3", "RFC 9901 §4.1.2")
    ) func otherKey() throws {
        var parts = try Self.parts()
        let other = try SigningKey.generate(.es256)
        #expect(try Self.refusal(parts.signed(by: other)) == .signatureInvalid)
        parts.header["jwk"] = .object(other.verificationKey.jwk.members)
        #expect(try Self.refusal(parts.signed(by: other)) == .signatureInvalid)
        #expect(try Self.refusal(parts.signed(by: Make.key("issuer"))) == .signatureInvalid)
    }

    @Test("Rejects a key binding for other disclosures", .shows("V2", "V15")) func otherDisclosures() throws {
        let holder = try Make.holder()
        let binding = try #require(Self.parts().signed().split(separator: "~").last)
        let all = try holder.presentation(disclosing: holder.disclosablePaths).compact
        let none = try holder.presentation(disclosing: []).compact
        #expect(try Self.refusal(all + binding) == .hashMismatch)
        #expect(try Self.refusal(none + binding) == .hashMismatch)
    }

    @Test(
        "Rejects a key binding in JSON for other disclosures or another signature",
        .shows("V2", "V16", "RFC 9901 §8")
    ) func otherJSON() throws {
        let presentation = try Make.bound(Make.holder(), disclosing: ["name", "address"]).flattenedJSON()
        let verifier = try Make.verifier()
        let refusal = { (json: JSONObject) in
            code { try verifier.verify(json: json.serializedData(), keyBinding: Make.required) }
        }
        #expect(refusal(presentation) == nil)
        var header = try #require(presentation["header"]?.object)
        header["kid"] = "not protected"
        var changed = presentation
        changed["header"] = .object(header)
        #expect(refusal(changed) == nil)
        header["disclosures"] = .array(Array(try #require(header["disclosures"]?.array).dropLast()))
        changed["header"] = .object(header)
        #expect(refusal(changed) == .hashMismatch)
        header["disclosures"] = .array(
            Array(try #require(presentation["header"]?.object?["disclosures"]?.array).reversed())
        )
        changed["header"] = .object(header)
        #expect(refusal(changed) == .hashMismatch)
        // The hash covers the first signature, which another signer can't replace.
        var first = presentation
        first["payload"] = nil
        var foreign = first
        first["header"] = ["kid": "1"]
        foreign["signature"] = .string(Base64URL.encode([UInt8](repeating: 1, count: 64)))
        let general: JSONObject = [
            "payload": try #require(presentation["payload"]), "signatures": .array([.object(foreign), .object(first)]),
        ]
        #expect(refusal(general) == .hashMismatch)
    }

    @Test(
        "Rejects a token that isn't bound to a key",
        .shows("V3", "RFC 9901 §4.1.2"),
        arguments: [
            ("{}", TokenError.Code.confirmationMismatch), (#"{"cnf":{}}"#, .confirmationMismatch),
            (#"{"cnf":{"kid":"1"}}"#, .confirmationMismatch), (#"{"cnf":"key"}"#, .malformedClaim),
            (#"{"cnf":{"jwk":"key"}}"#, .malformedClaim), (#"{"cnf":{"jwk":{}}}"#, .malformedKey),
            (#"{"cnf":{"jwk":{"kty":"oct","k":"AAAA"}}}"#, .publicKeyRequired),
        ]
    )
    func unbound(payload: String, expected: TokenError.Code) throws {
        let parts = try Parts(Make.token(payload))
        #expect(try Self.refusal(parts.signed()) == expected)
    }

    @Test("Rejects a token with the holder's private key", .shows("V3")) func privateKey() throws {
        let jwk = try Make.key("holder").privateJWK().members
        let parts = try Parts(Make.token(#"{"cnf":{"jwk":\#(jwk.serialized())}}"#))
        #expect(try Self.refusal(parts.signed()) == .publicKeyRequired)
    }

    @Test("Uses a key that the holder discloses", .shows("RFC 9901 §4.1.2")) func disclosedKey() throws {
        let jwk = try Make.key("holder").verificationKey.jwk.members
        let disclosure = Make.disclosure(#"["salt","cnf",{"jwk":\#(jwk.serialized())}]"#)
        let payload = #"{"_sd":["\#(try Make.digest(disclosure))"]}"#
        #expect(try Self.refusal(Parts(Make.token(payload, [disclosure])).signed()) == nil)
        #expect(try Self.refusal(Parts(Make.token(payload)).signed()) == .confirmationMismatch)
    }

    @Test("Rejects everything if the nonce or the audience isn't set", .shows("V1")) func emptyRule() throws {
        var parts = try Self.parts()
        parts.claims["nonce"] = ""
        #expect(try Self.refusal(parts.signed(), .required(nonce: "", audience: Make.audience)) == .nonceMismatch)
        parts = try Self.parts()
        parts.claims["aud"] = ""
        #expect(try Self.refusal(parts.signed(), .required(nonce: Make.nonce, audience: "")) == .audienceMismatch)
    }

    @Test("Limits the age of a key binding", .shows("V2"), arguments: [(30, nil), (29, TokenError.Code.tooOld)])
    func age(maximum: Int, expected: TokenError.Code?) throws {
        var parts = try Self.parts()
        parts.claims["iat"] = .number(JSONNumber(Fixture.now - 90))
        let age = Duration.seconds(maximum)
        let rule = KeyBindingRule.required(nonce: Make.nonce, audience: Make.audience, maximumAge: age)
        #expect(try Self.refusal(parts.signed(), rule) == expected)
    }

    @Test("Rejects a key binding in place of a disclosure, and two of them") func misplaced() throws {
        let token = try Self.parts().signed()
        let binding = try #require(token.split(separator: "~").last)
        #expect(try Self.refusal(token + "~") == .keyBindingMismatch)
        #expect(try Self.refusal(token + "~", .notRequired) == .disclosureMismatch)
        #expect(try Self.refusal(token + "~" + binding) == .disclosureMismatch)
    }

    @Test("Checks the claims before the key binding", .shows("RFC 9901 §7.3")) func order() throws {
        let parts = try Parts(Make.token(#"{"exp":1}"#))
        #expect(try Self.refusal(parts.text + "x.y.z") == .expired)
    }
}
