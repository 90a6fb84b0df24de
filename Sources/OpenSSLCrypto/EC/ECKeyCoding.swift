/// The ASN.1 encodings of elliptic-curve keys.
enum ECKeyCoding {
    /// Returns the contents of the algorithm's SEQUENCE
    /// ([RFC 5480 §2](https://www.rfc-editor.org/rfc/rfc5480#section-2)).
    static func algorithm(of curve: EllipticCurve) -> [UInt8] {
        [ObjectIdentifier.ellipticCurveKey, curve.identifier].flatMap(\.element)
    }

    /// Returns the ECPrivateKey ([RFC 5915 §3](https://www.rfc-editor.org/rfc/rfc5915#section-3)).
    ///
    /// As in OpenSSL's encodings, a key inside a PrivateKeyInfo doesn't name its curve again.
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
