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
        let claims = #"{"jti":"1","htm":"GET","htu":"https://api.example/","iat":\#(Int(Date().timeIntervalSince1970))}"#
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
