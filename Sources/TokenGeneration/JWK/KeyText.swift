/// A detector of keys in bytes that are used as a secret.
///
/// Public keys are public: if one is used as a secret, anyone can sign. That happens by mistake, or
/// because an attacker changed RS256 to HS256 in a header. The search therefore covers all of the
/// bytes, and the encodings in which configurations contain keys: base64, hexadecimal, UTF-16 and
/// JSON escapes.
enum KeyText {
    /// Returns the format of the key that the bytes contain, or `nil`, after removing at most the
    /// given number of encodings.
    static func format(of octets: [UInt8], encodings: Int = 2) -> String? {
        if isStructure(octets) { return "a key in DER" }
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

    /// The texts that identify lines of OpenSSH and files of
    /// [RFC 4716](https://www.rfc-editor.org/rfc/rfc4716).
    private static let sshRuns =
        ["---- BEGIN SSH2 ", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-"]
        + ["ssh-rsa", "ssh-dss", "ssh-ed25519", "ssh-ed448"].flatMap { ["\($0) ", "\($0)\t", "\($0)-cert-", "\($0)@"] }

    private static let privateRuns = ["openssh-key-v1", "PuTTY-User-Key-File-", "<RSAKeyValue>"]

    /// Returns a Boolean value that indicates whether the bytes start like a decoded SSH public
    /// key, with the length of the name and the name.
    private static func isSSHBlob(_ octets: [UInt8]) -> Bool {
        guard octets.count > 8, octets.starts(with: [0, 0, 0]) else { return false }
        let name = octets.dropFirst(4).prefix(Int(octets[3]))
        return ["ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-"].contains { name.starts(with: $0.utf8) }
    }

    /// Returns a Boolean value that indicates whether the bytes are one ASN.1 SEQUENCE that starts
    /// like a key or a certificate.
    ///
    /// The false positive rate for random bytes is at most one in a billion.
    private static func isStructure(_ octets: [UInt8]) -> Bool {
        guard octets.count > 40, octets[0] == 0x30 else { return false }
        let header: Int
        switch octets[1] {
        case 0..<0x80: header = 2
        case 0x81: header = 3
        case 0x82: header = 4
        default: return false
        }
        let length = header == 2 ? Int(octets[1]) : octets[2..<header].reduce(0) { $0 << 8 | Int($1) }
        // There may be a line break at the end.
        guard length > 2, octets.count >= header + length, octets[(header + length)...].allSatisfy(\.isBlank) else {
            return false
        }
        let content = octets[header...]
        return switch content.first {
        // An algorithm identifier, or the long body of a certificate.
        case 0x30: content[header + 2] == 0x06 || (0x81...0x83).contains(content[header + 1])
        // A version, or an RSA modulus.
        case 0x02:
            content.dropFirst(1).starts(with: [1]) && content[header + 2] <= 1
                || (0x81...0x82).contains(content[header + 1])
        default: false
        }
    }
}

extension KeyText {
    /// Decodes a text if it is entirely base64, base64url or hexadecimal.
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

    /// Replaces the JSON escapes of ASCII characters.
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
