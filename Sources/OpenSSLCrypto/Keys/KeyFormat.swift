/// The ASN.1 formats of keys, detected by their first tags.
enum KeyFormat: CustomStringConvertible {
    case pkcs8, encryptedPKCS8, sec1, pkcs1, publicKey, pkcs1PublicKey, certificate

    init(detectedIn bytes: RawSpan) throws(CryptoError) {
        guard bytes.byteCount <= PEMBlock.maximumSize else {
            throw CryptoError(
                .malformedKey,
                "The key has \(bytes.byteCount) bytes, but the limit is \(PEMBlock.maximumSize)"
            )
        }
        var whole = DERReader(bytes.byteOffsets, code: .malformedKey)
        let sequence = try whole.contents(DERReader.Tag.sequence, "key's SEQUENCE", in: bytes)
        var reader = DERReader(sequence, code: .malformedKey)
        var tags: [UInt8] = []
        while tags.count < 3, let tag = reader.nextTag(in: bytes) {
            tags.append(tag)
            _ = try reader.contents(tag, "key's element", in: bytes)
        }
        let second = tags.count > 1 ? tags[1] : nil
        switch (tags.first, second) {
        case (DERReader.Tag.integer, DERReader.Tag.sequence): self = .pkcs8
        case (DERReader.Tag.integer, DERReader.Tag.octetString): self = .sec1
        case (DERReader.Tag.integer, DERReader.Tag.integer): self = tags.count == 2 ? .pkcs1PublicKey : .pkcs1
        case (DERReader.Tag.sequence, DERReader.Tag.octetString): self = .encryptedPKCS8
        case (DERReader.Tag.sequence, DERReader.Tag.bitString): self = .publicKey
        case (DERReader.Tag.sequence, DERReader.Tag.sequence): self = .certificate
        default:
            throw CryptoError(
                .malformedKey,
                "The data isn't a PKCS#8, PKCS#1, SEC 1 or SubjectPublicKeyInfo key, or a certificate"
            )
        }
    }

    var description: String {
        switch self {
        case .pkcs8: "a PKCS#8 private key"
        case .encryptedPKCS8: "an encrypted private key"
        case .sec1: "a SEC 1 private key"
        case .pkcs1: "an RSA private key"
        case .publicKey: "a public key"
        case .pkcs1PublicKey: "an RSA public key"
        case .certificate: "a certificate"
        }
    }
}
