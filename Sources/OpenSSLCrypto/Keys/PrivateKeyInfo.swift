/// The positions of a PKCS#8 key's parts: a PrivateKeyInfo
/// ([RFC 5208 §5](https://www.rfc-editor.org/rfc/rfc5208#section-5)) or OneAsymmetricKey
/// ([RFC 5958 §2](https://www.rfc-editor.org/rfc/rfc5958#section-2)).
struct PrivateKeyInfo {
    let algorithm: ObjectIdentifier
    /// A reader for the elements after the algorithm's identifier.
    let parameters: DERReader
    /// The range of the private key.
    let key: Range<Int>
    /// The range of the public key, which only version 2 of the format (number 1) may contain.
    let publicKey: Range<Int>?

    init(_ bytes: RawSpan) throws(CryptoError) {
        var reader = try DERReader.sequence("PKCS#8 key", in: bytes)
        let version = try reader.smallInteger("PKCS#8 version", in: bytes)
        guard version <= 1 else {
            throw CryptoError(.malformedKey, "PKCS#8 version \(version) isn't supported, only 0 and 1")
        }
        (algorithm, parameters) = try SubjectPublicKeyInfo.algorithm(&reader, in: bytes)
        key = try reader.contents(DERReader.Tag.octetString, "private key OCTET STRING", in: bytes)
        if reader.nextTag(in: bytes) == DERReader.Tag.context(0) {
            _ = try reader.contents(DERReader.Tag.context(0), "PKCS#8 attributes", in: bytes)
        }
        publicKey =
            if version == 1, reader.nextTag(in: bytes) == DERReader.Tag.primitiveContext(1) {
                try reader.bitString("public key BIT STRING", tag: DERReader.Tag.primitiveContext(1), in: bytes)
            } else {
                nil
            }
        try reader.finish("PKCS#8 key")
    }

    /// Returns a PrivateKeyInfo; `algorithm` is the contents of the algorithm's SEQUENCE.
    static func encoding(algorithm: [UInt8], key: SecretBytes) -> SecretBytes {
        let contents =
            3 + DERWriter.size(ofElementWith: algorithm.count) + DERWriter.size(ofElementWith: key.count)
        return SecretBytes(capacity: DERWriter.size(ofElementWith: contents)) { output in
            DERWriter.appendHeader(DERReader.Tag.sequence, size: contents, to: &output)
            DERWriter.append(DERReader.Tag.integer, [0], to: &output)
            DERWriter.append(DERReader.Tag.sequence, algorithm, to: &output)
            DERWriter.appendHeader(DERReader.Tag.octetString, size: key.count, to: &output)
            key.withBytes { output.append($0) }
        }
    }
}
