/// A writer for elliptic-curve keys in the three ASN.1 formats.
///
/// Apart from the numbers, the contents are constant per curve, so encoding can't fail.
struct ECKeyWriter {
    let curve: EllipticCurve
    let point: CurvePoint

    /// Returns the SubjectPublicKeyInfo
    /// ([RFC 5480 §2](https://www.rfc-editor.org/rfc/rfc5480#section-2)).
    func publicKey() -> [UInt8] {
        let contents = DERWriter.size(ofElementWith: algorithmSize) + DERWriter.size(ofElementWith: bitStringSize)
        return [UInt8](capacity: DERWriter.size(ofElementWith: contents)) { output in
            DERWriter.appendHeader(Tag.sequence, size: contents, to: &output)
            appendAlgorithm(to: &output)
            appendPoint(to: &output)
        }
    }

    /// Returns the ECPrivateKey ([RFC 5915 §3](https://www.rfc-editor.org/rfc/rfc5915#section-3)),
    /// including the curve's name.
    func sec1(_ scalar: SecretBytes) -> SecretBytes {
        SecretBytes(capacity: DERWriter.size(ofElementWith: sec1Size(namesCurve: true))) { output in
            appendSEC1(scalar, namesCurve: true, to: &output)
        }
    }

    /// Returns the PrivateKeyInfo
    /// ([RFC 5208 §5](https://www.rfc-editor.org/rfc/rfc5208#section-5)).
    ///
    /// As in OpenSSL's encoding, only the outer structure names the curve.
    func pkcs8(_ scalar: SecretBytes) -> SecretBytes {
        let keySize = DERWriter.size(ofElementWith: sec1Size(namesCurve: false))
        let contents =
            versionSize + DERWriter.size(ofElementWith: algorithmSize) + DERWriter.size(ofElementWith: keySize)
        return SecretBytes(capacity: DERWriter.size(ofElementWith: contents)) { output in
            DERWriter.appendHeader(Tag.sequence, size: contents, to: &output)
            DERWriter.append(Tag.integer, [0], to: &output)
            appendAlgorithm(to: &output)
            DERWriter.appendHeader(Tag.octetString, size: keySize, to: &output)
            appendSEC1(scalar, namesCurve: false, to: &output)
        }
    }

    private typealias Tag = DERReader.Tag

    private let versionSize = 3
    private var identifier: [UInt8] { curve.identifier.octets }
    private var bitStringSize: Int { 1 + point.uncompressed.count }

    private var algorithmSize: Int {
        DERWriter.size(ofElementWith: ObjectIdentifier.ellipticCurveKey.octets.count)
            + DERWriter.size(ofElementWith: identifier.count)
    }

    private func sec1Size(namesCurve: Bool) -> Int {
        let name = DERWriter.size(ofElementWith: DERWriter.size(ofElementWith: identifier.count))
        return versionSize + DERWriter.size(ofElementWith: curve.coordinateSize) + (namesCurve ? name : 0)
            + DERWriter.size(ofElementWith: DERWriter.size(ofElementWith: bitStringSize))
    }

    private func appendAlgorithm(to output: inout OutputSpan<UInt8>) {
        DERWriter.appendHeader(Tag.sequence, size: algorithmSize, to: &output)
        DERWriter.append(Tag.objectIdentifier, ObjectIdentifier.ellipticCurveKey.octets, to: &output)
        DERWriter.append(Tag.objectIdentifier, identifier, to: &output)
    }

    private func appendPoint(to output: inout OutputSpan<UInt8>) {
        DERWriter.append(Tag.bitString, [0] + point.uncompressed, to: &output)
    }

    private func appendSEC1(_ scalar: SecretBytes, namesCurve: Bool, to output: inout OutputSpan<UInt8>) {
        DERWriter.appendHeader(Tag.sequence, size: sec1Size(namesCurve: namesCurve), to: &output)
        DERWriter.append(Tag.integer, [1], to: &output)
        DERWriter.appendHeader(Tag.octetString, size: curve.coordinateSize, to: &output)
        scalar.withBytes { output.append($0) }
        if namesCurve {
            DERWriter.appendHeader(
                Tag.context(0),
                size: DERWriter.size(ofElementWith: identifier.count),
                to: &output
            )
            DERWriter.append(Tag.objectIdentifier, identifier, to: &output)
        }
        DERWriter.appendHeader(Tag.context(1), size: DERWriter.size(ofElementWith: bitStringSize), to: &output)
        appendPoint(to: &output)
    }
}
