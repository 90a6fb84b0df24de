import Foundation
import OpenSSLCrypto

/// The encryption of stored records: one key that seals, and others that still open.
///
/// To replace a key, first let all processes open with the new one, then let them seal with it, and
/// remove the old one when every record has been written again.
package struct RecordCipher: Sendable {
    /// A sealed text and the identifier of its key.
    package struct Sealed: Sendable {
        /// The key's identifier.
        package let keyID: String
        /// The nonce, the ciphertext and the tag.
        package let bytes: [UInt8]
    }

    private let sealing: (id: String, cipher: AESGCM)
    private let opening: [String: AESGCM]

    /// Creates a cipher with keys of 32 bytes as base64 or base64url text.
    package init(sealingKey: Secret, openingKeys: [Secret] = []) throws(OAuth2Error) {
        sealing = try Self.cipher(sealingKey)
        var opening = [sealing.id: sealing.cipher]
        for key in openingKeys {
            let (id, cipher) = try Self.cipher(key)
            opening[id] = cipher
        }
        self.opening = opening
    }

    /// The identifier of the key that seals.
    package var sealingKeyID: String { sealing.id }

    /// Encrypts a text.
    package func seal(_ text: [UInt8], authenticating context: [UInt8]) throws(OAuth2Error) -> Sealed {
        do {
            return Sealed(keyID: sealing.id, bytes: try sealing.cipher.seal(text, authenticating: context))
        } catch {
            throw OAuth2Error(.storeFailed, "the record could not be encrypted", cause: error)
        }
    }

    /// Decrypts a text with the named key, or with any key if none is named.
    ///
    /// - Returns: The text; `nil` if it was modified, or sealed with a key that isn't available.
    package func open(
        _ bytes: [UInt8],
        keyID: String?,
        authenticating context: [UInt8]
    ) throws(OAuth2Error) -> [UInt8]? {
        let ciphers = keyID.map { opening[$0].map { [$0] } ?? [] } ?? Array(opening.values)
        for cipher in ciphers {
            do {
                if let text = try cipher.open(bytes, authenticating: context) { return text }
            } catch {
                throw OAuth2Error(.storeFailed, "the record could not be decrypted", cause: error)
            }
        }
        return nil
    }

    private static func cipher(_ key: Secret) throws(OAuth2Error) -> (id: String, cipher: AESGCM) {
        let octets = key.expose { text in
            let base64 = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
                .trimmingCharacters(in: CharacterSet(charactersIn: "= \n"))
            return Data(base64Encoded: base64 + String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4))
        }
        do {
            let bytes = octets ?? Data()
            let cipher = try AESGCM(key: Array(bytes).withBytes { SecretBytes(copying: $0) })
            // A digest of a random key doesn't help to find it.
            let id = Secret("swift-authenticated-client/key\n" + bytes.base64EncodedString()).fingerprint.prefix(8)
            return (Array(id).hexadecimal, cipher)
        } catch {
            throw OAuth2Error(
                .storeFailed,
                "the encryption key isn't 32 bytes in base64; create one with `openssl rand -base64 32`",
                cause: error
            )
        }
    }
}
