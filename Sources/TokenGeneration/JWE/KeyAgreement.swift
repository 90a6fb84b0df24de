internal import OpenSSLCrypto

/// The public parts of a key agreement: the ephemeral key, and the context of the derived key
/// ([RFC 7518 §4.6](https://www.rfc-editor.org/rfc/rfc7518#section-4.6)).
struct KeyAgreement: Sendable {
    /// The ephemeral public key, which is on its curve.
    let publicKey: PublicKey
    private let keySize: Int
    private let info: [UInt8]

    /// Reads the parameters of a header.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken` or `tooLarge`.
    init(_ header: JWEHeader, _ details: JWEAlgorithmDescription, _ encryption: JWEEncryption) throws(TokenError) {
        let publicKey = try Self.ephemeralKey(in: header)
        self.init(
            publicKey,
            details,
            encryption,
            partyU: try header.optionalOctets("apu", limit: JWELimits.partyInfoSize) ?? [],
            partyV: try header.optionalOctets("apv", limit: JWELimits.partyInfoSize) ?? []
        )
    }

    init(
        _ publicKey: PublicKey,
        _ details: JWEAlgorithmDescription,
        _ encryption: JWEEncryption,
        partyU: [UInt8],
        partyV: [UInt8]
    ) {
        self.publicKey = publicKey
        // The derived key is for the algorithm that uses it: `enc` directly, or `alg` to wrap.
        let name: String
        if case .agreement(let wrapKeySize?) = details.scheme {
            (name, keySize) = (details.algorithm.rawValue, wrapKeySize)
        } else {
            (name, keySize) = (encryption.rawValue, encryption.cipher.keySize)
        }
        var info: [UInt8] = []
        for field in [Array(name.utf8), partyU, partyV] {
            Self.append(field.count, to: &info)
            info += field
        }
        Self.append(keySize * 8, to: &info)
        self.info = info
    }

    /// The size of the shared secret in bytes.
    var secretSize: Int {
        switch publicKey {
        case .ellipticCurve(let key): key.curve.coordinateSize
        case .montgomery(let key): key.curve.keySize
        case .rsa, .edwards, .mldsa: 0
        }
    }

    /// Derives a key from the shared secret, and unwraps the content key with it if there is a
    /// wrapped one.
    func contentKey(from secret: SecretBytes, wrapped: [UInt8]?) throws(CryptoError) -> SecretBytes? {
        let key = try derivedKey(from: secret)
        guard let wrapped else { return key }
        return try AESKeyWrap(key: key).unwrap(wrapped)
    }

    /// Derives the content key, or the key that wraps it, from the shared secret.
    func derivedKey(from secret: SecretBytes) throws(CryptoError) -> SecretBytes {
        try ConcatKDF.key(from: secret, info: info, count: keySize)
    }

    /// Appends a number as four bytes, big-endian.
    private static func append(_ value: Int, to info: inout [UInt8]) {
        for shift in [24, 16, 8, 0] { info.append(UInt8(truncatingIfNeeded: value >> shift)) }
    }

    private static func ephemeralKey(in header: JWEHeader) throws(TokenError) -> PublicKey {
        guard let members = header["epk"]?.object else {
            throw TokenError(.malformedToken, "the header must have “epk”, the ephemeral public key, as an object")
        }
        do throws(TokenError) {
            let jwk = try JWK(members)
            guard !jwk.isPrivate else { throw TokenError(.malformedKey, "it contains a private key") }
            guard let curve = jwk.curve, JWEAlgorithmDescription.curves.contains(where: curve.isExactly) else {
                throw TokenError(.unsupportedKey, "its curve isn't one for key agreement")
            }
            return try jwk.publicKey()
        } catch {
            throw TokenError(.malformedToken, "“epk” of the header isn't usable: \(error.message)", cause: error)
        }
    }
}
