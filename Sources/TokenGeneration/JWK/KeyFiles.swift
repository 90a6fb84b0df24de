internal import FoundationEssentials
internal import OpenSSLCrypto

extension PrivateKey {
    static func imported(pem: String, password: String?) throws(TokenError) -> PrivateKey {
        let text = Array(pem.utf8)
        if !text.containsRun(of: "PRIVATE KEY-----"),
            PublicKey.labels.contains(where: { text.containsRun(of: "-----BEGIN \($0)-----") })
        {
            throw isPublic
        }
        let secret = password.map(SecretBytes.init(password:))
        return try TokenError.refusingKey(PrivateKey(pem: pem, password: secret))
    }

    static func imported(der: [UInt8], password: String?) throws(TokenError) -> PrivateKey {
        let secret = password.map(SecretBytes.init(password:))
        do throws(CryptoError) {
            return try PrivateKey(der: der, password: secret)
        } catch {
            let isOfPublicKey = error.code == .wrongKeyType && (try? PublicKey(der: der)) != nil
            throw isOfPublicKey ? isPublic : TokenError(refusedKey: error)
        }
    }

    private static let isPublic = TokenError(
        .privateKeyRequired,
        "this is a public key; use the private key that belongs to it"
    )
}

extension PrivateKey? {
    func exportedPEM(_ format: PrivateKeyFormat) throws(TokenError) -> String {
        let key = try checked(format)
        let pem: String? =
            switch format.wrapped {
            case .pkcs8: try TokenError.refusingKey(key.pkcs8PEM())
            case .encryptedPKCS8(let password): try TokenError.refusingKey(key.encryptedPKCS8PEM(password: password))
            case .traditional: try TokenError.refusingKey(key.traditionalPEM())
            }
        guard let pem else { throw TokenError(noOlderForm: key.kind) }
        return pem
    }

    func exportedDER(_ format: PrivateKeyFormat) throws(TokenError) -> Data {
        let key = try checked(format)
        let der: Data? =
            switch format.wrapped {
            case .pkcs8: Data(try TokenError.refusingKey(key.pkcs8DER()))
            case .encryptedPKCS8(let password):
                Data(try TokenError.refusingKey(key.encryptedPKCS8DER(password: password)))
            case .traditional: try TokenError.refusingKey(key.traditionalDER()).map { Data($0) }
            }
        guard let der else { throw TokenError(noOlderForm: key.kind) }
        return der
    }

    private func checked(_ format: PrivateKeyFormat) throws(TokenError) -> PrivateKey {
        guard let self else { throw TokenError(noOlderForm: nil) }
        if case .encryptedPKCS8(let password) = format.wrapped, password.count == 0 {
            throw TokenError(.passwordRequired, "the password for the encrypted private key is empty")
        }
        return self
    }
}

extension PublicKey? {
    func exportedPEM(_ format: PublicKeyFormat) throws(TokenError) -> String {
        guard let self else { throw TokenError(noOlderForm: nil) }
        guard let pem = format.isTraditional ? self.traditionalPEM() : self.spkiPEM() else {
            throw TokenError(noOlderForm: self.kind)
        }
        return pem
    }

    func exportedDER(_ format: PublicKeyFormat) throws(TokenError) -> Data {
        guard let self else { throw TokenError(noOlderForm: nil) }
        guard let der = format.isTraditional ? self.traditionalDER() : self.spkiDER() else {
            throw TokenError(noOlderForm: self.kind)
        }
        return Data(der)
    }
}

extension PublicKey {
    static func imported(pem: String) throws(TokenError) -> PublicKey {
        if Array(pem.utf8).containsRun(of: "PRIVATE KEY-----") { throw isPrivate }
        return try TokenError.refusingKey(PublicKey(pem: pem))
    }

    static func imported(der: [UInt8]) throws(TokenError) -> PublicKey {
        do throws(CryptoError) {
            return try PublicKey(der: der)
        } catch {
            throw error.code == .wrongKeyType && isPrivateKey(der) ? isPrivate : TokenError(refusedKey: error)
        }
    }

    private static func isPrivateKey(_ der: [UInt8]) -> Bool {
        do throws(CryptoError) {
            _ = try PrivateKey(der: der)
            return true
        } catch {
            return error.code == .passwordRequired
        }
    }

    private static let isPrivate = TokenError(
        .publicKeyRequired,
        "this is a private key; use its public part, such as SigningKey(pem:).verificationKey.pem() returns"
    )
}

extension Data {
    /// The caller owns the copy.
    init(_ secret: SecretBytes) {
        self = secret.withBytes { bytes in
            let octets = Span<UInt8>(_bytes: bytes)
            var data = Data(capacity: octets.count)
            for index in octets.indices { data.append(octets[index]) }
            return data
        }
    }
}

/// A detector of keys in bytes that are used as a secret.
///
/// Public keys are public: if one is used as a secret, anyone can sign. That happens by mistake, or
/// because an attacker changed RS256 to HS256 in a header. The search therefore covers all of the
/// bytes, and the encodings in which configurations contain keys: base64, hexadecimal, UTF-16 and
/// JSON escapes.
enum KeyText {
    /// Removes at most the given number of encodings.
    static func format(of octets: [UInt8], encodings: Int = 2) -> String? {
        if octets.count > 40, PublicKey.isKeyOrCertificate(octets) { return "a key in DER" }
        if isSSHBlob(octets) { return "an SSH public key" }
        // Without zeros, UTF-16 and UTF-32 in either byte order become plain text.
        let text = octets.contains(0) ? octets.filter { $0 != 0 } : octets
        if let format = format(ofText: text) { return format }
        guard encodings > 0, let plain = decoded(text) else { return nil }
        return format(of: plain, encodings: encodings - 1).map { "\($0), encoded once more" }
    }

    private static func format(ofText text: [UInt8]) -> String? {
        if text.containsRun(of: "-----BEGIN ") { return "a PEM text" }
        for run in sshRuns where text.containsRun(of: run) { return "an SSH public key" }
        for run in privateRuns where text.containsRun(of: run) { return "a private key file" }
        let json = text.contains(UInt8(ascii: "\\")) ? unescaped(text) : text
        return json.containsRun(of: "\"kty\"") ? "a JSON Web Key" : nil
    }

    /// Also for [RFC 4716](https://www.rfc-editor.org/rfc/rfc4716).
    private static let sshRuns =
        ["---- BEGIN SSH2 ", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-"]
        + ["ssh-rsa", "ssh-dss", "ssh-ed25519", "ssh-ed448"].flatMap { ["\($0) ", "\($0)\t", "\($0)-cert-", "\($0)@"] }

    private static let privateRuns = ["openssh-key-v1", "PuTTY-User-Key-File-", "<RSAKeyValue>"]

    /// A decoded SSH public key starts with the length of a name and the name.
    private static func isSSHBlob(_ octets: [UInt8]) -> Bool {
        guard octets.count > 8, octets.starts(with: [0, 0, 0]) else { return false }
        let name = octets.dropFirst(4).prefix(Int(octets[3]))
        return ["ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-"].contains { name.starts(with: $0.utf8) }
    }

    private static func decoded(_ text: [UInt8]) -> [UInt8]? {
        var digits: [UInt8] = []
        digits.reserveCapacity(text.count)
        let marks: [[UInt8]] = [[0xEF, 0xBB, 0xBF], [0xFF, 0xFE], [0xFE, 0xFF]]
        let start = marks.first { text.starts(with: $0) }?.count ?? 0
        for octet in text[start...] where !octet.isBlank { digits.append(octet) }
        return hexadecimal(digits) ?? base64(digits)
    }

    private static func hexadecimal(_ digits: [UInt8]) -> [UInt8]? {
        let digits = (digits.starts(with: "0x".utf8) ? digits[2...] : digits[...]).filter { $0 != UInt8(ascii: ":") }
        guard !digits.isEmpty, digits.count.isMultiple(of: 2) else { return nil }
        var result: [UInt8] = []
        result.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = digits[index].hexadecimalValue, let low = digits[index + 1].hexadecimalValue else {
                return nil
            }
            result.append(high << 4 | low)
        }
        return result
    }

    private static func base64(_ digits: [UInt8]) -> [UInt8]? {
        var digits = digits
        while digits.last == UInt8(ascii: "=") { digits.removeLast() }
        let urlDigits = digits.map { octet in
            switch octet {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            default: octet
            }
        }
        return try? Base64URL.decode(String(decoding: urlDigits, as: UTF8.self))
    }

    private static func unescaped(_ text: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            guard text[index] == UInt8(ascii: "\\"), index + 1 < text.count else {
                result.append(text[index])
                index += 1
                continue
            }
            let digits = text[(index + 2)...].prefix(4).map(\.hexadecimalValue)
            if text[index + 1] == UInt8(ascii: "u"), digits.count == 4, digits[0] == 0, digits[1] == 0,
                let high = digits[2], let low = digits[3]
            {
                result.append(high << 4 | low)
                index += 6
            } else {
                result.append(text[index + 1])
                index += 2
            }
        }
        return result
    }
}

/// The format of a private key in PEM or DER.
public struct PrivateKeyFormat: Sendable {
    enum Wrapped: Sendable {
        case pkcs8
        case encryptedPKCS8(SecretBytes)
        case traditional
    }

    let wrapped: Wrapped

    /// Unencrypted PKCS#8, the most widely supported format
    /// ([RFC 5958](https://www.rfc-editor.org/rfc/rfc5958)).
    public static var pkcs8: Self { Self(wrapped: .pkcs8) }

    /// PKCS#8, encrypted with AES-256 under a password, with 600,000 iterations of PBKDF2 per
    /// guess.
    ///
    /// - Parameter password: The password, 1 to 1024 bytes in UTF-8.
    /// - Returns: The format.
    public static func encryptedPKCS8(password: String) -> Self {
        Self(wrapped: .encryptedPKCS8(SecretBytes(password: password)))
    }

    /// PKCS#1 for RSA ([RFC 8017](https://www.rfc-editor.org/rfc/rfc8017#appendix-A.1.2)) and SEC1
    /// for elliptic curves ([RFC 5915](https://www.rfc-editor.org/rfc/rfc5915)).
    ///
    /// Keys on Edwards curves don't have such a format.
    public static var traditional: Self { Self(wrapped: .traditional) }
}

extension SecretBytes {
    init(password: String) {
        self = Array(password.utf8).withBytes { SecretBytes(copying: $0) }
    }
}

/// The format of a public key in PEM or DER.
public struct PublicKeyFormat: Sendable {
    let isTraditional: Bool

    /// SubjectPublicKeyInfo ([RFC 5280 §4.1](https://www.rfc-editor.org/rfc/rfc5280#section-4.1)),
    /// `BEGIN PUBLIC KEY`.
    public static var spki: Self { Self(isTraditional: false) }

    /// PKCS#1, `BEGIN RSA PUBLIC KEY`, for RSA keys only.
    public static var traditional: Self { Self(isTraditional: true) }
}
