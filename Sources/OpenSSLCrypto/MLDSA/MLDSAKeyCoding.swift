/// The ASN.1 encodings of ML-DSA private keys
/// ([RFC 9881 §6](https://www.rfc-editor.org/rfc/rfc9881#section-6)).
enum MLDSAKeyCoding {
    private typealias Tag = DERReader.Tag

    /// Reads the seed, the expanded key, or both, which must belong together.
    static func privateKey(
        _ parameters: MLDSAParameters,
        _ key: PrivateKeyInfo,
        in bytes: RawSpan
    ) throws(CryptoError) -> MLDSAPrivateKey {
        try key.parameters.finish("key's algorithm")
        let expected = key.publicKey?.map { bytes[$0] }
        var reader = DERReader(key.key, code: .malformedKey)
        switch reader.nextTag(in: bytes) {
        case Tag.primitiveContext(0):
            let seed = try reader.contents(Tag.primitiveContext(0), "seed", in: bytes)
            try reader.finish("seed")
            let octets = SecretBytes(copying: bytes.extracting(seed))
            return try MLDSAPrivateKey(parameters: parameters, seed: octets, expecting: expected)
        case Tag.octetString:
            let expanded = try reader.contents(Tag.octetString, "expanded key", in: bytes)
            try reader.finish("expanded key")
            let octets = SecretBytes(copying: bytes.extracting(expanded))
            return try MLDSAPrivateKey(parameters: parameters, expanded: octets, expecting: expected)
        default:
            let both = try reader.contents(Tag.sequence, "private key's SEQUENCE", in: bytes)
            try reader.finish("private key's SEQUENCE")
            var parts = DERReader(both, code: .malformedKey)
            let seed = try parts.contents(Tag.octetString, "seed", in: bytes)
            let expanded = try parts.contents(Tag.octetString, "expanded key", in: bytes)
            try parts.finish("expanded key")
            let octets = SecretBytes(copying: bytes.extracting(seed))
            let pair = try MLDSAPrivateKey(parameters: parameters, seed: octets, expecting: expected)
            guard try pair.expanded() == SecretBytes(copying: bytes.extracting(expanded)) else {
                throw parameters.mismatch
            }
            return pair
        }
    }

    /// Encodes a PrivateKeyInfo with the seed, or with the expanded key if the seed isn't known.
    static func encoding(_ key: MLDSAPrivateKey) throws(CryptoError) -> SecretBytes {
        let contents = try key.hasSeed ? key.seed() : key.expanded()
        let tag = key.hasSeed ? Tag.primitiveContext(0) : Tag.octetString
        return RawKeyCoding.encoding(contents, tag: tag, on: key.parameters)
    }
}
