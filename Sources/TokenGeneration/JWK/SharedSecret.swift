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
        if let format = KeyText.format(of: octets) {
            throw TokenError(
                .malformedKey,
                "the secret is \(format): anyone who has that text could sign with it. Read the text as a key, or give the "
                    + "secret's own octets"
            )
        }
        let size = Self.sizeWithoutPadding(octets)
        guard size > 0 else {
            throw TokenError(.weakKey, "the secret has nothing but zeros: anyone could sign with it")
        }
        let minimum = details.minimumKeySize / 8
        guard length == .any || size >= minimum else {
            let padding = size < octets.count ? " before the zeros at its end, which HMAC pads with anyway" : ""
            throw TokenError(
                .weakKey,
                "the secret has \(size) octets\(padding), \(details.algorithm) needs \(minimum) at least (RFC 7518 §3.2)"
            )
        }
        bytes = octets.withBytes { SecretBytes(copying: $0) }
    }

    /// Makes a new secret, as long as the hash, which doesn't end with a zero.
    ///
    /// - Throws: ``CryptoError`` if the system has no random numbers.
    init(generatedFor details: AlgorithmDescription) throws(CryptoError) {
        bytes = try Self.generate(count: details.minimumKeySize / 8, random: SecureRandom.bytes(count:))
    }

    /// Draws secrets until one doesn't end with a zero, which importing it would not count.
    static func generate(
        count: Int,
        random: (Int) throws(CryptoError) -> [UInt8]
    ) throws(CryptoError) -> SecretBytes {
        var octets = try random(count)
        while octets.last == 0 { octets = try random(count) }
        return octets.withBytes { SecretBytes(copying: $0) }
    }

    /// The number of octets before the zeros at the end.
    ///
    /// HMAC pads a key with zeros up to its block ([RFC 2104 §2](https://www.rfc-editor.org/rfc/rfc2104#section-2)): a key
    /// and the same key with zeros behind it make the same signatures.
    private static func sizeWithoutPadding(_ octets: [UInt8]) -> Int {
        (octets.lastIndex { $0 != 0 } ?? -1) + 1
    }

    private static let maximumSize = 65_536

    private static func isBlank(_ octet: UInt8) -> Bool {
        octet == 0x20 || (0x09...0x0D).contains(octet)
    }
}
