import Foundation
import Testing
import TokenGeneration

/// Tests the order of checks that "Token verification" in Docs/Architecture.md describes.
@Suite("Order of verification")
struct VerificationOrderTests {
    private let key: SigningKey
    private let service: ES256SigningService
    private let verifier: JWTVerifier

    init() throws {
        key = try SigningKey.generate(.es256)
        service = try ES256SigningService(key: key)
        var policy = ValidationPolicy(issuer: "i", audience: "a")
        policy.type = .absentOrJWT
        policy.subject = "s"
        policy.requiredClaims = ["needed"]
        policy.prohibitedClaims = ["unwanted"]
        policy.checks = [ClaimsCheck("mine") { $0.claims["mine"] == true }]
        verifier = JWTVerifier(key: key.verificationKey, policy: policy)
    }

    private func part(_ text: String) -> String { Self.part(Data(text.utf8)) }

    private static func part(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    private func signed(_ header: String, _ payload: String) throws -> String {
        let input = "\(part(header)).\(part(payload))"
        return "\(input).\(Self.part(try service.sign(data: Data(input.utf8))))"
    }

    /// Returns tokens that each fix one error of the previous token and still have all later ones.
    private func tokens() throws -> [String] {
        let bad = #"{"alg":"ES256","typ":"at+jwt"}"#
        let good = #"{"alg":"ES256","typ":"JWT"}"#
        let noSignature = Self.part(Data(count: 64))
        let exp = "\"exp\":4102444800"
        return [
            String(repeating: "!", count: 70_000),
            "!.!",
            "\(part("[]")).!.!",
            "\(part(#"{"alg":"HS256","crit":["x"],"x":1,"typ":"at+jwt"}"#)).!.!",
            "\(part(#"{"alg":"HS256","typ":"at+jwt"}"#)).!.!",
            "\(part(bad)).\(part("[]")).\(noSignature)",
            try signed(bad, "[]"),
            try signed(bad, #"{"exp":"soon","iss":"x","sub":"x","aud":"x","unwanted":1}"#),
            try signed(good, #"{"exp":"soon","iss":"x","sub":"x","aud":"x","unwanted":1}"#),
            try signed(good, #"{"exp":1,"iss":"x","sub":"x","aud":"x","unwanted":1}"#),
            try signed(good, #"{"exp":1,"iss":"x","sub":"x","aud":"x","needed":1,"unwanted":1}"#),
            try signed(good, #"{"exp":1,"iss":"x","sub":"x","aud":"x","needed":1}"#),
            try signed(good, "{\(exp),\"iss\":\"x\",\"sub\":\"x\",\"aud\":\"x\",\"needed\":1}"),
            try signed(good, "{\(exp),\"iss\":\"i\",\"sub\":\"x\",\"aud\":\"x\",\"needed\":1}"),
            try signed(good, "{\(exp),\"iss\":\"i\",\"sub\":\"s\",\"aud\":\"x\",\"needed\":1}"),
            try signed(good, "{\(exp),\"iss\":\"i\",\"sub\":\"s\",\"aud\":\"a\",\"needed\":1}"),
        ]
    }

    @Test(
        "Rejects a token with every error for its size first, then for each next error, down to the custom checks"
    )
    func order() throws {
        let refusals = try tokens().map { token in
            do throws(TokenError) {
                _ = try verifier.verify(token)
                return "accepted"
            } catch {
                return error.code.description
            }
        }
        #expect(
            refusals == [
                "tooLarge", "malformedToken", "malformedToken", "criticalHeaderUnsupported", "algorithmMismatch",
                "signatureInvalid", "malformedToken", "typeMismatch", "malformedClaim", "missingClaim",
                "prohibitedClaim",
                "expired", "issuerMismatch", "subjectMismatch", "audienceMismatch", "checkFailed",
            ]
        )
        let mended = "{\"exp\":4102444800,\"iss\":\"i\",\"sub\":\"s\",\"aud\":\"a\",\"needed\":1,\"mine\":true}"
        #expect(try verifier.verify(signed(#"{"alg":"ES256","typ":"JWT"}"#, mended)).claims["mine"] == true)
    }
}
