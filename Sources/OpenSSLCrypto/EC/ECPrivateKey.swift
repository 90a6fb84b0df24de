/// An elliptic-curve key pair, validated on creation.
package struct ECPrivateKey: Sendable {
    /// The curve.
    package let curve: EllipticCurve
    /// The public key.
    package let publicKey: ECPublicKey

    private let signing: EVPKeyOperation

    /// OpenSSL's representation of the key pair.
    var key: EVPKey { signing.key }

    /// Generates a key pair.
    package static func generate(_ curve: EllipticCurve) throws(CryptoError) -> ECPrivateKey {
        let key = try EVPKey.generate(curve)
        return try ECPrivateKey(curve, point: key.point(on: curve), key: key)
    }

    /// Creates a key pair from its big-endian numbers, which a JWK contains: the private scalar and
    /// both coordinates of the public point, exactly ``EllipticCurve/coordinateSize`` bytes each.
    ///
    /// It throws `malformedKey` for any other size, `pointNotOnCurve`, `invalidScalar`, and
    /// `keyMismatch` if the point doesn't match the scalar.
    package init(
        curve: EllipticCurve,
        scalar: SecretBytes,
        x: [UInt8],
        y: [UInt8]
    ) throws(CryptoError) {
        guard scalar.count == curve.coordinateSize else {
            throw CryptoError(
                .malformedKey,
                "The private scalar has \(scalar.count) bytes, but \(curve.name) scalars have \(curve.coordinateSize)"
            )
        }
        let publicKey = try ECPublicKey(curve: curve, x: x, y: y)
        try self.init(curve, scalar: scalar, expecting: publicKey.point)
    }

    /// Creates a key pair from its big-endian scalar, which must match the expected public point,
    /// if any.
    init(_ curve: EllipticCurve, scalar: SecretBytes, expecting expected: CurvePoint?) throws(CryptoError) {
        let point = try CurveGroup.shared(for: curve).point(of: scalar)
        guard expected == nil || expected == point else { throw curve.mismatch }
        try self.init(curve, point: point, key: EVPKey.make(curve, point: point, scalar: scalar))
    }

    private init(_ curve: EllipticCurve, point: CurvePoint, key: EVPKey) throws(CryptoError) {
        self.curve = curve
        publicKey = try ECPublicKey(curve, point: point)
        signing = try EVPKeyOperation(.signing, .ecdsa, with: key)
    }

    /// Returns the private scalar, big-endian and padded to the curve's coordinate size.
    package func scalar() throws(CryptoError) -> SecretBytes {
        try signing.key.scalar(on: curve)
    }

    /// Returns the signature of a message: `r` and `s`, each padded to the curve's coordinate size.
    ///
    /// Signatures are randomized: signing a message twice gives two different signatures. The hash
    /// function must be SHA-256, SHA-384 or SHA-512; another one is an `invalidArgument`.
    package func signature(for message: RawSpan, hash: HashFunction) throws(CryptoError) -> [UInt8] {
        guard hash.isCollisionResistant else {
            throw CryptoError(.invalidArgument, "Can't sign with \(hash.openSSLName); use SHA-256 or longer")
        }
        let digest = try hash.hash(message)
        let der = try digest.withBytes { bytes throws(CryptoError) in try signing.sign(bytes) }
        return try der.withBytes { bytes throws(CryptoError) in
            try ECDSASignature.raw(fromDER: bytes, coordinateSize: curve.coordinateSize)
        }
    }

    /// Creates a key pair after checking the numbers that were read.
    init(_ key: ECKeyReader) throws(CryptoError) {
        guard let scalar = key.scalar else { throw CryptoError(.wrongKeyType, "The key doesn't contain a private key") }
        let group = try CurveGroup.shared(for: key.curve)
        var expected: CurvePoint?
        for encoded in key.points {
            let point = try encoded.withBytes { encoded throws(CryptoError) in try group.point(decoding: encoded) }
            guard expected == nil || expected == point else {
                throw CryptoError(.keyMismatch, "The key has two different public points")
            }
            expected = point
        }
        try self.init(key.curve, scalar: scalar, expecting: expected)
    }
}
