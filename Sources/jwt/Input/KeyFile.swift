import Glibc
import TokenGeneration

/// A key the user named by its file: PEM, a JWK or a JWK Set, told apart by content.
struct KeyFile {
    private enum Content {
        case pem(String)
        case jwk(JWK)
        case set(JWKSet)
    }

    private let file: InputFile
    private let content: Content
    private let mode: mode_t?

    /// Reads the file.
    ///
    /// - Throws: ``CommandFailure`` that names the file if it cannot be read or holds no key.
    init(_ file: InputFile) throws(CommandFailure) {
        let data = try file.read()
        self.file = file
        mode = data.mode
        let start = data.bytes.first { $0 != 0x20 && !(0x09...0x0D).contains($0) }
        guard let start else { throw CommandFailure(.failed, "\(file.name): empty, so there is no key in it") }
        guard let text = String(validating: data.bytes, as: UTF8.self) else {
            let advice = start == 0x30 ? "; DER becomes PEM with: openssl pkey -inform DER -in FILE" : ""
            throw CommandFailure(.failed, "\(file.name): neither PEM nor JWK\(advice)")
        }
        if start == UInt8(ascii: "{") {
            content = try Self.describing(file) { try Self.json(text) }
        } else if text.contains("-----BEGIN ") {
            content = .pem(text)
        } else {
            throw CommandFailure(.failed, "\(file.name): neither PEM nor JWK")
        }
    }

    /// The private key to sign with, and the key ID that a JWK states.
    ///
    /// - Throws: ``CommandFailure`` if the file holds no private key that can sign.
    func signingKey() throws(CommandFailure) -> (key: SigningKey, keyID: String?) {
        try Self.describing(file) {
            switch content {
            case .pem(let text): (try SigningKey(pem: text), nil)
            case .jwk(let jwk): (try SigningKey(jwk: jwk), jwk.keyID)
            case .set: throw CommandFailure(.failed, "\(file.name): a JWK Set; signing needs a single key")
            }
        }
    }

    /// A verifier with the public key, the public half of the private key, or the set of keys.
    ///
    /// - Throws: ``CommandFailure`` if the file holds no usable key.
    func verifier(policy: ValidationPolicy) throws(CommandFailure) -> JWTVerifier {
        try Self.describing(file) {
            switch content {
            case .pem(let text) where text.contains("PRIVATE KEY-----"):
                JWTVerifier(key: try SigningKey(pem: text).verificationKey, policy: policy)
            case .pem(let text):
                JWTVerifier(key: try VerificationKey(pem: text), policy: policy)
            case .jwk(let jwk):
                JWTVerifier(key: try VerificationKey(jwk: jwk), policy: policy)
            case .set(let set):
                JWTVerifier(keys: set, policy: policy)
            }
        }
    }

    /// Advice if others on the machine may read or change the private key.
    var permissionWarning: String? {
        guard let mode, mode & S_IFMT == S_IFREG, mode & 0o077 != 0 else { return nil }
        let permissions = String(mode & 0o777, radix: 8)
        return "\(file.name): other users may use this private key (mode \(permissions)); to stop it: chmod 600 FILE"
    }

    private static func json(_ text: String) throws -> Content {
        let object = try JSONObject(parsing: text)
        return object["keys"] == nil ? .jwk(try JWK(object)) : .set(try JWKSet(parsing: text))
    }

    /// Puts the file's name in front of what is wrong with the key.
    private static func describing<Value>(
        _ file: InputFile,
        _ body: () throws -> Value
    ) throws(CommandFailure) -> Value {
        do {
            return try body()
        } catch let failure as CommandFailure {
            throw failure
        } catch let error as TokenError {
            let advice = error.code == .passwordRequired ? "; to decrypt it: openssl pkey -in FILE" : ""
            throw CommandFailure(.failed, "\(file.name): \(error.message)\(advice)", cause: error)
        } catch {
            throw CommandFailure(.failed, "\(file.name): \(error)", cause: error)
        }
    }
}
