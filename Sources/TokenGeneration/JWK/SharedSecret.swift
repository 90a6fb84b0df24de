internal import OpenSSLCrypto

/// The key of an HMAC algorithm, after it was found fit to be one.
struct SharedSecret {
    /// How short a secret may be.
    enum Length {
        /// As long as the hash at least ([RFC 7518 §3.2](https://www.rfc-editor.org/rfc/rfc7518#section-3.2)).
        case standard
        /// One octet at least.
        case any
    }

    let bytes: SecretBytes

    /// Checks a secret.
    ///
    /// - Throws: ``TokenError`` with the code `weakKey` or `malformedKey`.
    init(_ octets: [UInt8], for details: AlgorithmDescription, length: Length) throws(TokenError) {
        guard !octets.isEmpty else {
            throw TokenError(.weakKey, "the secret is empty: anyone could sign with it")
        }
        guard !octets.allSatisfy(Self.isBlank) else {
            throw TokenError(.weakKey, "the secret has nothing but blanks: was a variable not set?")
        }
        guard octets.count <= Self.maximumSize else {
            throw TokenError(.tooLarge, "the secret has \(octets.count) octets, the limit is \(Self.maximumSize)")
        }
        if let format = Self.keyFormat(of: octets) {
            throw TokenError(
                .malformedKey,
                "the secret is \(format): anyone who has that text could sign with it. Read the text as a key, or give the "
                    + "secret's own octets"
            )
        }
        let minimum = details.minimumKeySize / 8
        guard length == .any || octets.count >= minimum else {
            throw TokenError(
                .weakKey,
                "the secret has \(octets.count) octets, \(details.algorithm) needs \(minimum) at least (RFC 7518 §3.2)"
            )
        }
        bytes = octets.withBytes { SecretBytes(copying: $0) }
    }

    /// Makes a new secret, as long as the hash.
    ///
    /// - Throws: ``CryptoError`` if the system has no random numbers.
    init(generatedFor details: AlgorithmDescription) throws(CryptoError) {
        bytes = try SecureRandom.bytes(count: details.minimumKeySize / 8).withBytes { SecretBytes(copying: $0) }
    }

    private static let maximumSize = 65_536

    private static func isBlank(_ octet: UInt8) -> Bool {
        octet == 0x20 || (0x09...0x0D).contains(octet)
    }

    /// What key format the octets are in, if they are in one.
    ///
    /// Public keys are public: as a secret they let everybody sign. That this happens by mistake, or because an attacker
    /// turned RS256 into HS256 in a header, is why the octets are looked at as a whole and not only at their beginning.
    private static func keyFormat(of octets: [UInt8]) -> String? {
        if octets.containsRun(of: "-----BEGIN ") { return "a PEM text" }
        if octets.containsRun(of: "\"kty\"") { return "a JSON Web Key" }
        for prefix in ["ssh-rsa ", "ssh-ed25519 ", "ecdsa-sha2-"] where octets.containsRun(of: prefix) {
            return "an SSH public key"
        }
        return isKeyStructure(octets) ? "a key in DER" : nil
    }

    /// Whether the octets are one ASN.1 SEQUENCE that begins as keys and certificates do.
    ///
    /// Of random octets, one in a thousand million is taken for one at most.
    private static func isKeyStructure(_ octets: [UInt8]) -> Bool {
        guard octets.count > 40, octets[0] == 0x30 else { return false }
        let header: Int
        switch octets[1] {
        case 0..<0x80: header = 2
        case 0x81: header = 3
        case 0x82: header = 4
        default: return false
        }
        let length = header == 2 ? Int(octets[1]) : octets[2..<header].reduce(0) { $0 << 8 | Int($1) }
        guard octets.count == header + length else { return false }
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

extension [UInt8] {
    /// Whether a text occurs anywhere in the octets.
    fileprivate func containsRun(of text: String) -> Bool {
        let run = text.utf8
        guard count >= run.count else { return false }
        return (0...(count - run.count)).contains { self[$0...].starts(with: run) }
    }
}
