/// The public key of an elliptic-curve key pair, checked when it is made and ready to verify.
///
/// A value may be used from several threads at once.
package struct ECPublicKey: Sendable {
    /// The curve.
    package let curve: EllipticCurve
    /// The first coordinate of the public point, big-endian and padded to the curve's size.
    package let x: [UInt8]
    /// The second coordinate of the public point, big-endian and padded to the curve's size.
    package let y: [UInt8]

    private let verification: EVPKeyOperation

    /// Makes a key from coordinates, as a JWK has them.
    ///
    /// - Parameters:
    ///   - curve: The curve.
    ///   - x: The first coordinate, exactly ``EllipticCurve/coordinateSize`` octets.
    ///   - y: The second coordinate, of the same size.
    /// - Throws: ``CryptoError/Code/malformedKey`` for another size, ``CryptoError/Code/pointNotOnCurve``.
    package init(curve: EllipticCurve, x: [UInt8], y: [UInt8]) throws(CryptoError) {
        let size = curve.coordinateSize
        guard x.count == size, y.count == size else {
            throw CryptoError(
                .malformedKey,
                "The coordinates have \(x.count) and \(y.count) octets: on \(curve.name) both have \(size)"
            )
        }
        let encoded = CurvePoint(x: x, y: y).uncompressed
        let group = try CurveGroup.shared(for: curve)
        let point = try encoded.withBytes { bytes throws(CryptoError) in try group.point(decoding: bytes) }
        try self.init(curve, checked: point)
    }

    /// Makes a key from a point that is known to be on the curve.
    init(_ curve: EllipticCurve, checked point: CurvePoint) throws(CryptoError) {
        self.curve = curve
        x = point.x
        y = point.y
        verification = try EVPKeyOperation(.verification, .ecdsa, with: EVPKey.make(curve, point: point, scalar: nil))
    }

    /// Checks a signature.
    ///
    /// For every valid signature a second one of the same message exists (`n - s` in place of `s`): a signature is no
    /// identifier.
    ///
    /// - Parameters:
    ///   - signature: `r` and `s`, each padded to the curve's coordinate size. Any other size is not valid.
    ///   - message: The message.
    ///   - hash: How the message was hashed. No signature is valid with a broken hash function.
    /// - Returns: Whether the signature is the message's; `false` also if the library fails.
    package func isValidSignature(_ signature: RawSpan, for message: RawSpan, hash: HashFunction) -> Bool {
        guard
            hash.isCollisionResistant,
            signature.byteCount == 2 * curve.coordinateSize,
            let digest = try? hash.hash(message),
            let der = try? ECDSASignature.der(fromRaw: signature)
        else { return false }
        return der.withBytes { der in digest.withBytes { digest in verification.verify(der, of: digest) } }
    }
}

extension ECPublicKey: Equatable {
    /// Whether two keys are the same point of the same curve.
    package static func == (left: Self, right: Self) -> Bool {
        left.curve == right.curve && left.x == right.x && left.y == right.y
    }
}

extension ECPublicKey {
    /// The public point.
    var point: CurvePoint { CurvePoint(x: x, y: y) }
}
