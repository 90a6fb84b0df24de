internal import COpenSSL

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
