/// The parts of an elliptic-curve key in one of the three ASN.1 formats, not yet checked against each other.
struct ECKeyReader {
    let curve: EllipticCurve
    /// The private scalar, padded to the curve's coordinate size.
    private(set) var scalar: SecretBytes?
    /// The encoded public points; a private key may have none, or one inside and one outside.
    private(set) var points: [[UInt8]] = []

    /// Reads a SubjectPublicKeyInfo ([RFC 5480 §2](https://www.rfc-editor.org/rfc/rfc5480#section-2)).
    init(spki bytes: RawSpan) throws(CryptoError) {
        var reader = try Self.sequence("public key", in: bytes)
        curve = try Self.algorithmCurve(&reader, in: bytes)
        points = [try Self.bitString(&reader, DERReader.Tag.bitString, in: bytes)]
        try reader.finish("public key")
    }

    /// Reads a PrivateKeyInfo ([RFC 5208 §5](https://www.rfc-editor.org/rfc/rfc5208#section-5)) or OneAsymmetricKey
    /// ([RFC 5958 §2](https://www.rfc-editor.org/rfc/rfc5958#section-2)).
    init(pkcs8 bytes: RawSpan) throws(CryptoError) {
        var reader = try Self.sequence("PKCS#8 key", in: bytes)
        let version = try reader.smallInteger("PKCS#8 version", in: bytes)
        guard version <= 1 else {
            throw CryptoError(.malformedKey, "PKCS#8 version \(version) is not known: 0 and 1 are")
        }
        let curve = try Self.algorithmCurve(&reader, in: bytes)
        let key = try reader.contents(DERReader.Tag.octetString, "private key OCTET STRING", in: bytes)
        try self.init(sec1: bytes, in: key, curve: curve)
        if reader.nextTag(in: bytes) == DERReader.Tag.context(0) {
            _ = try reader.contents(DERReader.Tag.context(0), "PKCS#8 attributes", in: bytes)
        }
        if version == 1, reader.nextTag(in: bytes) == DERReader.Tag.primitiveContext(1) {
            points.append(try Self.bitString(&reader, DERReader.Tag.primitiveContext(1), in: bytes))
        }
        try reader.finish("PKCS#8 key")
    }

    /// Reads an ECPrivateKey ([RFC 5915 §3](https://www.rfc-editor.org/rfc/rfc5915#section-3)).
    init(sec1 bytes: RawSpan) throws(CryptoError) {
        try self.init(sec1: bytes, in: bytes.byteOffsets, curve: nil)
    }

    private init(sec1 bytes: RawSpan, in range: Range<Int>, curve outerCurve: EllipticCurve?) throws(CryptoError) {
        var reader = try Self.sequence("EC private key", in: bytes, range)
        let version = try reader.smallInteger("EC private key version", in: bytes)
        guard version == 1 else {
            throw CryptoError(.malformedKey, "EC private key version \(version) is not known: 1 is")
        }
        let scalar = try reader.contents(DERReader.Tag.octetString, "private scalar", in: bytes)
        curve = try Self.curve(namedIn: &reader, of: bytes, expecting: outerCurve)
        self.scalar = try Self.padded(scalar, of: bytes, to: curve)
        if reader.nextTag(in: bytes) == DERReader.Tag.context(1) {
            let publicKey = try reader.contents(DERReader.Tag.context(1), "public point", in: bytes)
            var inner = DERReader(publicKey, code: .malformedKey)
            points.append(try Self.bitString(&inner, DERReader.Tag.bitString, in: bytes))
            try inner.finish("public point")
        }
        try reader.finish("EC private key")
    }

    private static func sequence(
        _ name: StaticString,
        in bytes: RawSpan,
        _ range: Range<Int>? = nil
    ) throws(CryptoError) -> DERReader {
        var outer = DERReader(range ?? bytes.byteOffsets, code: .malformedKey)
        let contents = try outer.contents(DERReader.Tag.sequence, name, in: bytes)
        try outer.finish(name)
        return DERReader(contents, code: .malformedKey)
    }

    /// Reads the algorithm of a key, which must be EC on a named curve.
    private static func algorithmCurve(
        _ reader: inout DERReader,
        in bytes: RawSpan
    ) throws(CryptoError) -> EllipticCurve {
        var algorithm = DERReader(
            try reader.contents(DERReader.Tag.sequence, "key's algorithm", in: bytes),
            code: .malformedKey
        )
        let identifier = try self.identifier(&algorithm, "algorithm's identifier", in: bytes)
        guard identifier == .ellipticCurveKey else {
            throw CryptoError(.wrongKeyType, "An EC key is needed, and the algorithm of this one is \(identifier)")
        }
        let curve = try namedCurve(&algorithm, in: bytes)
        try algorithm.finish("algorithm's curve")
        return curve
    }

    /// Reads the curve that an ECPrivateKey may name; it must be the one named around it, and one of them must exist.
    private static func curve(
        namedIn reader: inout DERReader,
        of bytes: RawSpan,
        expecting outerCurve: EllipticCurve?
    ) throws(CryptoError) -> EllipticCurve {
        guard reader.nextTag(in: bytes) == DERReader.Tag.context(0) else {
            guard let outerCurve else {
                throw CryptoError(.unsupportedCurve, "The EC private key does not name its curve")
            }
            return outerCurve
        }
        let parameters = try reader.contents(DERReader.Tag.context(0), "curve", in: bytes)
        var inner = DERReader(parameters, code: .malformedKey)
        let curve = try namedCurve(&inner, in: bytes)
        try inner.finish("curve")
        guard outerCurve == nil || outerCurve == curve else {
            throw CryptoError(.malformedKey, "The key names two curves, \(outerCurve?.name ?? "") and \(curve.name)")
        }
        return curve
    }

    private static func namedCurve(_ reader: inout DERReader, in bytes: RawSpan) throws(CryptoError) -> EllipticCurve {
        switch reader.nextTag(in: bytes) {
        case DERReader.Tag.sequence:
            throw CryptoError(
                .unsupportedCurve,
                "The key has explicit curve parameters: write it again with a named curve, "
                    + "for example with “openssl ec -param_enc named_curve”"
            )
        case DERReader.Tag.null:
            throw CryptoError(
                .unsupportedCurve,
                "The key leaves its curve to its surroundings: a named curve is needed"
            )
        default: break
        }
        let identifier = try identifier(&reader, "curve's identifier", in: bytes)
        guard let curve = EllipticCurve(identifier: identifier) else {
            throw CryptoError(
                .unsupportedCurve,
                "The curve \(identifier) is not supported: P-256, P-384, P-521 and secp256k1 are"
            )
        }
        return curve
    }

    private static func identifier(
        _ reader: inout DERReader,
        _ name: StaticString,
        in bytes: RawSpan
    ) throws(CryptoError) -> ObjectIdentifier {
        let contents = try reader.contents(DERReader.Tag.objectIdentifier, name, in: bytes)
        return ObjectIdentifier(octets: contents.map { bytes[$0] })
    }

    /// Reads a BIT STRING of whole octets.
    private static func bitString(
        _ reader: inout DERReader,
        _ tag: UInt8,
        in bytes: RawSpan
    ) throws(CryptoError) -> [UInt8] {
        let contents = try reader.contents(tag, "public point BIT STRING", in: bytes)
        guard let unusedBits = contents.first, bytes[unusedBits] == 0 else {
            throw CryptoError(.malformedKey, "The public point BIT STRING does not hold whole octets")
        }
        return contents.dropFirst().map { bytes[$0] }
    }

    /// Copies a scalar; some writers leave out its leading zeros.
    private static func padded(
        _ scalar: Range<Int>,
        of bytes: RawSpan,
        to curve: EllipticCurve
    ) throws(CryptoError) -> SecretBytes {
        let size = curve.coordinateSize
        guard scalar.count <= size else {
            throw CryptoError(
                .invalidScalar,
                "The private scalar has \(scalar.count) octets: \(curve.name) has \(size)"
            )
        }
        return SecretBytes(capacity: size) { output in
            output.append(repeating: 0, count: size - scalar.count)
            output.append(bytes.extracting(scalar))
        }
    }
}
