/// The ASN.1 encodings of Ed25519, Ed448, X25519 and X448 keys
/// ([RFC 8410](https://www.rfc-editor.org/rfc/rfc8410)).
enum RawKeyCoding {
    /// Returns the private key bytes of a PrivateKeyInfo
    /// ([RFC 8410 §7](https://www.rfc-editor.org/rfc/rfc8410#section-7)).
    static func seed(_ key: PrivateKeyInfo, in bytes: RawSpan) throws(CryptoError) -> SecretBytes {
        try key.parameters.finish("key's algorithm")
        var reader = DERReader(key.key, code: .malformedKey)
        let seed = try reader.contents(Tag.octetString, "private key bytes", in: bytes)
        try reader.finish("private key bytes")
        return SecretBytes(copying: bytes.extracting(seed))
    }

    /// Returns the public key bytes of a SubjectPublicKeyInfo
    /// ([RFC 8410 §4](https://www.rfc-editor.org/rfc/rfc8410#section-4)).
    static func octets(_ key: SubjectPublicKeyInfo, in bytes: RawSpan) throws(CryptoError) -> [UInt8] {
        try key.parameters.finish("key's algorithm")
        return key.key.map { bytes[$0] }
    }

    /// Encodes a PrivateKeyInfo with the private key bytes in an element.
    static func encoding(
        _ seed: SecretBytes,
        tag: UInt8 = Tag.octetString,
        on curve: some RawKeyCurve
    ) -> SecretBytes {
        let octets = SecretBytes(capacity: DERWriter.size(ofElementWith: seed.count)) { output in
            DERWriter.appendHeader(tag, size: seed.count, to: &output)
            seed.withBytes { output.append($0) }
        }
        return PrivateKeyInfo.encoding(algorithm: curve.identifier.element, key: octets)
    }

    private typealias Tag = DERReader.Tag
}
