/// The ASN.1 formats of a key, told apart by the first tags.
enum ECKeyFormat: CustomStringConvertible {
    case pkcs8, sec1, encryptedPKCS8, publicKey, rsaPrivateKey

    init(detectedIn bytes: RawSpan) throws(CryptoError) {
        guard bytes.byteCount <= PEMBlock.maximumSize else {
            throw CryptoError(
                .malformedKey,
                "The key has \(bytes.byteCount) octets: more than \(PEMBlock.maximumSize) are not read"
            )
        }
        var whole = DERReader(bytes.byteOffsets, code: .malformedKey)
        let sequence = try whole.contents(DERReader.Tag.sequence, "key's SEQUENCE", in: bytes)
        var reader = DERReader(sequence, code: .malformedKey)
        let first = reader.nextTag(in: bytes)
        if let first {
            _ = try reader.contents(first, "key's first element", in: bytes)
        }
        switch (first, reader.nextTag(in: bytes)) {
        case (DERReader.Tag.integer, DERReader.Tag.sequence): self = .pkcs8
        case (DERReader.Tag.integer, DERReader.Tag.octetString): self = .sec1
        case (DERReader.Tag.integer, DERReader.Tag.integer): self = .rsaPrivateKey
        case (DERReader.Tag.sequence, DERReader.Tag.octetString): self = .encryptedPKCS8
        case (DERReader.Tag.sequence, DERReader.Tag.bitString): self = .publicKey
        default: throw CryptoError(.malformedKey, "The octets are no PKCS#8, SEC 1 or SubjectPublicKeyInfo key")
        }
    }

    var description: String {
        switch self {
        case .pkcs8: "a PKCS#8 private key"
        case .sec1: "a SEC 1 private key"
        case .encryptedPKCS8: "an encrypted private key"
        case .publicKey: "a public key"
        case .rsaPrivateKey: "an RSA private key"
        }
    }
}
