internal import OpenSSLCrypto

/// The requirements of a key management algorithm for its keys, and its operation.
///
/// The table has one row per algorithm. No other code in the module enumerates them.
struct JWEAlgorithmDescription: Sendable {
    /// The operation of an algorithm.
    enum Scheme: Sendable {
        case direct
        case keyWrap(keySize: Int)
        case gcmKeyWrap(AuthenticatedCipher)
        /// Key agreement, with the size of the key that wraps the content key, or `nil` if the
        /// agreed key is the content key.
        case agreement(wrapKeySize: Int?)
        case oaep(HashFunction)
        case password(HashFunction, wrapKeySize: Int, recommendedIterations: Int)
    }

    let algorithm: JWEAlgorithm
    let keyTypes: [KeyType]
    let scheme: Scheme

    /// The rows, in display order.
    ///
    /// The iterations for passwords are OWASP's recommendations of 2023 for PBKDF2.
    static let table: [JWEAlgorithmDescription] = [
        Self(algorithm: .dir, keyTypes: [.oct], scheme: .direct),
        Self(algorithm: .a128KW, keyTypes: [.oct], scheme: .keyWrap(keySize: 16)),
        Self(algorithm: .a192KW, keyTypes: [.oct], scheme: .keyWrap(keySize: 24)),
        Self(algorithm: .a256KW, keyTypes: [.oct], scheme: .keyWrap(keySize: 32)),
        Self(algorithm: .a128GCMKW, keyTypes: [.oct], scheme: .gcmKeyWrap(.aes128GCM)),
        Self(algorithm: .a192GCMKW, keyTypes: [.oct], scheme: .gcmKeyWrap(.aes192GCM)),
        Self(algorithm: .a256GCMKW, keyTypes: [.oct], scheme: .gcmKeyWrap(.aes256GCM)),
        Self(algorithm: .ecdhES, keyTypes: [.ec, .okp], scheme: .agreement(wrapKeySize: nil)),
        Self(algorithm: .ecdhESA128KW, keyTypes: [.ec, .okp], scheme: .agreement(wrapKeySize: 16)),
        Self(algorithm: .ecdhESA192KW, keyTypes: [.ec, .okp], scheme: .agreement(wrapKeySize: 24)),
        Self(algorithm: .ecdhESA256KW, keyTypes: [.ec, .okp], scheme: .agreement(wrapKeySize: 32)),
        Self(algorithm: .rsaOAEP, keyTypes: [.rsa], scheme: .oaep(.sha1)),
        Self(algorithm: .rsaOAEP256, keyTypes: [.rsa], scheme: .oaep(.sha256)),
        Self(algorithm: .rsaOAEP384, keyTypes: [.rsa], scheme: .oaep(.sha384)),
        Self(algorithm: .rsaOAEP512, keyTypes: [.rsa], scheme: .oaep(.sha512)),
        Self(
            algorithm: .pbes2HS256A128KW,
            keyTypes: [],
            scheme: .password(.sha256, wrapKeySize: 16, recommendedIterations: 600_000)
        ),
        Self(
            algorithm: .pbes2HS384A192KW,
            keyTypes: [],
            scheme: .password(.sha384, wrapKeySize: 24, recommendedIterations: 210_000)
        ),
        Self(
            algorithm: .pbes2HS512A256KW,
            keyTypes: [],
            scheme: .password(.sha512, wrapKeySize: 32, recommendedIterations: 210_000)
        ),
    ]

    /// The curves for key agreement, by their names in a key's `crv`.
    static let curves: [String] = KeyAgreementCurve.implemented.map(\.rawValue)

    /// Returns a Boolean value that indicates whether the algorithm supports a key type and curve.
    func fits(_ keyType: KeyType, curve: String?) -> Bool {
        guard keyTypes.contains(keyType) else { return false }
        guard case .agreement = scheme else { return true }
        return Self.curves.contains { curve?.isExactly($0) ?? false }
    }

    /// A Boolean value that indicates whether the content key isn't random but follows from the
    /// recipient's key, so that a token can have only one recipient and has no encrypted key.
    var determinesContentKey: Bool {
        switch scheme {
        case .direct, .agreement(nil): true
        case .keyWrap, .gcmKeyWrap, .agreement, .oaep, .password: false
        }
    }

    /// A Boolean value that indicates whether the key is a password.
    var usesPassword: Bool {
        if case .password = scheme { true } else { false }
    }
}

extension JWEAlgorithm {
    /// The description of the algorithm.
    var details: JWEAlgorithmDescription {
        // Every value comes from the table.
        JWEAlgorithmDescription.table.first { $0.algorithm == self } ?? JWEAlgorithmDescription.table[0]
    }

    /// Returns the size in bytes of the shared secret that the algorithm needs, or `nil` if its
    /// keys aren't shared secrets of a fixed size.
    package func secretSize(for encryption: JWEEncryption) -> Int? {
        switch details.scheme {
        case .direct: encryption.cipher.keySize
        case .keyWrap(let size): size
        case .gcmKeyWrap(let cipher): cipher.keySize
        case .agreement, .oaep, .password: nil
        }
    }

    /// A Boolean value that indicates whether the keys are passwords.
    package var usesPassword: Bool { details.usesPassword }
}

/// A curve for key agreement, identified by its name in a JWK's `crv`.
public struct KeyAgreementCurve: RegisteredName {
    /// The name, as in the IANA registry.
    public let rawValue: String

    /// NIST P-256, which most implementations support.
    public static let p256 = KeyAgreementCurve("P-256")
    /// NIST P-384.
    public static let p384 = KeyAgreementCurve("P-384")
    /// NIST P-521.
    public static let p521 = KeyAgreementCurve("P-521")
    /// Curve25519 ([RFC 8037 §3.2](https://www.rfc-editor.org/rfc/rfc8037#section-3.2)).
    public static let x25519 = KeyAgreementCurve("X25519")
    /// Curve448 ([RFC 8037 §3.2](https://www.rfc-editor.org/rfc/rfc8037#section-3.2)).
    public static let x448 = KeyAgreementCurve("X448")

    static let implemented: [KeyAgreementCurve] = [.p256, .p384, .p521, .x25519, .x448]

    private init(_ name: String) {
        rawValue = name
    }
}
