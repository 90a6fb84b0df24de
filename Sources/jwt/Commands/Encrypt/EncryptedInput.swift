import TokenGeneration

/// The recognition of encrypted tokens, for the commands that expect another kind of token.
enum EncryptedInput {
    /// Returns whether the text has the form of a JWE: five segments, or JSON with a ciphertext
    /// ([RFC 7516 §9](https://www.rfc-editor.org/rfc/rfc7516#section-9)).
    static func isEncrypted(_ text: String) -> Bool {
        if text.utf8.first == UInt8(ascii: "{") { return (try? jwe(text)) != nil }
        // An SD-JWT with a key binding has four periods, too.
        return text.utf8.count(where: { $0 == UInt8(ascii: ".") }) == 4 && !SDInput.isSDJWT(text)
    }

    /// Returns the error of a command that verifies signatures, if the token is encrypted.
    static func refusal(_ text: String) -> TokenError? {
        guard isEncrypted(text) else { return nil }
        return TokenError(
            .malformedToken,
            "the token is encrypted, a JWE; decrypt and verify it with jwt decrypt --nested"
        )
    }

    /// Reads the headers of a JWE in any serialization.
    static func jwe(
        _ text: String,
        limits: JWELimits = JWELimits(size: TokenInput.sizeLimit)
    ) throws(TokenError) -> UnverifiedJWE {
        text.utf8.first == UInt8(ascii: "{")
            ? try UnverifiedJWE(json: text, limits: limits) : try UnverifiedJWE(compact: text, limits: limits)
    }

    /// Returns the headers for `jwt decode`, without empty ones.
    static func report(_ jwe: UnverifiedJWE) -> JSONObject {
        var report: JSONObject = ["encrypted": true, "header": .object(jwe.unverifiedProtectedHeader)]
        if !jwe.unprotectedHeader.isEmpty { report["unprotectedHeader"] = .object(jwe.unprotectedHeader) }
        if jwe.recipientHeaders.contains(where: { !$0.isEmpty }) {
            report["recipientHeaders"] = .array(jwe.recipientHeaders.map(JSONValue.object))
        }
        report["verified"] = false
        return report
    }

    /// Returns how to decrypt the token, as far as its headers tell.
    static func advice(_ jwe: UnverifiedJWE) -> String {
        let headers = [jwe.unverifiedProtectedHeader, jwe.unprotectedHeader] + jwe.recipientHeaders
        let algorithms = headers.compactMap { $0["alg"]?.string }
        let source =
            !algorithms.isEmpty && algorithms.allSatisfy { $0.hasPrefix("PBES2-") } ? "--password" : "--key FILE"
        let isNested = headers[0]["cty"]?.string.map { $0.isExactlyIgnoringASCIICase("JWT") } ?? false
        return "jwt decrypt \(source)" + (isNested ? " --nested --verify-key FILE" : "")
    }
}
