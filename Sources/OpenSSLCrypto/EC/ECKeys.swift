/// An elliptic-curve key pair, validated on creation.
package struct ECPrivateKey: Sendable {
    package let curve: EllipticCurve
    package let publicKey: ECPublicKey

    private let signing: EVPKeyOperation

    var key: EVPKey { signing.key }

    package static func generate(_ curve: EllipticCurve) throws(CryptoError) -> ECPrivateKey {
        let key = try EVPKey.generate(curve)
        return try ECPrivateKey(curve, point: key.point(on: curve), key: key)
    }

    /// The numbers are big-endian and have ``EllipticCurve/coordinateSize`` bytes each.
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

    /// Big-endian and padded to the curve's coordinate size.
    package func scalar() throws(CryptoError) -> SecretBytes {
        try signing.key.scalar(on: curve)
    }

    /// Returns `r` and `s`, each padded to the curve's coordinate size.
    ///
    /// Signatures are randomized. The hash function must be SHA-256, SHA-384 or SHA-512; another
    /// one is an `invalidArgument`.
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

/// The public key of an elliptic-curve key pair, validated on creation.
package struct ECPublicKey: Sendable, Equatable {
    package let curve: EllipticCurve
    /// The coordinates of the public point, big-endian and padded to the curve's size.
    package let x: [UInt8]
    package let y: [UInt8]

    private let verification: Verification

    /// Throws `malformedKey` for coordinates of another size than the curve's, and
    /// `pointNotOnCurve`.
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

    init(_ curve: EllipticCurve, point: CurvePoint) throws(CryptoError) {
        let group = try CurveGroup.shared(for: curve)
        let checked = try point.uncompressed.withBytes { point throws(CryptoError) in
            try group.point(decoding: point)
        }
        self.init(curve, checked: checked)
    }

    init(_ curve: EllipticCurve, checked point: CurvePoint) {
        self.curve = curve
        x = point.x
        y = point.y
        verification = Verification()
    }

    /// Returns `false` also if OpenSSL fails, for any size but twice the curve's coordinate size,
    /// and for a broken hash function.
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

        func with(_ key: ECPublicKey, _ body: (EVPKeyOperation) -> Bool) -> Bool {
            if let result = operation.withObject(body) { return result }
            guard
                let new = try? EVPKeyOperation(.verification, .ecdsa, with: EVPKey.make(key.curve, point: key.point))
            else { return false }
            _ = operation.set(new)
            return body(new)
        }
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.curve == right.curve && left.x == right.x && left.y == right.y
    }

    var point: CurvePoint { CurvePoint(x: x, y: y) }

    init(_ key: ECKeyReader) throws(CryptoError) {
        guard let encoded = key.points.first else { throw CryptoError(.malformedKey, "The key has no public point") }
        let group = try CurveGroup.shared(for: key.curve)
        let point = try encoded.withBytes { encoded throws(CryptoError) in try group.point(decoding: encoded) }
        self.init(key.curve, checked: point)
    }
}

enum ECKeyCoding {
    /// [RFC 5480 §2](https://www.rfc-editor.org/rfc/rfc5480#section-2).
    static func algorithm(of curve: EllipticCurve) -> [UInt8] {
        [ObjectIdentifier.ellipticCurveKey, curve.identifier].flatMap(\.element)
    }

    /// Returns the ECPrivateKey ([RFC 5915 §3](https://www.rfc-editor.org/rfc/rfc5915#section-3));
    /// inside a PrivateKeyInfo, it doesn't name its curve again, as in OpenSSL's encodings.
    static func encoding(_ key: ECPrivateKey, namesCurve: Bool) throws(CryptoError) -> SecretBytes {
        let scalar = try key.scalar()
        let name = namesCurve ? key.curve.identifier.element : []
        let point = [0] + key.publicKey.point.uncompressed
        let pointSize = DERWriter.size(ofElementWith: point.count)
        let nameSize = namesCurve ? DERWriter.size(ofElementWith: name.count) : 0
        let contents =
            3 + DERWriter.size(ofElementWith: scalar.count) + nameSize + DERWriter.size(ofElementWith: pointSize)
        return SecretBytes(capacity: DERWriter.size(ofElementWith: contents)) { output in
            DERWriter.appendHeader(Tag.sequence, size: contents, to: &output)
            DERWriter.append(Tag.integer, [1], to: &output)
            DERWriter.appendHeader(Tag.octetString, size: scalar.count, to: &output)
            scalar.withBytes { output.append($0) }
            if namesCurve { DERWriter.append(Tag.context(0), name, to: &output) }
            DERWriter.appendHeader(Tag.context(1), size: pointSize, to: &output)
            DERWriter.append(Tag.bitString, point, to: &output)
        }
    }

    private typealias Tag = DERReader.Tag
}

/// The parts of an elliptic-curve key in an ASN.1 format, not yet checked against each other.
struct ECKeyReader {
    let curve: EllipticCurve
    /// Padded to the curve's coordinate size.
    private(set) var scalar: SecretBytes?
    /// A private key may have none, or one inside and one outside of the ECPrivateKey.
    private(set) var points: [[UInt8]] = []

    /// [RFC 5480 §2](https://www.rfc-editor.org/rfc/rfc5480#section-2).
    init(_ key: SubjectPublicKeyInfo, in bytes: RawSpan) throws(CryptoError) {
        curve = try Self.namedCurve(key.parameters, "algorithm's curve", in: bytes)
        points = [key.key.map { bytes[$0] }]
    }

    init(_ key: PrivateKeyInfo, in bytes: RawSpan) throws(CryptoError) {
        let curve = try Self.namedCurve(key.parameters, "algorithm's curve", in: bytes)
        try self.init(sec1: bytes, in: key.key, curve: curve)
        if let point = key.publicKey {
            points.append(point.map { bytes[$0] })
        }
    }

    /// [RFC 5915 §3](https://www.rfc-editor.org/rfc/rfc5915#section-3).
    init(sec1 bytes: RawSpan) throws(CryptoError) {
        try self.init(sec1: bytes, in: bytes.byteOffsets, curve: nil)
    }

    private init(sec1 bytes: RawSpan, in range: Range<Int>, curve outerCurve: EllipticCurve?) throws(CryptoError) {
        var reader = try DERReader.sequence("EC private key", in: bytes, range)
        let version = try reader.smallInteger("EC private key version", in: bytes)
        guard version == 1 else {
            throw CryptoError(.malformedKey, "EC private key version \(version) isn't supported, only version 1")
        }
        let scalar = try reader.contents(DERReader.Tag.octetString, "private scalar", in: bytes)
        curve = try Self.curve(namedIn: &reader, of: bytes, expecting: outerCurve)
        self.scalar = try Self.padded(scalar, of: bytes, to: curve)
        if reader.nextTag(in: bytes) == DERReader.Tag.context(1) {
            var inner = try reader.reader(DERReader.Tag.context(1), "public point", in: bytes)
            points.append(try inner.bitString("public point BIT STRING", in: bytes).map { bytes[$0] })
            try inner.finish("public point")
        }
        try reader.finish("EC private key")
    }

    /// The curve is optional, but one of both must be present, and two must match.
    private static func curve(
        namedIn reader: inout DERReader,
        of bytes: RawSpan,
        expecting outerCurve: EllipticCurve?
    ) throws(CryptoError) -> EllipticCurve {
        guard reader.nextTag(in: bytes) == DERReader.Tag.context(0) else {
            guard let outerCurve else {
                throw CryptoError(.unsupportedCurve, "The EC private key doesn't name its curve")
            }
            return outerCurve
        }
        let parameters = try reader.reader(DERReader.Tag.context(0), "curve", in: bytes)
        let curve = try namedCurve(parameters, "curve", in: bytes)
        guard outerCurve == nil || outerCurve == curve else {
            throw CryptoError(.malformedKey, "The key names two curves, \(outerCurve?.name ?? "") and \(curve.name)")
        }
        return curve
    }

    static func namedCurve(
        _ parameters: DERReader,
        _ name: StaticString,
        in bytes: RawSpan
    ) throws(CryptoError) -> EllipticCurve {
        var reader = parameters
        switch reader.nextTag(in: bytes) {
        case DERReader.Tag.sequence:
            throw CryptoError(
                .unsupportedCurve,
                "The key has explicit curve parameters; convert it to a named curve, "
                    + "for example with “openssl ec -param_enc named_curve”"
            )
        case DERReader.Tag.null:
            throw CryptoError(
                .unsupportedCurve,
                "The key inherits its curve from an issuer; only named curves are supported"
            )
        default: break
        }
        let identifier = try reader.identifier("curve's identifier", in: bytes)
        guard let curve = EllipticCurve(identifier: identifier) else {
            throw CryptoError(
                .unsupportedCurve,
                "The curve \(identifier) isn't supported; use P-256, P-384, P-521 or secp256k1"
            )
        }
        try reader.finish(name)
        return curve
    }

    /// Copies a scalar and restores leading zeros, which some writers omit.
    ///
    /// GnuTLS writes the scalar as an INTEGER, so with one zero too many if its first bit is set.
    private static func padded(
        _ scalar: Range<Int>,
        of bytes: RawSpan,
        to curve: EllipticCurve
    ) throws(CryptoError) -> SecretBytes {
        let size = curve.coordinateSize
        var scalar = scalar
        if scalar.count == size + 1, bytes[scalar.lowerBound] == 0 { scalar.removeFirst() }
        guard scalar.count <= size else {
            throw CryptoError(
                .invalidScalar,
                "The private scalar has \(scalar.count) bytes, but \(curve.name) scalars have \(size)"
            )
        }
        return SecretBytes(capacity: size) { output in
            output.append(repeating: 0, count: size - scalar.count)
            output.append(bytes.extracting(scalar))
        }
    }
}
