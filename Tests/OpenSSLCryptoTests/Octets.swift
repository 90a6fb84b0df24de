import Foundation
import OpenSSLCrypto

extension [UInt8] {
    /// Creates bytes from hexadecimal digits, left-padded with zeros to `size` bytes if given.
    init(hex: String, size: Int? = nil) {
        let digits = String(repeating: "0", count: Swift.max(0, (size ?? 0) * 2 - hex.count)) + hex
        self = stride(from: 0, to: digits.count, by: 2).map { offset in
            let start = digits.index(digits.startIndex, offsetBy: offset)
            return UInt8(digits[start..<digits.index(start, offsetBy: 2)], radix: 16)!
        }
    }

    init(base64URL: String) {
        let standard = base64URL.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - standard.count % 4) % 4)
        self = [UInt8](Data(base64Encoded: standard + padding)!)
    }

    /// Creates bytes from the contents of a PEM text with one block.
    init(pem: String) {
        let lines = pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }
        self = [UInt8](Data(base64Encoded: lines.joined())!)
    }

    var hex: String { map { String(format: "%02x", $0) }.joined() }

    var secret: SecretBytes { withBytes { SecretBytes(copying: $0) } }

    /// Returns a PEM block with the bytes.
    func pem(_ label: String) -> String {
        let lines = Data(self).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN \(label)-----\n\(lines)\n-----END \(label)-----\n"
    }

    /// Creates a DER element.
    static func der(_ tag: UInt8, _ contents: [UInt8]...) -> [UInt8] {
        let contents = contents.flatMap { $0 }
        let length: [UInt8]
        switch contents.count {
        case ..<0x80: length = [UInt8(contents.count)]
        case ..<0x100: length = [0x81, UInt8(contents.count)]
        default: length = [0x82, UInt8(contents.count >> 8), UInt8(contents.count & 0xFF)]
        }
        return [tag] + length + contents
    }
}

extension SecretBytes {
    var exposed: [UInt8] {
        withBytes { bytes in unsafe bytes.withUnsafeBytes { unsafe Array($0) } }
    }
}

extension RSASigner {
    func signature(for message: [UInt8]) throws(CryptoError) -> [UInt8] {
        try message.withBytes { message throws(CryptoError) in try signature(for: message) }
    }
}

extension RSAVerifier {
    func isValidSignature(_ signature: [UInt8], for message: [UInt8]) -> Bool {
        signature.withBytes { signature in message.withBytes { message in isValidSignature(signature, for: message) } }
    }
}

extension EdwardsPrivateKey {
    func signature(for message: [UInt8]) throws(CryptoError) -> [UInt8] {
        try message.withBytes { message throws(CryptoError) in try signature(for: message) }
    }
}

extension EdwardsPublicKey {
    func isValidSignature(_ signature: [UInt8], for message: [UInt8]) -> Bool {
        signature.withBytes { signature in message.withBytes { message in isValidSignature(signature, for: message) } }
    }
}

extension ECPrivateKey {
    init(pem: String, password: SecretBytes? = nil) throws(CryptoError) {
        try self.init(PrivateKey(pem: pem, password: password))
    }

    init(der: [UInt8]) throws(CryptoError) {
        try self.init(PrivateKey(der: der))
    }

    private init(_ key: PrivateKey) throws(CryptoError) {
        guard case .ellipticCurve(let key) = key else {
            throw CryptoError(.wrongKeyType, "The algorithm of the key is \(key.kind)")
        }
        self = key
    }

    func signature(for message: [UInt8], hash: HashFunction) throws(CryptoError) -> [UInt8] {
        try message.withBytes { message throws(CryptoError) in try signature(for: message, hash: hash) }
    }
}

extension ECPublicKey {
    init(pem: String) throws(CryptoError) {
        try self.init(PublicKey(pem: pem))
    }

    init(der: [UInt8]) throws(CryptoError) {
        try self.init(PublicKey(der: der))
    }

    private init(_ key: PublicKey) throws(CryptoError) {
        guard case .ellipticCurve(let key) = key else {
            throw CryptoError(.wrongKeyType, "The algorithm of the key is \(key.kind)")
        }
        self = key
    }

    func isValidSignature(_ signature: [UInt8], for message: [UInt8], hash: HashFunction) -> Bool {
        signature.withBytes { signature in
            message.withBytes { message in isValidSignature(signature, for: message, hash: hash) }
        }
    }
}

extension HashFunction {
    func hash(_ bytes: [UInt8]) throws(CryptoError) -> [UInt8] {
        try bytes.withBytes { bytes throws(CryptoError) in try hash(bytes) }
    }
}

extension HMAC {
    func authenticationCode(for message: [UInt8]) throws(CryptoError) -> [UInt8] {
        try message.withBytes { message throws(CryptoError) in try authenticationCode(for: message) }
    }

    func isValid(_ code: [UInt8], for message: [UInt8]) -> Bool {
        code.withBytes { code in message.withBytes { message in isValid(code, for: message) } }
    }
}

extension String {
    /// The bytes of base64 in several lines.
    var octets: [UInt8] { [UInt8](base64URL: replacing("\n", with: "")) }

    /// Returns the PEM block, as OpenSSL writes it, of contents in base64 with lines of any length.
    func pem(_ label: String) -> String {
        [UInt8](Data(base64Encoded: self, options: .ignoreUnknownCharacters)!).pem(label)
    }
}

/// Returns the error that a closure throws, or `nil`.
func error(of body: () throws -> Void) -> CryptoError? {
    do {
        try body()
        return nil
    } catch {
        return error as? CryptoError
    }
}

func code(of body: () throws -> Void) -> CryptoError.Code? {
    error(of: body)?.code
}
