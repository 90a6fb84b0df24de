internal import COpenSSL

/// An ML-DSA key pair, validated on creation.
package struct MLDSAPrivateKey: Sendable {
    package let parameters: MLDSAParameters
    package let publicKey: MLDSAPublicKey

    /// `nil` for a key that was read in its expanded form only.
    private let knownSeed: SecretBytes?
    private let signing: EVPMessageOperation

    /// Throws `unsupportedAlgorithm` if OpenSSL is older than 3.5.
    package static func generate(_ parameters: MLDSAParameters) throws(CryptoError) -> MLDSAPrivateKey {
        try parameters.checkAvailability()
        return try MLDSAPrivateKey(
            parameters: parameters,
            seed: SecureRandom.secret(count: MLDSAParameters.seedSize)
        )
    }

    /// Throws `malformedKey` for another size than 32 bytes, `keyMismatch` if the seed doesn't
    /// match the expected public key, and `unsupportedAlgorithm` if OpenSSL is older than 3.5.
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

    /// The expanded form of [RFC 9881 §6](https://www.rfc-editor.org/rfc/rfc9881#section-6).
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

    var hasSeed: Bool { knownSeed != nil }

    /// Throws `wrongKeyType` if the key was read in its expanded form only, which has no seed.
    package func seed() throws(CryptoError) -> SecretBytes {
        guard let knownSeed else {
            throw CryptoError(
                .wrongKeyType,
                "The \(parameters.name) key has no seed, because its file contains only the expanded key; a JWK needs it"
            )
        }
        return knownSeed
    }

    func expanded() throws(CryptoError) -> SecretBytes {
        try signing.key.privateOctets(size: parameters.expandedKeySize)
    }

    /// The context is empty, and each call returns another signature, because signing is hedged.
    package func signature(for message: RawSpan) throws(CryptoError) -> [UInt8] {
        try signing.sign(message)
    }
}

/// The public key of an ML-DSA key pair, validated on creation.
package struct MLDSAPublicKey: Sendable, Equatable {
    package let parameters: MLDSAParameters
    package let octets: [UInt8]

    private let verification: EVPMessageOperation

    /// Throws `malformedKey` for another size, and `unsupportedAlgorithm` before OpenSSL 3.5.
    package init(parameters: MLDSAParameters, octets: [UInt8]) throws(CryptoError) {
        try parameters.check(publicKey: octets)
        try parameters.checkAvailability()
        self.parameters = parameters
        self.octets = octets
        verification = try EVPMessageOperation(.verification, with: EVPKey.make(parameters, point: octets))
    }

    /// Returns `false` also for a signature of another size, or if OpenSSL fails.
    package func isValidSignature(_ signature: RawSpan, for message: RawSpan) -> Bool {
        signature.byteCount == parameters.signatureSize && verification.verify(signature, of: message)
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.parameters == right.parameters && left.octets == right.octets
    }
}

/// The ASN.1 encodings of ML-DSA private keys
/// ([RFC 9881 §6](https://www.rfc-editor.org/rfc/rfc9881#section-6)).
enum MLDSAKeyCoding {
    private typealias Tag = DERReader.Tag

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
            var parts = try reader.reader(Tag.sequence, "private key's SEQUENCE", in: bytes)
            try reader.finish("private key's SEQUENCE")
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
    package let keySize: Int
    package let signatureSize: Int
    let expandedKeySize: Int
    package let identifier: ObjectIdentifier

    package static let seedSize = 32

    package static let mldsa44 = MLDSAParameters("ML-DSA-44", 1312, 2420, 2560, 17)
    package static let mldsa65 = MLDSAParameters("ML-DSA-65", 1952, 3309, 4032, 18)
    package static let mldsa87 = MLDSAParameters("ML-DSA-87", 2592, 4627, 4896, 19)

    package static let all: [MLDSAParameters] = [.mldsa44, .mldsa65, .mldsa87]

    private init(_ name: String, _ keySize: Int, _ signatureSize: Int, _ expandedKeySize: Int, _ arc: Int) {
        self.name = name
        self.keySize = keySize
        self.signatureSize = signatureSize
        self.expandedKeySize = expandedKeySize
        identifier = ObjectIdentifier(2, 16, 840, 1, 101, 3, 4, 3, arc)
    }

    /// OpenSSL 3.5 and later offer the algorithm, unless they were built or configured without it.
    package var isAvailable: Bool { Self.available.contains(name) }

    private static let available: Set<String> = {
        // Each search for an algorithm that no provider has asks all of them.
        guard OPENSSL_version_major() > 3 || OPENSSL_version_major() == 3 && OPENSSL_version_minor() >= 5 else {
            return []
        }
        OpenSSLLibrary.prepare()
        let names = all.map(\.name).filter { name in
            let signature = unsafe EVP_SIGNATURE_fetch(nil, name, nil)
            defer { unsafe EVP_SIGNATURE_free(signature) }
            return unsafe signature != nil
        }
        OpenSSLLibrary.clearErrors()
        return Set(names)
    }()

    func checkAvailability() throws(CryptoError) {
        guard isAvailable else {
            throw CryptoError(
                .unsupportedAlgorithm,
                "\(name) requires OpenSSL 3.5 or later with ML-DSA; this process uses \(OpenSSLLibrary.version)"
            )
        }
    }
}
