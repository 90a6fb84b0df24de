/// The public key of an Edwards-curve key pair, validated on creation.
package struct EdwardsPublicKey: Sendable {
    /// The curve.
    package let curve: EdwardsCurve
    /// The encoded point, ``EdwardsCurve/keySize`` bytes.
    package let octets: [UInt8]

    private let verification: EVPMessageOperation

    /// Creates a key from its bytes, which a JWK contains: an encoded point of exactly
    /// ``EdwardsCurve/keySize``.
    ///
    /// It throws `malformedKey` for any other size or a non-canonical encoding, `pointNotOnCurve`,
    /// and `weakKey` for a point of small order, under which anyone could forge signatures.
    package init(curve: EdwardsCurve, octets: [UInt8]) throws(CryptoError) {
        try curve.check(publicKey: octets)
        try EdwardsPointCheck(curve).check(octets)
        try self.init(curve, checked: octets)
    }

    /// Creates a key from a point that has passed the check.
    init(_ curve: EdwardsCurve, checked octets: [UInt8]) throws(CryptoError) {
        self.curve = curve
        self.octets = octets
        verification = try EVPMessageOperation(.verification, with: EVPKey.make(curve, point: octets))
    }

    /// Returns whether a signature is valid for a message; `false` also if OpenSSL fails.
    ///
    /// Any size other than ``EdwardsCurve/signatureSize`` is invalid.
    package func isValidSignature(_ signature: RawSpan, for message: RawSpan) -> Bool {
        signature.byteCount == curve.signatureSize && verification.verify(signature, of: message)
    }
}

extension EdwardsPublicKey: Equatable {
    /// Compares the curves and points of two keys.
    package static func == (left: Self, right: Self) -> Bool {
        left.curve == right.curve && left.octets == right.octets
    }
}
