/// The public key of an Edwards-curve key pair, checked when it is made and ready to verify.
///
/// A value may be used from several threads at once.
package struct EdwardsPublicKey: Sendable {
    /// The curve.
    package let curve: EdwardsCurve
    /// The encoded point, ``EdwardsCurve/keySize`` octets.
    package let octets: [UInt8]

    private let verification: EVPMessageOperation

    /// Makes a key from its octets, as a JWK has them.
    ///
    /// - Parameters:
    ///   - curve: The curve.
    ///   - octets: The encoded point, exactly ``EdwardsCurve/keySize`` octets.
    /// - Throws: ``CryptoError/Code/malformedKey`` for another size or an encoding that is not canonical,
    ///   ``CryptoError/Code/pointNotOnCurve``, and ``CryptoError/Code/weakKey`` for a point of small order, with which
    ///   anyone could make signatures.
    package init(curve: EdwardsCurve, octets: [UInt8]) throws(CryptoError) {
        guard octets.count == curve.keySize else {
            throw CryptoError(
                .malformedKey,
                "The public key has \(octets.count) octets: on \(curve.name) it has \(curve.keySize)"
            )
        }
        try EdwardsPointCheck(curve).check(octets)
        try self.init(curve, checked: octets)
    }

    /// Makes a key from a point that is known to be good.
    init(_ curve: EdwardsCurve, checked octets: [UInt8]) throws(CryptoError) {
        self.curve = curve
        self.octets = octets
        verification = try EVPMessageOperation(.verification, with: EVPKey.make(curve, point: octets))
    }

    /// Checks a signature.
    ///
    /// - Parameters:
    ///   - signature: The signature. Any other size than ``EdwardsCurve/signatureSize`` is not valid.
    ///   - message: The message.
    /// - Returns: Whether the signature is the message's; `false` also if the library fails.
    package func isValidSignature(_ signature: RawSpan, for message: RawSpan) -> Bool {
        signature.byteCount == curve.signatureSize && verification.verify(signature, of: message)
    }
}

extension EdwardsPublicKey: Equatable {
    /// Whether two keys are the same point of the same curve.
    package static func == (left: Self, right: Self) -> Bool {
        left.curve == right.curve && left.octets == right.octets
    }
}
