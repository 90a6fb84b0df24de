/// The parts of an elliptic-curve key in an ASN.1 format, not yet checked against each other.
struct ECKeyReader {
    let curve: EllipticCurve
    /// The private scalar, padded to the curve's coordinate size.
    private(set) var scalar: SecretBytes?
    /// The encoded public points; a private key may have none, or one inside and one outside of the
    /// ECPrivateKey.
    private(set) var points: [[UInt8]] = []

    /// Reads the key of a SubjectPublicKeyInfo
    /// ([RFC 5480 §2](https://www.rfc-editor.org/rfc/rfc5480#section-2)).
    init(_ key: SubjectPublicKeyInfo, in bytes: RawSpan) throws(CryptoError) {
        curve = try Self.namedCurve(key.parameters, "algorithm's curve", in: bytes)
        points = [key.key.map { bytes[$0] }]
    }

    /// Reads the key of a PrivateKeyInfo
    /// ([RFC 5915 §3](https://www.rfc-editor.org/rfc/rfc5915#section-3)).
    init(_ key: PrivateKeyInfo, in bytes: RawSpan) throws(CryptoError) {
        let curve = try Self.namedCurve(key.parameters, "algorithm's curve", in: bytes)
        try self.init(sec1: bytes, in: key.key, curve: curve)
        if let point = key.publicKey {
            points.append(point.map { bytes[$0] })
        }
    }

    /// Reads an ECPrivateKey ([RFC 5915 §3](https://www.rfc-editor.org/rfc/rfc5915#section-3)).
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
            let publicKey = try reader.contents(DERReader.Tag.context(1), "public point", in: bytes)
            var inner = DERReader(publicKey, code: .malformedKey)
            points.append(try inner.bitString("public point BIT STRING", in: bytes).map { bytes[$0] })
            try inner.finish("public point")
        }
        try reader.finish("EC private key")
    }

    /// Reads the optional curve of an ECPrivateKey, which must match the outer curve; at least one
    /// must be present.
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
        let parameters = try reader.contents(DERReader.Tag.context(0), "curve", in: bytes)
        let curve = try namedCurve(DERReader(parameters, code: .malformedKey), "curve", in: bytes)
        guard outerCurve == nil || outerCurve == curve else {
            throw CryptoError(.malformedKey, "The key names two curves, \(outerCurve?.name ?? "") and \(curve.name)")
        }
        return curve
    }

    /// Reads the parameters of a key, called `name`, which must be the name of a curve.
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
    private static func padded(
        _ scalar: Range<Int>,
        of bytes: RawSpan,
        to curve: EllipticCurve
    ) throws(CryptoError) -> SecretBytes {
        let size = curve.coordinateSize
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
