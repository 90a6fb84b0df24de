import Foundation
import TokenGeneration

// shows: E24
extension FuzzTarget {
    /// Reads a text as a JWE in either form.
    ///
    /// A text of `#`, a digit and a header stands for the compact seed of that number with this
    /// header. The fuzzer finds more JSON when it doesn't have to encode it.
    static func jwe(_ text: String) {
        if text.utf8.first == UInt8(ascii: "#") {
            let bytes = Array(text.utf8.dropFirst())
            guard let digit = bytes.first else { return }
            let rest = Seeds.jweRests[Int(digit) % Seeds.jweRests.count]
            return jwe(Data(bytes.dropFirst()).base64URLEncoded + rest)
        }
        let isJSON = text.utf8.first == UInt8(ascii: "{")
        let decrypted: DecryptedJWE
        do throws(TokenError) {
            decrypted =
                try isJSON ? Seeds.jweDecrypter.decrypt(json: text) : Seeds.jweDecrypter.decrypt(compact: text)
        } catch {
            require(error.code != .decryptionFailed || error.cause == nil, "a failed decryption has a reason")
            return
        }
        require(Seeds.contents.contains(decrypted.plaintext), "a changed content was accepted")
        guard let view = try? isJSON ? UnverifiedJWE(json: text) : UnverifiedJWE(compact: text) else {
            defect("a decrypted JWE has no unverified view")
        }
        require(view.unverifiedProtectedHeader == decrypted.header, "two headers in one text")
        require(view.recipientHeaders.indices.contains(decrypted.recipientIndex), "a recipient is lost")
        require(decrypted.header["enc"]?.string == decrypted.encryption.rawValue, "“enc” isn't protected")
        require(isJSON || decrypted.unprotectedHeader.isEmpty, "a compact JWE has an unprotected header")
    }
}

extension Data {
    /// The bytes in base64url.
    fileprivate var base64URLEncoded: String {
        String(
            base64EncodedString().compactMap { character in
                switch character {
                case "+": "-"
                case "/": "_"
                case "=": nil
                default: character
                }
            }
        )
    }
}
