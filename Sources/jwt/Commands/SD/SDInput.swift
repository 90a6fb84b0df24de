import Foundation
import TokenGeneration

/// The input of the `jwt sd` commands, and its recognition in the others.
struct SDInput {
    /// The advice of the commands that verify another kind of token.
    static let verificationAdvice = "verify it with jwt sd verify"

    let text: String

    /// Reads an SD-JWT in any form, and refers to another command for a plain token.
    init(_ token: TokenInput, insteadOf command: String) throws(CommandFailure) {
        text = try token.read()
        guard !isJSON, !text.utf8.contains(UInt8(ascii: "~")) else { return }
        let advice =
            switch text.utf8.count(where: { $0 == UInt8(ascii: ".") }) {
            case 2: "this is a plain signed token, not an SD-JWT, which has a “~” after the signature; use \(command)"
            case 4: "the token is encrypted, a JWE; decrypt it with jwt decrypt"
            default: "not an SD-JWT, which has a “~” after the signature"
            }
        throw CommandFailure(.rejected, TokenError(.malformedToken, advice))
    }

    /// A Boolean value that indicates whether the text is a JSON serialization.
    var isJSON: Bool { text.utf8.first == UInt8(ascii: "{") }

    /// The text in UTF-8.
    var data: Data { Data(text.utf8) }

    /// Parses the text without verifying it.
    func unverified() throws(TokenError) -> UnverifiedSDJWT {
        isJSON ? try UnverifiedSDJWT(json: data) : try UnverifiedSDJWT(text)
    }

    /// Returns whether the text has the form of an SD-JWT: a signed token and `~`, or JSON with
    /// disclosures or a key binding
    /// ([RFC 9901 §8.1](https://www.rfc-editor.org/rfc/rfc9901#section-8.1)).
    static func isSDJWT(_ text: String) -> Bool {
        if text.utf8.first == UInt8(ascii: "{") {
            let jws = try? UnverifiedJWS(json: text, limits: JWSLimits(size: TokenInput.sizeLimit))
            let header = jws?.unverifiedSignatures.first?.unprotectedHeader
            return header?["disclosures"] != nil || header?["kb_jwt"] != nil
        }
        let token = text.utf8.prefix { $0 != UInt8(ascii: "~") }
        return token.endIndex < text.utf8.endIndex && token.count { $0 == UInt8(ascii: ".") } == 2
    }

    /// Returns the error of a command for another kind of token, if the text is an SD-JWT.
    static func refusal(_ text: String, _ advice: String) -> TokenError? {
        isSDJWT(text) ? TokenError(.malformedToken, "the token is an SD-JWT; \(advice)") : nil
    }
}
