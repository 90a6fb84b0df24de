/// The positions of a SubjectPublicKeyInfo's parts
/// ([RFC 5280 §4.1](https://www.rfc-editor.org/rfc/rfc5280#section-4.1)).
struct SubjectPublicKeyInfo {
    let algorithm: ObjectIdentifier
    /// A reader for the elements after the algorithm's identifier.
    let parameters: DERReader
    /// The range of the public key.
    let key: Range<Int>

    init(_ bytes: RawSpan) throws(CryptoError) {
        var reader = try DERReader.sequence("public key", in: bytes)
        (algorithm, parameters) = try Self.algorithm(&reader, in: bytes)
        key = try reader.bitString("public key BIT STRING", in: bytes)
        try reader.finish("public key")
    }

    /// Reads an AlgorithmIdentifier.
    static func algorithm(
        _ reader: inout DERReader,
        in bytes: RawSpan
    ) throws(CryptoError) -> (ObjectIdentifier, DERReader) {
        let contents = try reader.contents(DERReader.Tag.sequence, "key's algorithm", in: bytes)
        var parameters = DERReader(contents, code: .malformedKey)
        let identifier = try parameters.identifier("algorithm's identifier", in: bytes)
        return (identifier, parameters)
    }

    /// Returns a SubjectPublicKeyInfo; `algorithm` is the contents of the algorithm's SEQUENCE.
    static func encoding(algorithm: [UInt8], key: [UInt8]) -> [UInt8] {
        let contents =
            DERWriter.size(ofElementWith: algorithm.count) + DERWriter.size(ofElementWith: 1 + key.count)
        return [UInt8](capacity: DERWriter.size(ofElementWith: contents)) { output in
            DERWriter.appendHeader(DERReader.Tag.sequence, size: contents, to: &output)
            DERWriter.append(DERReader.Tag.sequence, algorithm, to: &output)
            DERWriter.append(DERReader.Tag.bitString, [0] + key, to: &output)
        }
    }
}

extension SubjectPublicKeyInfo {
    /// Checks that OpenSSL can decode the key of a certificate at little cost.
    ///
    /// OpenSSL decodes a certificate's key together with the certificate. For explicit curve
    /// parameters, that takes a square root modulo a number of the sender's choice. The check
    /// accepts the kinds of keys that ``PublicKey`` supports and RSA-PSS keys, but no others, and
    /// only limits the sizes of RSA numbers: a certificate with a short key can be read.
    ///
    /// It throws `wrongKeyType`, `unsupportedCurve`, `keyTooLarge` or `malformedKey`.
    func checkCostOfDecoding(in bytes: RawSpan) throws(CryptoError) {
        if algorithm == .rsaKey || algorithm == .rsaPSSKey {
            var numbers = try DERReader.sequence("RSA public key", in: bytes, key)
            try RSAPublicNumbers.checkSizes(
                modulus: numbers.magnitude("RSA modulus", in: bytes).count,
                exponent: numbers.magnitude("RSA public exponent", in: bytes).count
            )
        } else if algorithm == .ellipticCurveKey {
            let curve = try ECKeyReader.namedCurve(parameters, "algorithm's curve", in: bytes)
            try CurvePoint.checkForm(of: bytes.extracting(key), on: curve)
        } else if EdwardsCurve(identifier: algorithm) == nil, MontgomeryCurve(identifier: algorithm) == nil,
            MLDSAParameters(identifier: algorithm) == nil
        {
            throw PublicKey.unsupported(algorithm)
        }
    }
}
