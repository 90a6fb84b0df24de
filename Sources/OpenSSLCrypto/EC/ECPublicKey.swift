/// The public key of an elliptic-curve key pair, validated on creation.
package struct ECPublicKey: Sendable {
    /// The curve.
    package let curve: EllipticCurve
    /// The first coordinate of the public point, big-endian and padded to the curve's size.
    package let x: [UInt8]
    /// The second coordinate of the public point, big-endian and padded to the curve's size.
    package let y: [UInt8]

    private let verification: Verification

    /// Creates a key from coordinates, which a JWK contains, of exactly
    /// ``EllipticCurve/coordinateSize`` bytes each.
    ///
    /// It throws `malformedKey` for any other size, and `pointNotOnCurve`.
    package init(curve: EllipticCurve, x: [UInt8], y: [UInt8]) throws(CryptoError) {
        let size = curve.coordinateSize
        guard x.count == size, y.count == size else {
            throw CryptoError(
                .malformedKey,
                "The coordinates have \(x.count) and \(y.count) bytes, but \(curve.name) coordinates have \(size)"
            )
        }
        try self.init(curve, point: CurvePoint(x: x, y: y))
    }

    /// Creates a key from a point, and checks that the point is on the curve.
    init(_ curve: EllipticCurve, point: CurvePoint) throws(CryptoError) {
        let group = try CurveGroup.shared(for: curve)
        let checked = try point.uncompressed.withBytes { point throws(CryptoError) in
            try group.point(decoding: point)
        }
        self.init(curve, checked: checked)
    }

    /// Creates a key from a point that's on the curve.
    init(_ curve: EllipticCurve, checked point: CurvePoint) {
        self.curve = curve
        x = point.x
        y = point.y
        verification = Verification()
    }

    /// Returns whether a signature is valid for a message; `false` also if OpenSSL fails.
    ///
    /// The signature is `r` and `s`, each padded to the curve's coordinate size. Any other size is
    /// invalid, and so is every signature with a broken hash function.
    ///
    /// Don't use signatures as identifiers: each valid signature has a second valid form for the
    /// same message, with `n - s` instead of `s`.
    package func isValidSignature(_ signature: RawSpan, for message: RawSpan, hash: HashFunction) -> Bool {
        guard
            hash.isCollisionResistant,
            signature.byteCount == 2 * curve.coordinateSize,
            let digest = try? hash.hash(message),
            let der = try? ECDSASignature.der(fromRaw: signature)
        else { return false }
        return verification.with(self) { operation in
            der.withBytes { der in digest.withBytes { digest in operation.verify(der, of: digest) } }
        }
    }

    /// OpenSSL's key and context, made with the first signature: the ephemeral key of a token for
    /// key agreement never needs them, and they take as long as reading the rest of it.
    private final class Verification: Sendable {
        private let operation = SetOnce<EVPKeyOperation>()

        /// Returns the result of a closure with the operation, or `false` if OpenSSL fails.
        func with(_ key: ECPublicKey, _ body: (EVPKeyOperation) -> Bool) -> Bool {
            if let result = operation.withObject(body) { return result }
            guard
                let new = try? EVPKeyOperation(.verification, .ecdsa, with: EVPKey.make(key.curve, point: key.point))
            else { return false }
            _ = operation.set(new)
            return body(new)
        }
    }
}

extension ECPublicKey: Equatable {
    /// Compares the curves and points of two keys.
    package static func == (left: Self, right: Self) -> Bool {
        left.curve == right.curve && left.x == right.x && left.y == right.y
    }
}

extension ECPublicKey {
    /// The public point.
    var point: CurvePoint { CurvePoint(x: x, y: y) }

    /// Creates a key after checking the point that was read.
    init(_ key: ECKeyReader) throws(CryptoError) {
        guard let encoded = key.points.first else { throw CryptoError(.malformedKey, "The key has no public point") }
        let group = try CurveGroup.shared(for: key.curve)
        let point = try encoded.withBytes { encoded throws(CryptoError) in try group.point(decoding: encoded) }
        self.init(key.curve, checked: point)
    }
}
