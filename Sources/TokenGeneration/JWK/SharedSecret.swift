internal import OpenSSLCrypto

/// A checked key of an HMAC algorithm.
struct SharedSecret {
    enum Length {
        /// [RFC 7518 §3.2](https://www.rfc-editor.org/rfc/rfc7518#section-3.2).
        case standard
        case any
    }

    let bytes: SecretBytes

    init(_ octets: [UInt8], for details: AlgorithmDescription, length: Length) throws(TokenError) {
        guard !octets.isEmpty else {
            throw TokenError(.weakKey, "the secret is empty, so anyone could sign with it")
        }
        guard !octets.allSatisfy(\.isBlank) else {
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
        guard octets.contains(where: { $0 != 0 }) else {
            throw TokenError(.weakKey, "the secret is all zeros, so anyone could sign with it")
        }
        let size = HMAC.keySize(of: octets.span.octets)
        let minimum = details.minimumSecretSize
        guard length == .any || size >= minimum else {
            let padding = size < octets.count ? " before its trailing zeros, which equal HMAC's padding" : ""
            throw TokenError(
                .weakKey,
                "the secret has \(size) bytes\(padding), but \(details.algorithm) needs at least \(minimum) (RFC 7518 §3.2)"
            )
        }
        bytes = SecretBytes(copying: octets.span.octets)
    }

    init(generatedFor details: AlgorithmDescription) throws(CryptoError) {
        bytes = try SecureRandom.bytes(count: details.minimumSecretSize).withBytes { SecretBytes(copying: $0) }
    }

    private static let maximumSize = 65_536
}
