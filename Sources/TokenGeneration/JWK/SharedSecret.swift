internal import OpenSSLCrypto

/// A checked key of an HMAC algorithm.
struct SharedSecret {
    /// The minimum length of a secret.
    enum Length {
        /// At least the length of the hash
        /// ([RFC 7518 §3.2](https://www.rfc-editor.org/rfc/rfc7518#section-3.2)).
        case standard
        /// At least one byte.
        case any
    }

    let bytes: SecretBytes

    /// Checks a secret.
    ///
    /// - Throws: ``TokenError`` with the code `weakKey` or `malformedKey`.
    init(_ octets: [UInt8], for details: AlgorithmDescription, length: Length) throws(TokenError) {
        guard !octets.isEmpty else {
            throw TokenError(.weakKey, "the secret is empty, so anyone could sign with it")
        }
        guard !octets.allSatisfy(Self.isBlank) else {
            throw TokenError(.weakKey, "the secret is blank; check that its variable is set")
        }
        guard octets.count <= Self.maximumSize else {
            throw TokenError(.tooLarge, "the secret has \(octets.count) bytes, but the limit is \(Self.maximumSize)")
        }
        if let format = KeyText.format(of: octets) {
            throw TokenError(
                .malformedKey,
                "the secret is \(format), so anyone who has that text could sign with it. Import the text as a key, or use "
                    + "the secret's own bytes"
            )
        }
        let size = Self.sizeWithoutPadding(octets)
        guard size > 0 else {
            throw TokenError(.weakKey, "the secret is all zeros, so anyone could sign with it")
        }
        let minimum = details.minimumKeySize / 8
        guard length == .any || size >= minimum else {
            let padding = size < octets.count ? " before its trailing zeros, which equal HMAC's padding" : ""
            throw TokenError(
                .weakKey,
                "the secret has \(size) bytes\(padding), but \(details.algorithm) needs at least \(minimum) (RFC 7518 §3.2)"
            )
        }
        bytes = octets.withBytes { SecretBytes(copying: $0) }
    }

    /// Generates a secret that is as long as the hash and doesn't end with a zero.
    ///
    /// - Throws: ``CryptoError`` if the system can't provide random numbers.
    init(generatedFor details: AlgorithmDescription) throws(CryptoError) {
        bytes = try Self.generate(count: details.minimumKeySize / 8, random: SecureRandom.bytes(count:))
    }

    /// Generates secrets until one doesn't end with a zero, which wouldn't count when the secret is
    /// imported.
    static func generate(
        count: Int,
        random: (Int) throws(CryptoError) -> [UInt8]
    ) throws(CryptoError) -> SecretBytes {
        var octets = try random(count)
        while octets.last == 0 { octets = try random(count) }
        return octets.withBytes { SecretBytes(copying: $0) }
    }

    /// Returns the number of bytes before the trailing zeros.
    ///
    /// HMAC pads a key with zeros up to its block size
    /// ([RFC 2104 §2](https://www.rfc-editor.org/rfc/rfc2104#section-2)), so a key makes the same
    /// signatures with and without trailing zeros.
    private static func sizeWithoutPadding(_ octets: [UInt8]) -> Int {
        (octets.lastIndex { $0 != 0 } ?? -1) + 1
    }

    private static let maximumSize = 65_536

    private static func isBlank(_ octet: UInt8) -> Bool {
        octet == 0x20 || (0x09...0x0D).contains(octet)
    }
}
