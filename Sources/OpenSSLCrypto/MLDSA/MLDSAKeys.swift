internal import COpenSSL

/// An ML-DSA key pair, validated on creation.
package struct MLDSAPrivateKey: Sendable {
    /// The parameter set.
    package let parameters: MLDSAParameters
    /// The public key.
    package let publicKey: MLDSAPublicKey

    /// The seed, or `nil` for a key that was read in its expanded form only.
    private let knownSeed: SecretBytes?
    private let signing: EVPMessageOperation

    /// Generates a key pair, or throws `unsupportedAlgorithm` if OpenSSL is older than 3.5.
    package static func generate(_ parameters: MLDSAParameters) throws(CryptoError) -> MLDSAPrivateKey {
        try parameters.checkAvailability()
        return try MLDSAPrivateKey(
            parameters: parameters,
            seed: SecureRandom.secret(count: MLDSAParameters.seedSize)
        )
    }

    /// Creates a key pair from its seed of 32 bytes, which a JWK contains.
    ///
    /// It throws `malformedKey` for another size, `keyMismatch` if the seed doesn't match the
    /// expected public key bytes, if any, and `unsupportedAlgorithm` if OpenSSL is older than 3.5.
    package init(
        parameters: MLDSAParameters,
        seed: SecretBytes,
        expecting expected: [UInt8]? = nil
    ) throws(CryptoError) {
        guard seed.count == MLDSAParameters.seedSize else {
            throw CryptoError(.malformedKey, "The seed has \(seed.count) bytes, but \(parameters.name) seeds have 32")
        }
        try parameters.checkAvailability()
        try self.init(parameters, key: EVPKey.make(parameters, generatingFrom: seed), seed, expected)
    }

    /// Creates a key pair from its expanded form
    /// ([RFC 9881 §6](https://www.rfc-editor.org/rfc/rfc9881#section-6)).
    init(
        parameters: MLDSAParameters,
        expanded: SecretBytes,
        expecting expected: [UInt8]? = nil
    ) throws(CryptoError) {
        guard expanded.count == parameters.expandedKeySize else {
            throw CryptoError(
                .malformedKey,
                "The expanded key has \(expanded.count) bytes, but those of \(parameters.name) have "
                    + "\(parameters.expandedKeySize)"
            )
        }
        try parameters.checkAvailability()
        try self.init(parameters, key: EVPKey.make(parameters, seed: expanded), nil, expected)
    }

    private init(
        _ parameters: MLDSAParameters,
        key: EVPKey,
        _ seed: SecretBytes?,
        _ expected: [UInt8]?
    ) throws(CryptoError) {
        self.parameters = parameters
        knownSeed = seed
        publicKey = try MLDSAPublicKey(parameters: parameters, octets: key.publicOctets(on: parameters))
        signing = try EVPMessageOperation(.signing, with: key)
        guard expected == nil || expected == publicKey.octets else { throw parameters.mismatch }
    }

    /// A Boolean value that indicates whether the seed is known.
    var hasSeed: Bool { knownSeed != nil }

    /// Returns the seed, 32 bytes.
    ///
    /// It throws `wrongKeyType` if the key was read in its expanded form only, from which the seed
    /// can't be computed.
    package func seed() throws(CryptoError) -> SecretBytes {
        guard let knownSeed else {
            throw CryptoError(
                .wrongKeyType,
                "The \(parameters.name) key has no seed, because its file contains only the expanded key; a JWK needs it"
            )
        }
        return knownSeed
    }

    /// Returns the expanded private key.
    func expanded() throws(CryptoError) -> SecretBytes {
        try signing.key.privateOctets(size: parameters.expandedKeySize)
    }

    /// Returns a signature of a message, with an empty context; each call returns another one,
    /// because signing is hedged.
    package func signature(for message: RawSpan) throws(CryptoError) -> [UInt8] {
        try signing.sign(message)
    }
}

/// The public key of an ML-DSA key pair, validated on creation.
package struct MLDSAPublicKey: Sendable, Equatable {
    /// The parameter set.
    package let parameters: MLDSAParameters
    /// The encoded key, with the parameter set's size.
    package let octets: [UInt8]

    private let verification: EVPMessageOperation

    /// Creates a key from its bytes, which a JWK contains.
    ///
    /// It throws `malformedKey` for another size, and `unsupportedAlgorithm` if OpenSSL is older
    /// than 3.5.
    package init(parameters: MLDSAParameters, octets: [UInt8]) throws(CryptoError) {
        try parameters.check(publicKey: octets)
        try parameters.checkAvailability()
        self.parameters = parameters
        self.octets = octets
        verification = try EVPMessageOperation(.verification, with: EVPKey.make(parameters, point: octets))
    }

    /// Returns whether a signature with an empty context is valid for a message; `false` also for a
    /// signature of another size than the parameter set's, or if OpenSSL fails.
    package func isValidSignature(_ signature: RawSpan, for message: RawSpan) -> Bool {
        signature.byteCount == parameters.signatureSize && verification.verify(signature, of: message)
    }

    /// Compares the parameter sets and bytes of two keys.
    package static func == (left: Self, right: Self) -> Bool {
        left.parameters == right.parameters && left.octets == right.octets
    }
}

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

/// A parameter set of ML-DSA ([FIPS 204 §4](https://doi.org/10.6028/NIST.FIPS.204)).
package struct MLDSAParameters: RawKeyCurve {
    /// The name in a JWK's `alg` member ([RFC 9964](https://www.rfc-editor.org/rfc/rfc9964)), which
    /// is also OpenSSL's name.
    package let name: String
    /// The size of a public key in bytes.
    package let keySize: Int
    /// The size of a signature in bytes.
    package let signatureSize: Int
    /// The size of an expanded private key in bytes.
    let expandedKeySize: Int
    /// The object identifier in keys.
    package let identifier: ObjectIdentifier

    /// The size of a seed in bytes.
    package static let seedSize = 32

    /// The parameter set of category 2.
    package static let mldsa44 = MLDSAParameters("ML-DSA-44", 1312, 2420, 2560, 17)
    /// The parameter set of category 3.
    package static let mldsa65 = MLDSAParameters("ML-DSA-65", 1952, 3309, 4032, 18)
    /// The parameter set of category 5.
    package static let mldsa87 = MLDSAParameters("ML-DSA-87", 2592, 4627, 4896, 19)

    /// All three parameter sets.
    package static let all: [MLDSAParameters] = [.mldsa44, .mldsa65, .mldsa87]

    private init(_ name: String, _ keySize: Int, _ signatureSize: Int, _ expandedKeySize: Int, _ arc: Int) {
        self.name = name
        self.keySize = keySize
        self.signatureSize = signatureSize
        self.expandedKeySize = expandedKeySize
        identifier = ObjectIdentifier(2, 16, 840, 1, 101, 3, 4, 3, arc)
    }

    /// A Boolean value that indicates whether the OpenSSL of this process offers the algorithm.
    ///
    /// OpenSSL 3.5 and later do, unless they were built or configured without it.
    package var isAvailable: Bool { Self.available.contains(name) }

    private static let available: Set<String> = {
        OpenSSLLibrary.prepare()
        let names = all.map(\.name).filter { name in
            let signature = unsafe EVP_SIGNATURE_fetch(nil, name, nil)
            defer { unsafe EVP_SIGNATURE_free(signature) }
            return unsafe signature != nil
        }
        OpenSSLLibrary.clearErrors()
        return Set(names)
    }()

    /// Throws `unsupportedAlgorithm` unless ``isAvailable`` is `true`.
    func checkAvailability() throws(CryptoError) {
        guard isAvailable else {
            throw CryptoError(
                .unsupportedAlgorithm,
                "\(name) requires OpenSSL 3.5 or later with ML-DSA; this process uses \(OpenSSLLibrary.version)"
            )
        }
    }
}
