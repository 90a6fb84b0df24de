import Foundation
import TokenGeneration

/// The output forms of a key.
enum KeyForm: String, CaseIterable, NamedValue {
    case pem
    case der
    case jwk
    case traditional
    case traditionalDER = "traditional-der"
    case raw

    var isBinary: Bool { self == .der || self == .traditionalDER || self == .raw }

    /// Returns the key in this form, where text ends with a line break.
    ///
    /// The key ID is that of ``AnyKey/jwk(keyID:)``, and the password encrypts a private key.
    func octets(of key: AnyKey, keyID: String?, password: String?) throws(TokenError) -> [UInt8] {
        let (privateFormat, publicFormat): (PrivateKeyFormat, PublicKeyFormat) =
            switch self {
            case .traditional, .traditionalDER: (.traditional, .traditional)
            default: (password.map { .encryptedPKCS8(password: $0) } ?? .pkcs8, .spki)
            }
        switch (self, key.part) {
        case (.jwk, _):
            return Array((VisibleText.json(try key.jwk(keyID: keyID).members.serialized()) + "\n").utf8)
        case (.pem, .privateKey(let key)), (.traditional, .privateKey(let key)):
            return Array(try key.pem(privateFormat).utf8)
        case (.pem, .publicKey(let key)), (.traditional, .publicKey(let key)):
            return Array(try key.pem(publicFormat).utf8)
        case (.der, .privateKey(let key)), (.traditionalDER, .privateKey(let key)):
            return Array(try key.der(privateFormat))
        case (.der, .publicKey(let key)), (.traditionalDER, .publicKey(let key)):
            return Array(try key.der(publicFormat))
        case (.pem, .decryptionKey(let key)), (.traditional, .decryptionKey(let key)):
            return Array(try key.pem(privateFormat).utf8)
        case (.pem, .encryptionKey(let key)), (.traditional, .encryptionKey(let key)):
            return Array(try key.pem(publicFormat).utf8)
        case (.der, .decryptionKey(let key)), (.traditionalDER, .decryptionKey(let key)):
            return Array(try key.der(privateFormat))
        case (.der, .encryptionKey(let key)), (.traditionalDER, .encryptionKey(let key)):
            return Array(try key.der(publicFormat))
        case (.raw, _):
            guard key.isSymmetric, let secret = try key.jwk(keyID: nil).members["k"]?.string else {
                throw TokenError(.unsupportedKey, "only a secret has a raw form; use --to pem, der or jwk")
            }
            return try Base64URL.decode(secret)
        }
    }
}
