/// An Edwards-curve key pair, validated on creation.
package struct EdwardsPrivateKey: Sendable {
    package let curve: EdwardsCurve
    package let publicKey: EdwardsPublicKey

    private let signing: EVPMessageOperation

    package static func generate(_ curve: EdwardsCurve) throws(CryptoError) -> EdwardsPrivateKey {
        try EdwardsPrivateKey(curve, key: EVPKey.generate(curve))
    }

    /// Throws `malformedKey` for a seed of another size than ``EdwardsCurve/keySize`` ([RFC 8032
    /// §5.1.5](https://www.rfc-editor.org/rfc/rfc8032#section-5.1.5)), and `keyMismatch` if it
    /// doesn't match the expected public key.
    package init(
        curve: EdwardsCurve,
        seed: SecretBytes,
        expecting expected: [UInt8]? = nil
    ) throws(CryptoError) {
        try self.init(curve, key: curve.keyPair(seed))
        guard expected == nil || expected == publicKey.octets else { throw curve.mismatch }
    }

    private init(_ curve: EdwardsCurve, key: EVPKey) throws(CryptoError) {
        self.curve = curve
        publicKey = try EdwardsPublicKey(curve, checked: key.publicOctets(on: curve))
        signing = try EVPMessageOperation(.signing, with: key)
    }

    package func seed() throws(CryptoError) -> SecretBytes {
        try signing.key.privateOctets(size: curve.keySize)
    }

    package func signature(for message: RawSpan) throws(CryptoError) -> [UInt8] {
        try signing.sign(message)
    }
}

/// The public key of an Edwards-curve key pair, validated on creation.
package struct EdwardsPublicKey: Sendable, Equatable {
    package let curve: EdwardsCurve
    package let octets: [UInt8]

    private let verification: EVPMessageOperation

    /// Throws `malformedKey` for another size than ``EdwardsCurve/keySize`` or a non-canonical
    /// encoding, `pointNotOnCurve`, and `weakKey` for a point of small order, under which anyone
    /// could forge signatures.
    package init(curve: EdwardsCurve, octets: [UInt8]) throws(CryptoError) {
        try curve.check(publicKey: octets)
        try EdwardsPointCheck(curve).check(octets)
        try self.init(curve, checked: octets)
    }

    init(_ curve: EdwardsCurve, checked octets: [UInt8]) throws(CryptoError) {
        self.curve = curve
        self.octets = octets
        verification = try EVPMessageOperation(.verification, with: EVPKey.make(curve, point: octets))
    }

    /// Returns `false` also if OpenSSL fails.
    package func isValidSignature(_ signature: RawSpan, for message: RawSpan) -> Bool {
        signature.byteCount == curve.signatureSize && verification.verify(signature, of: message)
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.curve == right.curve && left.octets == right.octets
    }
}

/// A curve for EdDSA signatures ([RFC 8032](https://www.rfc-editor.org/rfc/rfc8032)).
package struct EdwardsCurve: RawKeyCurve {
    /// The name in a JWK's `crv` member
    /// ([RFC 8037 §3.1](https://www.rfc-editor.org/rfc/rfc8037#section-3.1)), which is also
    /// OpenSSL's name.
    package let name: String
    /// The size of a public key and of a seed, in bytes.
    package let keySize: Int
    package let signatureSize: Int
    package let identifier: ObjectIdentifier

    /// Uses the hash function of the signature scheme: SHA-512 for Ed25519 ([RFC 8032
    /// §5.1](https://www.rfc-editor.org/rfc/rfc8032#section-5.1)), SHAKE256 with 114 bytes for
    /// Ed448 (§5.2).
    package func hash(_ bytes: RawSpan) throws(CryptoError) -> [UInt8] {
        try self == .ed25519 ? HashFunction.sha512.hash(bytes) : ExtendableOutputFunction.shake256(bytes, count: 114)
    }

    package static let ed25519 = EdwardsCurve(
        name: "Ed25519",
        keySize: 32,
        signatureSize: 64,
        identifier: ObjectIdentifier(1, 3, 101, 112)
    )
    package static let ed448 = EdwardsCurve(
        name: "Ed448",
        keySize: 57,
        signatureSize: 114,
        identifier: ObjectIdentifier(1, 3, 101, 113)
    )

    package static let all: [EdwardsCurve] = [.ed25519, .ed448]
}

/// A check of the encoded point of an Edwards public key, which OpenSSL doesn't validate.
///
/// With a public key of small order, anyone can forge signatures. With the neutral element, one
/// signature is even valid for every message. Non-canonical encodings are rejected too: they'd give
/// a point a second encoding, which matters if keys arrive with the message (a JWK in a token's
/// header) or are compared by their bytes.
struct EdwardsPointCheck {
    private let curve: EdwardsCurve
    private let arithmetic: BigNumberArithmetic
    private let prime: BigNumber
    private let one: BigNumber

    init(_ curve: EdwardsCurve) throws(CryptoError) {
        self.curve = curve
        arithmetic = try BigNumberArithmetic()
        one = try BigNumber(1)
        prime = try Self.prime(of: curve).withBytes { bytes throws(CryptoError) in try BigNumber(bytes) }
    }

    /// A non-canonical encoding is `malformedKey`, and a point of small order `weakKey` ([RFC 8032
    /// §5.1.2 and §5.2.2](https://www.rfc-editor.org/rfc/rfc8032#section-5.1.2)).
    func check(_ encoded: [UInt8]) throws(CryptoError) {
        var bigEndian = Array(encoded.reversed())
        // The first bit is the sign of x. On Edwards448 it has a separate byte.
        bigEndian[0] &= 0x7F
        let y = try bigEndian.withBytes { bytes throws(CryptoError) in try BigNumber(bytes) }
        guard y < prime else {
            throw CryptoError(
                .malformedKey,
                "The \(curve.name) public key isn't canonical: y isn't less than the prime"
            )
        }
        // The points with x = 0 have a non-canonical second encoding. They're rejected here because
        // their order is small.
        guard try !isOfSmallOrder(y) else {
            throw CryptoError(
                .weakKey,
                "The \(curve.name) public key has small order, so anyone could forge signatures"
            )
        }
        guard try isOnCurve(y) else {
            throw CryptoError(.pointNotOnCurve, "The public key isn't a point on the curve \(curve.name)")
        }
    }

    private func isOfSmallOrder(_ y: BigNumber) throws(CryptoError) -> Bool {
        // 1 has order 1, -1 order 2 and 0 order 4. Edwards25519 also has points of order 8:
        // doubling them gives y = 0, which is equivalent to d·y⁴ + 2·y² = 1.
        let minusOne = try arithmetic.difference(prime, one)
        if y.isZero || y.isOne || y == minusOne { return true }
        guard curve == .ed25519 else { return false }
        let square = try arithmetic.square(y, modulo: prime)
        let fourth = try arithmetic.square(square, modulo: prime)
        let double = try arithmetic.sum(square, square, modulo: prime)
        return try arithmetic.sum(coefficient(times: fourth), double, modulo: prime).isOne
    }

    /// Returns whether the curve has a point with this `y`.
    ///
    /// By the curve equation a·x² + y² = 1 + d·x²·y², x² is (y² - 1) / (d·y² - a), where a is -1 on
    /// Edwards25519 and 1 on Edwards448. The quotient is a square if and only if the product of
    /// both terms is.
    private func isOnCurve(_ y: BigNumber) throws(CryptoError) -> Bool {
        let square = try arithmetic.square(y, modulo: prime)
        let numerator = try arithmetic.difference(square, one, modulo: prime)
        let product = try coefficient(times: square)
        let denominator =
            try curve == .ed25519
            ? arithmetic.sum(product, one, modulo: prime) : arithmetic.difference(product, one, modulo: prime)
        return try arithmetic.isSquare(
            arithmetic.product(numerator, denominator, modulo: prime),
            modulo: prime
        )
    }

    /// Returns d · `number`, where d is -121665 / 121666 on Edwards25519 and -39081 on Edwards448.
    private func coefficient(times number: BigNumber) throws(CryptoError) -> BigNumber {
        var product = try arithmetic.product(number, BigNumber(curve == .ed25519 ? 121665 : 39081), modulo: prime)
        if curve == .ed25519, let inverse = try arithmetic.inverse(of: BigNumber(121666), modulo: prime) {
            product = try arithmetic.product(product, inverse, modulo: prime)
        }
        return try arithmetic.difference(BigNumber(), product, modulo: prime)
    }

    /// Returns 2²⁵⁵ - 19 or 2⁴⁴⁸ - 2²²⁴ - 1, big-endian.
    private static func prime(of curve: EdwardsCurve) -> [UInt8] {
        guard curve == .ed25519 else {
            return (0..<56).map { $0 == 27 ? 0xFE : 0xFF }
        }
        return [0x7F] + [UInt8](repeating: 0xFF, count: 30) + [0xED]
    }
}
