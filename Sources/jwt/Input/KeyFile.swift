import Glibc
import TokenGeneration

/// A key the user named by its file: PEM, DER, a JWK or a JWK Set, told apart by content.
struct KeyFile {
    private enum Content {
        case pem(String)
        case der([UInt8])
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
        if let text = String(validating: data.bytes, as: UTF8.self), start == UInt8(ascii: "{") {
            content = try Self.describing(file) { try Self.json(text) }
        } else if let text = String(validating: data.bytes, as: UTF8.self), text.contains("-----BEGIN ") {
            content = .pem(text)
        } else if data.bytes.first == 0x30 {
            content = .der(data.bytes)
        } else {
            throw CommandFailure(.failed, "\(file.name): neither PEM, DER nor JWK")
        }
    }

    /// The private key to sign with, and the key ID that a JWK states.
    ///
    /// - Parameter algorithm: The algorithm, if the user named one.
    /// - Returns: The key and its ID.
    /// - Throws: ``CommandFailure`` if the file holds no private key that can sign.
    func signingKey(for algorithm: JWSAlgorithm?) throws(CommandFailure) -> (key: SigningKey, keyID: String?) {
        try Self.describing(file) {
            switch content {
            case .pem(let text): (try SigningKey(pem: text, algorithm: algorithm), nil)
            case .der(let bytes): (try SigningKey(der: bytes, algorithm: algorithm), nil)
            case .jwk(let jwk): (try SigningKey(jwk: jwk, algorithm: algorithm), jwk.keyID)
            case .set: throw CommandFailure(.failed, "\(file.name): a JWK Set; signing needs a single key")
            }
        }
    }

    /// A verifier with the public key, the public half of the private key, or the set of keys.
    ///
    /// - Parameters:
    ///   - algorithm: The algorithm of keys that do not state one, if the user named it.
    ///   - policy: What the token must say.
    /// - Returns: The verifier.
    /// - Throws: ``CommandFailure`` if the file holds no usable key.
    func verifier(
        for algorithm: JWSAlgorithm?,
        policy: ValidationPolicy
    ) throws(CommandFailure) -> JWTVerifier {
        try Self.describing(file) {
            switch content {
            case .pem(let text) where text.contains("PRIVATE KEY-----"):
                JWTVerifier(key: try SigningKey(pem: text, algorithm: algorithm).verificationKey, policy: policy)
            case .pem(let text):
                JWTVerifier(key: try VerificationKey(pem: text, algorithm: algorithm), policy: policy)
            case .der(let bytes):
                JWTVerifier(key: try Self.publicHalf(of: bytes, for: algorithm), policy: policy)
            case .jwk(let jwk):
                JWTVerifier(key: try VerificationKey(jwk: jwk, algorithm: algorithm), policy: policy)
            case .set(let set):
                JWTVerifier(
                    keys: set,
                    selection: KeySelection(assumedAlgorithms: algorithm.map { [$0] } ?? []),
                    policy: policy
                )
            }
        }
    }

    /// Advice if others on the machine may read or change the private key.
    var permissionWarning: String? {
        guard let mode, mode & S_IFMT == S_IFREG, mode & 0o077 != 0 else { return nil }
        let permissions = String(mode & 0o777, radix: 8)
        return "\(file.name): other users may use this private key (mode \(permissions)); to stop it: chmod 600 FILE"
    }

    private static func publicHalf(
        of der: [UInt8],
        for algorithm: JWSAlgorithm?
    ) throws(TokenError) -> VerificationKey {
        do throws(TokenError) {
            return try VerificationKey(der: der, algorithm: algorithm)
        } catch  where error.code == .publicKeyRequired {
            return try SigningKey(der: der, algorithm: algorithm).verificationKey
        }
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
            let advice =
                switch error.code {
                case .passwordRequired: "; to decrypt it: openssl pkey -in FILE"
                case .algorithmRequired: " with --alg"
                default: ""
                }
            throw CommandFailure(.failed, "\(file.name): \(error.message)\(advice)", cause: error)
        } catch {
            throw CommandFailure(.failed, "\(file.name): \(error)", cause: error)
        }
    }
}
