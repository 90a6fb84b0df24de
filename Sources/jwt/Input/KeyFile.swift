import Foundation
import Networking
import TokenGeneration

/// A key the user gave: PEM, DER, a JWK or a JWK Set, told apart by content; or a bare secret, if the user says so.
struct KeyFile {
    enum Content {
        case pem(String)
        case der([UInt8])
        case jwk(JWK)
        case set(JWKSet)
        case secret([UInt8])
    }

    /// How messages call the place it comes from.
    let name: String
    let content: Content
    private let status: FileStatus?
    private let password: String?

    /// Finds out what a file holds.
    ///
    /// - Parameters:
    ///   - name: How messages call the place it comes from.
    ///   - data: What is there.
    ///   - secretEncoding: How a bare secret is written, if it is one.
    ///   - password: The password of an encrypted private key.
    /// - Throws: ``CommandFailure`` that names the place if it holds no key.
    init(
        _ name: String,
        _ data: InputFile.Content,
        _ secretEncoding: SecretEncoding? = nil,
        password: String? = nil
    ) throws(CommandFailure) {
        self.name = name
        self.password = password
        status = data.status
        let start = data.bytes.first { $0 != 0x20 && !(0x09...0x0D).contains($0) }
        guard let start else { throw CommandFailure(.failed, "\(name): empty, so there is no key in it") }
        if let secretEncoding {
            guard let secret = secretEncoding.octets(data.bytes) else {
                throw CommandFailure(.failed, "\(name): the secret must be \(secretEncoding.expectation)")
            }
            content = .secret(secret)
        } else if let text = String(validating: data.bytes, as: UTF8.self), start == UInt8(ascii: "{") {
            content = try Self.describing(name) { try Self.json(text) }
        } else if let text = String(validating: data.bytes, as: UTF8.self), text.contains("-----BEGIN ") {
            content = .pem(text)
        } else if data.bytes.first == 0x30 {
            content = .der(data.bytes)
        } else {
            throw CommandFailure(.failed, "\(name): neither PEM, DER nor JWK")
        }
    }

    /// The private key to sign with, and the key ID that a JWK states.
    ///
    /// - Parameter algorithm: The algorithm, if the user named one.
    /// - Returns: The key and its ID.
    /// - Throws: ``CommandFailure`` if the file holds no private key that can sign.
    func signingKey(for algorithm: JWSAlgorithm?) throws(CommandFailure) -> (key: SigningKey, keyID: String?) {
        try Self.describing(name) {
            switch content {
            case .pem(let text): (try SigningKey(pem: text, password: password, algorithm: algorithm), nil)
            case .der(let bytes): (try SigningKey(der: bytes, password: password, algorithm: algorithm), nil)
            case .jwk(let jwk): (try SigningKey(jwk: jwk, algorithm: algorithm), jwk.keyID)
            case .set: throw CommandFailure(.failed, "\(name): a JWK Set; signing needs a single key")
            case .secret(let octets): (try SigningKey(secret: octets, algorithm: Self.named(algorithm)), nil)
            }
        }
    }

    /// The public key, the public half of the private key, or the secret.
    ///
    /// - Parameter algorithm: The algorithm, if the user named one.
    /// - Returns: The key.
    /// - Throws: ``CommandFailure`` if the file holds no key that can verify.
    func verificationKey(for algorithm: JWSAlgorithm?) throws(CommandFailure) -> VerificationKey {
        try Self.describing(name) {
            switch content {
            case .pem(let text) where text.contains("PRIVATE KEY-----"):
                try SigningKey(pem: text, password: password, algorithm: algorithm).verificationKey
            case .pem(let text): try VerificationKey(pem: text, algorithm: algorithm)
            case .der(let bytes): try publicHalf(of: bytes, for: algorithm)
            case .jwk(let jwk): try VerificationKey(jwk: jwk, algorithm: algorithm)
            case .set: throw CommandFailure(.failed, "\(name): a JWK Set, where a single key is needed")
            case .secret(let octets): try VerificationKey(secret: octets, algorithm: Self.named(algorithm))
            }
        }
    }

    /// The keys of a JWK Set; `nil` if the file holds a single key.
    var keySet: JWKSet? {
        guard case .set(let set) = content else { return nil }
        return set
    }

    /// Whether the file holds the secret of an HMAC algorithm.
    var isSecret: Bool {
        switch content {
        case .secret: true
        case .jwk(let jwk): jwk.keyType == "oct"
        case .pem, .der, .set: false
        }
    }

    /// Whether the file holds something that others must not see.
    var isPrivate: Bool {
        switch content {
        case .pem(let text): text.contains("PRIVATE KEY-----")
        case .der(let bytes): !Self.isPublicDER(bytes)
        case .jwk(let jwk): jwk.isPrivate
        case .set(let set): set.keys.contains(where: \.isPrivate)
        case .secret: true
        }
    }

    /// Warns if others on the machine may read or change a private key, and of a certificate that isn't valid.
    ///
    /// - Parameters:
    ///   - console: Where the warnings go.
    ///   - time: The time at which a certificate has to be valid; now by default.
    func warn(on console: Console, at time: Date = Date()) {
        if isPrivate, let warning = status?.secretWarning(name, "private key") { console.warn(warning) }
        guard let certificate else { return }
        let seconds = time.timeIntervalSince1970
        for (isMissed, words, limit) in [
            (seconds >= Double(certificate.notAfter) + 1, "the certificate has expired", certificate.notAfter),
            (seconds < Double(certificate.notBefore), "the certificate isn't valid yet", certificate.notBefore),
        ] where isMissed {
            let end = Timestamp(secondsSince1970: Double(limit)).map { " (\($0.text))" } ?? ""
            console.warn("\(name): \(words)\(end)")
        }
    }

    /// The certificate that the key comes from, or that it has with it.
    private var certificate: ServerCertificates.Item? {
        let encoded: [UInt8]
        switch content {
        case .pem(let text):
            // The first of several certificates is the key's own.
            guard let start = text.firstRange(of: "-----BEGIN CERTIFICATE-----")?.lowerBound,
                let end = text[start...].firstRange(of: "-----END CERTIFICATE-----")?.upperBound
            else { return nil }
            encoded = Array(text[start..<end].utf8)
        case .der(let bytes): encoded = bytes
        case .jwk(let jwk):
            // Again the first one (RFC 7517 §4.7).
            guard let first = jwk.members["x5c"]?.array?.first?.string, let der = Data(base64Encoded: first) else {
                return nil
            }
            encoded = Array(der)
        case .set, .secret: return nil
        }
        return try? ServerCertificates.list(encoded).first
    }

    /// Puts the file's name in front of what is wrong with the key.
    static func describing<Value>(
        _ name: String,
        _ body: () throws -> Value
    ) throws(CommandFailure) -> Value {
        do {
            return try body()
        } catch let failure as CommandFailure {
            throw failure
        } catch let error as TokenError {
            let advice =
                switch error.code {
                case .passwordRequired: "; give it with --password-file FILE or --password-env NAME"
                case .algorithmRequired: " with --alg"
                default: ""
                }
            throw CommandFailure(.failed, "\(name): \(error.message)\(advice)", cause: error)
        } catch {
            throw CommandFailure(.failed, "\(name): \(error)", cause: error)
        }
    }

    private func publicHalf(
        of der: [UInt8],
        for algorithm: JWSAlgorithm?
    ) throws(TokenError) -> VerificationKey {
        do throws(TokenError) {
            return try VerificationKey(der: der, algorithm: algorithm)
        } catch  where error.code == .publicKeyRequired {
            return try SigningKey(der: der, password: password, algorithm: algorithm).verificationKey
        }
    }

    /// Whether DER holds a public key, of whatever algorithm.
    private static func isPublicDER(_ bytes: [UInt8]) -> Bool {
        do throws(TokenError) {
            _ = try VerificationKey(der: bytes)
            return true
        } catch {
            return error.code == .algorithmRequired
        }
    }

    private static func named(_ algorithm: JWSAlgorithm?) throws(TokenError) -> JWSAlgorithm {
        guard let algorithm else {
            throw TokenError(.algorithmRequired, "a bare secret can be for HS256, HS384 and HS512: name the algorithm")
        }
        return algorithm
    }

    private static func json(_ text: String) throws -> Content {
        let object = try JSONObject(parsing: text)
        return object["keys"] == nil ? .jwk(try JWK(object)) : .set(try JWKSet(parsing: text))
    }
}
