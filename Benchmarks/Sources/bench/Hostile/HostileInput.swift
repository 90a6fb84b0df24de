import Foundation
import TokenGeneration

/// Expensive input that an attacker could send.
enum HostileInput {
    /// The public exponent of the RSA keys.
    private static let exponent = 65_537

    /// Returns an RSA key with private members whose modulus is a Mersenne prime.
    ///
    /// The exponents fit the modulus, but a search for factors never ends, because the modulus is
    /// prime.
    ///
    /// - Parameters:
    ///   - bits: The size of the modulus: the exponent of a Mersenne prime, such as 3217 or 11213.
    ///   - keyID: The `kid`.
    /// - Returns: The JWK as JSON text.
    static func privateKey(bits: Int, keyID: String) -> String {
        let modulus = mersenne(bits)
        // n − 1 = 2ᵇⁱᵗˢ − 2, and d = (k · (n − 1) + 1) / e for the k without a remainder.
        var predecessor = modulus
        predecessor[predecessor.count - 1] -= 1
        let remainder = predecessor.reduce(0) { ($0 * 256 + Int($1)) % exponent }
        let factor = (1..<exponent).first { ($0 * remainder + 1) % exponent == 0 } ?? 1
        let privateExponent = quotient(sum(product(predecessor, factor), 1), exponent)
        return """
            {"kty":"RSA","alg":"RS256","use":"sig","kid":"\(keyID)","e":"AQAB",\
            "n":"\(base64URL(modulus))","d":"\(base64URL(privateExponent))"}
            """
    }

    /// Returns an RSA public key with a random modulus.
    ///
    /// - Parameters:
    ///   - bits: The size of the modulus, a multiple of 8.
    ///   - keyID: The `kid`.
    ///   - more: Additional members, each with a preceding comma.
    /// - Returns: The JWK as JSON text.
    static func publicKey(bits: Int, keyID: String, more: String = "") -> String {
        #"{"kty":"RSA","alg":"RS256","use":"sig","kid":"\#(keyID)","e":"AQAB","n":"\#(base64URL(oddNumber(bits)))"\#(more)}"#
    }

    /// Returns a key set with one valid key, as long as a fetched set can be.
    ///
    /// - Parameters:
    ///   - good: The key that the token names.
    ///   - entry: Returns the text of another entry.
    /// - Returns: The set as JSON text of at most 512 KiB and 1,000 entries, the good key last.
    /// - Throws: The errors of `entry`.
    static func keySet(around good: JWK, _ entry: (Int) throws -> String) throws -> Data {
        var text = "{\"keys\":["
        var entries = 1
        while entries < 1_000 {
            let next = try entry(entries)
            guard text.utf8.count + next.utf8.count < (512 << 10) - 2_048 else { break }
            text += next + ","
            entries += 1
        }
        return Data((text + good.members.serialized() + "]}").utf8)
    }

    /// Returns combining marks in an order that Unicode normalization must sort.
    ///
    /// - Parameter bytes: The size in UTF-8.
    /// - Returns: The text.
    static func combiningMarks(bytes: Int) -> String {
        "a" + String(repeating: "\u{301}\u{316}", count: bytes / 4)
    }

    /// Returns an object with enough names to be hashed, two of them long and with different
    /// lengths.
    static func object(bytes: Int) -> String {
        let short = (10..<30).map { "\"\($0)\":1," }.joined()
        let size = (bytes - short.utf8.count - 20) / 2
        return "{\(short)\"\(combiningMarks(bytes: size))\":1,\"\(combiningMarks(bytes: size + 4))\":2}"
    }

    /// Returns a token of 64 KiB with an invalid signature.
    static func token() -> String {
        let parts = [#"{"alg":"ES256"}"#, object(bytes: 49_000)].map { base64URL(Array($0.utf8)) }
        return "\(parts[0]).\(parts[1]).\(base64URL([UInt8](repeating: 1, count: 64)))"
    }

    /// Returns a DPoP proof with a large key and a random signature.
    static func proof(bits: Int) -> String {
        let key = publicKey(bits: bits, keyID: "1").replacing(#","alg":"RS256","use":"sig","kid":"1""#, with: "")
        let header = #"{"typ":"dpop+jwt","alg":"RS256","jwk":\#(key)}"#
        let claims =
            #"{"jti":"1","htm":"GET","htu":"https://api.example/","iat":\#(Int(Date().timeIntervalSince1970))}"#
        var signature = oddNumber(bits)
        signature[0] = 0x11
        return [Array(header.utf8), Array(claims.utf8), signature].map(base64URL).joined(separator: ".")
    }

    /// Creates a PKCS#12 file.
    ///
    /// - Parameter options: Options of `openssl pkcs12`. Without them, every iteration count is
    ///   8,388,607, the largest
    ///   number of three bytes.
    /// - Returns: The file, for the password `secret`.
    /// - Throws: ``UsageError`` if the `openssl` command can't create a file.
    static func pkcs12(options: String? = nil) throws -> Data {
        let folder = FileManager.default.temporaryDirectory.appending(path: "bench-pkcs12-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let script = """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=bench \
            -keyout key.pem -out cert.pem 2>/dev/null &&
            openssl pkcs12 -export -inkey key.pem -in cert.pem \(options ?? "-iter 70000") \
            -passout pass:secret -out file.p12
            """
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", script]
        process.currentDirectoryURL = folder
        try process.run()
        process.waitUntilExit()
        var file = [UInt8](try Data(contentsOf: folder.appending(path: "file.p12")))
        guard options == nil else { return Data(file) }
        // INTEGER 70000 in DER.
        let count: [UInt8] = [0x02, 0x03, 0x01, 0x11, 0x70]
        var found = 0
        for start in file.indices.dropLast(count.count - 1) where Array(file[start..<start + count.count]) == count {
            file.replaceSubrange(start..<start + count.count, with: [0x02, 0x03, 0x7F, 0xFF, 0xFF])
            found += 1
        }
        guard found > 0 else { throw UsageError(text: "bench: The PKCS#12 file has no iteration count.") }
        return Data(file)
    }

    // MARK: HTTP and TLS

    /// A body of 29 bytes that was coded twice with brotli, with the largest window that clients
    /// accept.
    ///
    /// The content of the outer stream has 16 MiB, and is a brotli stream of empty metadata
    /// blocks, which has no output ([RFC 7932
    /// §9.2](https://www.rfc-editor.org/rfc/rfc7932#section-9.2)).
    static let nestedCodings: [UInt8] = [
        0xCB, 0xFF, 0xFF, 0x3F, 0xF8, 0xA5, 0x0C, 0x18, 0xE2, 0xB2, 0x40, 0x00, 0xF7, 0xFE, 0x2F, 0xFE, 0xFF, 0xFF,
        0xC1, 0x2F, 0x01, 0x10, 0x87, 0x45, 0x00, 0xBA, 0xF7, 0x7F, 0x03,
    ]

    /// Returns a server's answer to the start of a TLS 1.2 handshake, with a chain of certificates.
    static func certificateMessage(count: Int) -> [UInt8] {
        let hello: [UInt8] =
            [3, 3] + [UInt8](repeating: 7, count: 32) + [0, 0xC0, 0x2B, 0] + [0, 5, 0xFF, 1, 0, 1, 0]
        let certificate = curveCertificate()
        let list = (0..<count).flatMap { _ in sized(certificate, bytes: 3) }
        return record(handshake(2, hello)) + record(handshake(11, sized(list, bytes: 3)))
    }

    /// Returns a certificate with explicit parameters of a curve and a compressed point.
    ///
    /// The field's prime is 7·2⁶¹⁶+1, the largest of this form that OpenSSL accepts. Its square
    /// roots take hundreds of thousands of multiplications.
    static func curveCertificate() -> [UInt8] {
        let size = 78
        let zeros = [UInt8](repeating: 0, count: size - 2)
        let prime: [UInt8] = [7] + zeros + [1]
        let order: [UInt8] = [6] + [UInt8](repeating: 0xFF, count: size - 1)
        // x = 1 and y = 3, and 3 isn't a square.
        let point: [UInt8] = [2, 0] + zeros + [1]
        let coefficients = der(0x30, der(4, [UInt8](repeating: 0, count: size)), der(4, [0] + zeros + [8]))
        let field = der(0x30, der(6, [0x2A, 0x86, 0x48, 0xCE, 0x3D, 1, 1]), der(2, prime))
        let curve = der(0x30, der(2, [1]), field, coefficients, der(4, point), der(2, order), der(2, [1]))
        let algorithm = der(0x30, der(6, [0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1]), curve)
        let key = der(0x30, algorithm, der(3, [0] + point))
        let signature = der(0x30, der(6, [0x2A, 0x86, 0x48, 0xCE, 0x3D, 4, 3, 2]))
        let validity = der(0x30, der(0x17, Array("250101000000Z".utf8)), der(0x17, Array("450101000000Z".utf8)))
        let name = der(0x30)
        let content = der(0x30, der(0xA0, der(2, [2])), der(2, [1]), signature, name, validity, name, key)
        return der(0x30, content, signature, der(3, [0] + der(0x30, der(2, [1]), der(2, [1]))))
    }

    private static func der(_ tag: UInt8, _ parts: [UInt8]...) -> [UInt8] {
        let content = Array(parts.joined())
        switch content.count {
        case ..<128: return [tag, UInt8(content.count)] + content
        case ..<256: return [tag, 0x81, UInt8(content.count)] + content
        default: return [tag, 0x82] + sized(content, bytes: 2)
        }
    }

    /// Returns bytes after their count.
    private static func sized(_ content: [UInt8], bytes: Int) -> [UInt8] {
        (0..<bytes).reversed().map { UInt8(truncatingIfNeeded: content.count >> ($0 * 8)) } + content
    }

    private static func handshake(_ type: UInt8, _ content: [UInt8]) -> [UInt8] { [type] + sized(content, bytes: 3) }

    private static func record(_ content: [UInt8]) -> [UInt8] { [22, 3, 3] + sized(content, bytes: 2) }

    // MARK: Numbers

    private static func mersenne(_ bits: Int) -> [UInt8] {
        let head = bits % 8 == 0 ? [] : [UInt8(1 << (bits % 8) - 1)]
        return head + [UInt8](repeating: 0xFF, count: bits / 8)
    }

    private static func oddNumber(_ bits: Int) -> [UInt8] {
        var bytes = (0..<bits / 8).map { _ in UInt8.random(in: .min ... .max) }
        bytes[0] |= 0x80
        bytes[bytes.count - 1] |= 1
        return bytes
    }

    private static func product(_ number: [UInt8], _ factor: Int) -> [UInt8] {
        var (digits, carry): ([UInt8], Int) = ([], 0)
        for byte in number.reversed() {
            carry += Int(byte) * factor
            digits.append(UInt8(truncatingIfNeeded: carry))
            carry >>= 8
        }
        while carry > 0 {
            digits.append(UInt8(truncatingIfNeeded: carry))
            carry >>= 8
        }
        return digits.reversed()
    }

    private static func sum(_ number: [UInt8], _ small: Int) -> [UInt8] {
        var (digits, carry): ([UInt8], Int) = ([], small)
        for byte in number.reversed() {
            carry += Int(byte)
            digits.append(UInt8(truncatingIfNeeded: carry))
            carry >>= 8
        }
        return digits.reversed()
    }

    private static func quotient(_ number: [UInt8], _ divisor: Int) -> [UInt8] {
        var (digits, rest): ([UInt8], Int) = ([], 0)
        for byte in number {
            rest = rest * 256 + Int(byte)
            digits.append(UInt8(rest / divisor))
            rest %= divisor
        }
        return Array(digits.drop { $0 == 0 })
    }

    private static func base64URL(_ bytes: some Collection<UInt8>) -> String {
        Data(bytes).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
