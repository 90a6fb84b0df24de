/// The ASN.1 encodings of Edwards-curve keys ([RFC 8410](https://www.rfc-editor.org/rfc/rfc8410)).
enum EdwardsKeyCoding {
    /// Returns the contents of the algorithm's SEQUENCE: the identifier alone.
    static func algorithm(of curve: EdwardsCurve) -> [UInt8] {
        [Tag.objectIdentifier, UInt8(curve.identifier.octets.count)] + curve.identifier.octets
    }

    /// Reads the key of a PrivateKeyInfo
    /// ([RFC 8410 §7](https://www.rfc-editor.org/rfc/rfc8410#section-7)).
    static func privateKey(
        _ curve: EdwardsCurve,
        _ key: PrivateKeyInfo,
        in bytes: RawSpan
    ) throws(CryptoError) -> EdwardsPrivateKey {
        try key.parameters.finish("Edwards-curve key's algorithm")
        var reader = DERReader(key.key, code: .malformedKey)
        let seed = try reader.contents(Tag.octetString, "private key bytes", in: bytes)
        try reader.finish("private key bytes")
        return try EdwardsPrivateKey(
            curve: curve,
            seed: SecretBytes(copying: bytes.extracting(seed)),
            expecting: key.publicKey?.map { bytes[$0] }
        )
    }

    /// Reads the key of a SubjectPublicKeyInfo
    /// ([RFC 8410 §4](https://www.rfc-editor.org/rfc/rfc8410#section-4)).
    static func publicKey(
        _ curve: EdwardsCurve,
        _ key: SubjectPublicKeyInfo,
        in bytes: RawSpan
    ) throws(CryptoError) -> EdwardsPublicKey {
        try key.parameters.finish("Edwards-curve key's algorithm")
        return try EdwardsPublicKey(curve: curve, octets: key.key.map { bytes[$0] })
    }

    /// Encodes a PrivateKeyInfo.
    static func encoding(_ key: EdwardsPrivateKey) throws(CryptoError) -> SecretBytes {
        let seed = try key.seed()
        let octets = SecretBytes(capacity: DERWriter.size(ofElementWith: seed.count)) { output in
            DERWriter.appendHeader(Tag.octetString, size: seed.count, to: &output)
            seed.withBytes { output.append($0) }
        }
        return PrivateKeyInfo.encoding(algorithm: algorithm(of: key.curve), key: octets)
    }

    private typealias Tag = DERReader.Tag
}
