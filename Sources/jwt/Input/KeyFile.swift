import Foundation
import Networking
import TokenGeneration

/// A key file: PEM, DER, a JWK or a JWK Set, detected from the content; or a raw secret, if the
/// user says so.
struct KeyFile {
    enum Content {
        case pem(String)
        case der([UInt8])
        case jwk(JWK)
        case set(JWKSet)
        case secret([UInt8])
    }

    let name: String
    let content: Content
    private let status: FileStatus?
    let password: String?
    let algorithmOption: String

    init(
        _ name: String,
        _ data: InputFile.Content,
        _ secretEncoding: SecretEncoding? = nil,
        password: String? = nil,
        algorithmOption: String = "--alg",
        readsSecrets: Bool = false
    ) throws(CommandFailure) {
        self.name = name
        self.algorithmOption = algorithmOption
        self.password = password
        status = data.status
        let bytes = data.bytes.withoutByteOrderMark
        let start = bytes.first { !$0.isBlank }
        guard let start else { throw CommandFailure(.failed, "\(name): the key is empty") }
        if let secretEncoding {
            guard let secret = secretEncoding.octets(data.bytes) else {
                throw CommandFailure(.failed, "\(name): the secret must be \(secretEncoding.expectation)")
            }
            content = .secret(secret)
        } else if let text = String(validating: bytes, as: UTF8.self), start == UInt8(ascii: "{") {
            content = try Self.describing(name) { try Self.json(text) }
        } else if let der = try Self.describing(name, "", { try OpenSSHKey.der(bytes) }) {
            content = .der(der)
        } else if let text = String(validating: bytes, as: UTF8.self), text.contains("-----BEGIN ") {
            content = .pem(text)
        } else if Self.isPKCS12(bytes) {
            let command = "openssl pkcs12 -in \(ShellWord.quoted(name)) -noenc -nocerts -out key.pem"
            throw CommandFailure(
                .failed,
                TokenError(.unsupportedKey, "\(name): PKCS #12 isn't supported; extract the key with “\(command)”")
            )
        } else if bytes.first == 0x30, !bytes.allSatisfy({ (0x20...0x7E).contains($0) || $0.isBlank }) {
            content = .der(bytes)
        } else {
            let advice = readsSecrets ? "; read a raw secret with --secret text|base64|base64url|hex" : ""
            throw CommandFailure(.failed, "\(name): not a key in PEM, DER or JWK form" + advice)
        }
    }

    func signingKey(for algorithm: JWSAlgorithm?) throws(CommandFailure) -> (key: SigningKey, keyID: String?) {
        try Self.describing(name, algorithmOption) {
            if algorithm == nil { try checkMembers() }
            return switch content {
            case .pem(let text): (try SigningKey(pem: text, password: password, algorithm: algorithm), nil)
            case .der(let bytes): (try SigningKey(der: bytes, password: password, algorithm: algorithm), nil)
            case .jwk(let jwk): (try SigningKey(jwk: jwk, algorithm: algorithm), jwk.keyID)
            case .set: throw CommandFailure(.failed, "\(name): contains a JWK Set, but signing needs a single key")
            case .secret(let octets): (try SigningKey(secret: octets, algorithm: Self.named(algorithm)), nil)
            }
        }
    }

    func verificationKey(for algorithm: JWSAlgorithm?) throws(CommandFailure) -> VerificationKey {
        try Self.describing(name, algorithmOption) {
            if algorithm == nil { try checkMembers() }
            return switch content {
            case .pem(let text) where isPrivate:
                try SigningKey(pem: text, password: password, algorithm: algorithm).verificationKey
            case .pem(let text): try VerificationKey(pem: text, algorithm: algorithm)
            case .der(let bytes): try publicHalf(of: bytes, for: algorithm)
            case .jwk(let jwk): try VerificationKey(jwk: jwk, algorithm: algorithm)
            case .set: throw CommandFailure(.failed, "\(name): contains a JWK Set, but a single key is needed")
            case .secret(let octets): try VerificationKey(secret: octets, algorithm: Self.named(algorithm))
            }
        }
    }

    /// Reports a damaged JWK before the missing algorithm or private part of one.
    private func checkMembers() throws(TokenError) {
        guard case .jwk(let jwk) = content, jwk.algorithm == nil || !jwk.isPrivate else { return }
        let generic: [String: JWSAlgorithm] = ["RSA": .rs256, "oct": .hs256]
        do throws(TokenError) {
            _ = try VerificationKey(jwk: jwk, algorithm: jwk.algorithm == nil ? generic[jwk.keyType] : nil)
        } catch  where error.code == .malformedKey {
            throw error
        } catch {
            // The key is for something else, or its use for this algorithm fails later.
        }
    }

    /// Returns whether DER data is a PFX of version 3
    /// ([RFC 7292 §4](https://www.rfc-editor.org/rfc/rfc7292#section-4)).
    private static func isPKCS12(_ bytes: [UInt8]) -> Bool {
        guard bytes.count > 6, bytes[0] == 0x30 else { return false }
        let start = bytes[1] & 0x80 == 0 ? 2 : 2 + Int(bytes[1] & 0x7F)
        return bytes.dropFirst(start).starts(with: [0x02, 0x01, 0x03, 0x30])
    }

    /// The keys of a JWK Set, or `nil` for a single key.
    var keySet: JWKSet? {
        guard case .set(let set) = content else { return nil }
        return set
    }

    var isSecret: Bool {
        switch content {
        case .secret: true
        case .jwk(let jwk): jwk.keyType == "oct"
        case .pem, .der, .set: false
        }
    }

    var isPrivate: Bool {
        switch content {
        case .pem(let text): text.contains("PRIVATE KEY-----")
        case .der(let bytes): !Self.isPublicDER(bytes)
        case .jwk(let jwk): jwk.isPrivate
        case .set(let set): set.keys.contains(where: \.isPrivate)
        case .secret: true
        }
    }

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

    private var certificate: ServerCertificates.Item? {
        let encoded: [UInt8]
        switch content {
        case .pem(let text):
            // The first certificate belongs to the key.
            guard let start = text.firstRange(of: "-----BEGIN CERTIFICATE-----")?.lowerBound,
                let end = text[start...].firstRange(of: "-----END CERTIFICATE-----")?.upperBound
            else { return nil }
            encoded = Array(text[start..<end].utf8)
        case .der(let bytes): encoded = bytes
        case .jwk(let jwk):
            // The first certificate belongs to the key (RFC 7517 §4.7).
            guard let first = jwk.members["x5c"]?.array?.first?.string, let der = Data(base64Encoded: first) else {
                return nil
            }
            encoded = Array(der)
        case .set, .secret: return nil
        }
        return try? ServerCertificates.list(encoded).first
    }

    static func describing<Value>(
        _ name: String,
        _ algorithmOption: String = "--alg",
        _ body: () throws -> Value
    ) throws(CommandFailure) -> Value {
        let advice = { (error: any Error) in
            switch (error as? TokenError)?.code {
            case .passwordRequired?: "; pass it with --password-file FILE or --password-env NAME"
            case .algorithmRequired?: " with \(algorithmOption)"
            default: (error as? any DescribedError)?.message.contains("is RSA-PSS;") == true ? pssAdvice : ""
            }
        }
        return try CommandFailure.reporting(at: name, advice: advice, body)
    }

    private static let pssAdvice = """
        ; convert the private key with “openssl rsa -in KEY -traditional | sed s/RSA-PSS/RSA/” or the public key with \
        “openssl rsa -pubin -in KEY -RSAPublicKey_out | sed s/RSA-PSS/RSA/”, and pass --alg PS256
        """

    private func publicHalf(of der: [UInt8], for algorithm: JWSAlgorithm?) throws(TokenError) -> VerificationKey {
        do throws(TokenError) {
            return try VerificationKey(der: der, algorithm: algorithm)
        } catch  where error.code == .publicKeyRequired {
            return try SigningKey(der: der, password: password, algorithm: algorithm).verificationKey
        }
    }

    /// Returns whether DER data is a public key of any algorithm.
    static func isPublicDER(_ bytes: [UInt8]) -> Bool {
        do throws(TokenError) {
            _ = try VerificationKey(der: bytes)
            return true
        } catch {
            // Keys on X25519 and X448 can't verify.
            return error.code == .algorithmRequired || (try? EncryptionKey(der: bytes, algorithm: .ecdhES)) != nil
        }
    }

    private static func named(_ algorithm: JWSAlgorithm?) throws(TokenError) -> JWSAlgorithm {
        guard let algorithm else {
            throw TokenError(.algorithmRequired, "a raw secret can be for HS256, HS384 or HS512: name the algorithm")
        }
        return algorithm
    }

    private static func json(_ text: String) throws -> Content {
        let object = try JSONObject(parsing: text)
        return object["keys"] == nil ? .jwk(try JWK(object)) : .set(try JWKSet(parsing: text))
    }

    func checkIsKeyPair(for purpose: String) throws(CommandFailure) {
        guard isSecret else { return }
        let message =
            "\(name): \(purpose) can't be a shared secret, because every verifier could use it; use a key pair"
        throw CommandFailure(.failed, TokenError(.unsupportedAlgorithm, message))
    }

    func holderKey() throws(CommandFailure) -> VerificationKey {
        try checkIsKeyPair(for: "the holder's key")
        do throws(CommandFailure) {
            return try verificationKey(for: nil)
        } catch {
            switch (error.cause as? TokenError)?.code {
            case .algorithmRequired?:
                // The token contains the key without an algorithm, so any will do.
                return try verificationKey(for: .ps256)
            case .passwordRequired?:
                let message = "\(name): the private key is encrypted; pass its public part, which jwt key public prints"
                throw CommandFailure(.failed, message, cause: error.cause)
            default: throw error
            }
        }
    }
}

enum SecretEncoding: String, CaseIterable, NamedValue {
    case text
    case base64
    case base64url
    case hex

    func octets(_ written: [UInt8]) -> [UInt8]? {
        let line = Self.withoutLineBreak(written)
        switch self {
        case .text: return Array(line)
        case .base64: return Self.base64(line)
        case .base64url: return String(validating: line, as: UTF8.self).flatMap { try? Base64URL.decode($0) }
        case .hex: return Self.hexadecimal(line)
        }
    }

    var expectation: String {
        switch self {
        case .text: "text"
        case .base64: "base64: A-Z, a-z, 0-9, + and /, padded with =, no white space"
        case .base64url: "base64url: A-Z, a-z, 0-9, - and _, no = or white space"
        case .hex: "hex: pairs of 0-9 and a-f, no white space"
        }
    }

    /// Decodes base64 in its canonical form (RFC 4648 §3.5).
    private static func base64(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard let octets = Data(base64Encoded: Data(text)), octets.base64EncodedData() == Data(text) else { return nil }
        return Array(octets)
    }

    static func withoutLineBreak(_ octets: [UInt8]) -> ArraySlice<UInt8> {
        guard octets.last == 0x0A else { return octets[...] }
        return octets.dropLast(octets.dropLast().last == 0x0D ? 2 : 1)
    }

    private static func hexadecimal(_ digits: ArraySlice<UInt8>) -> [UInt8]? {
        let values = digits.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard values.count == digits.count, values.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
    }
}
