internal import OpenSSLCrypto

/// The algorithm of a key, either stated or implied by the key's type, without reading the numbers.
struct AlgorithmChoice: Sendable {
    let details: AlgorithmDescription
    /// Other names of the same operation that are also accepted, if no name was stated.
    ///
    /// A key on an Edwards curve that doesn't state an algorithm verifies both `Ed25519` (or
    /// `Ed448`) and `EdDSA`. With one key, both are the same operation, so the token can't choose
    /// anything. A key that states a name accepts that name only
    /// ([RFC 9864 §5](https://www.rfc-editor.org/rfc/rfc9864#section-5)).
    let synonyms: [JWSAlgorithm]

    func accepts(_ name: String) -> Bool {
        name.isExactly(details.algorithm.rawValue) || synonyms.contains { name.isExactly($0.rawValue) }
    }

    init(_ details: AlgorithmDescription) {
        self.details = details
        synonyms = []
    }

    /// The choice is what the caller names or the only one that the key supports.
    ///
    /// Of two names of one operation, it's `EdDSA`: RFC 9864 deprecates it
    /// ([§4.4](https://www.rfc-editor.org/rfc/rfc9864#section-4.4)), but many implementations
    /// accept no other.
    init(for keyType: KeyType, curve: String?, named wanted: JWSAlgorithm?) throws(TokenError) {
        if let wanted {
            details = try wanted.supportedDetails()
            synonyms = []
            guard details.fits(keyType, curve: curve) else {
                throw TokenError(
                    .algorithmMismatch,
                    "\(wanted) can't use \(KeyType.description(keyType, curve: curve))"
                )
            }
            return
        }
        let candidates = AlgorithmDescription.table.filter { $0.fits(keyType, curve: curve) }
        let preferred = candidates.filter(\.isFullySpecified)
        guard let only = preferred.first else {
            throw TokenError(
                .unsupportedKey,
                "no supported signature algorithm uses \(KeyType.description(keyType, curve: curve))"
            )
        }
        guard preferred.count == 1 else {
            let names = preferred.map(\.algorithm.rawValue).joined(separator: ", ")
            throw TokenError(
                .algorithmRequired,
                "\(KeyType.description(keyType, curve: curve)) can be used with \(names); name the algorithm"
            )
        }
        let chosen = candidates.first { !$0.isFullySpecified } ?? only
        details = chosen
        synonyms = candidates.map(\.algorithm).filter { $0 != chosen.algorithm }
    }
}

extension JWSAlgorithm {
    /// Explains that a token and its verifier have different names for EdDSA, or returns an empty
    /// text.
    package static func edwardsAdvice(_ name: String, _ accepted: some Sequence<JWSAlgorithm>) -> String {
        let curves: [JWSAlgorithm] = [.ed25519, .ed448]
        let isOld = name.isExactly(edDSA.rawValue)
        let isNew = curves.contains { name.isExactly($0.rawValue) }
        guard let other = accepted.first(where: { isOld ? curves.contains($0) : isNew && $0 == .edDSA }) else {
            return ""
        }
        return "; \(isOld ? name : other.rawValue) is the older name of \(isOld ? other.rawValue : name), for which "
            + "each key and policy has its own entry: set the verifier's algorithm to \(name), or sign as \(other)"
    }
}

struct EncryptionChoice: Sendable {
    let details: JWEAlgorithmDescription
    /// `nil` if the algorithm doesn't bind the key to one.
    let encryption: JWEEncryption?

    var algorithm: JWEAlgorithm { details.algorithm }

    init(for keyType: KeyType, curve: String?, named wanted: JWEAlgorithm?) throws(TokenError) {
        let key = KeyType.description(keyType, curve: curve)
        guard let wanted else {
            let fitting = JWEAlgorithmDescription.table.filter { $0.fits(keyType, curve: curve) }
            let names = fitting.map(\.algorithm.rawValue).joined(separator: ", ")
            guard !fitting.isEmpty else {
                throw TokenError(.unsupportedKey, "no supported encryption algorithm uses \(key)")
            }
            throw TokenError(.algorithmRequired, "\(key) can be used with \(names); name the algorithm")
        }
        details = wanted.details
        encryption = nil
        guard details.fits(keyType, curve: curve) else { throw TokenError(mismatched: wanted, key) }
    }

    /// The size is in bytes; without `wanted`, the content encryption for `dir` is the only one
    /// with that key size.
    init(size: Int, _ details: JWEAlgorithmDescription, _ wanted: JWEEncryption?) throws(TokenError) {
        self.details = details
        switch details.scheme {
        case .keyWrap(let keySize):
            encryption = nil
            try Self.check(size, keySize, details.algorithm.rawValue)
        case .gcmKeyWrap(let cipher):
            encryption = nil
            try Self.check(size, cipher.keySize, details.algorithm.rawValue)
        case .direct:
            encryption = try Self.encryption(size: size, wanted)
        case .agreement, .oaep, .password:
            throw TokenError(mismatched: details.algorithm, "a secret")
        }
        guard wanted == nil || encryption == wanted else {
            throw TokenError(
                .algorithmMismatch,
                "only a key for dir is bound to a content encryption, but this key is for \(details.algorithm)"
            )
        }
    }

    init(password algorithm: JWEAlgorithm) throws(TokenError) {
        details = algorithm.details
        encryption = nil
        guard details.usesPassword else { throw TokenError(mismatched: algorithm, "a password") }
    }

    private static func encryption(size: Int, _ wanted: JWEEncryption?) throws(TokenError) -> JWEEncryption {
        if let wanted {
            try check(size, wanted.cipher.keySize, wanted.rawValue)
            return wanted
        }
        let fitting = JWEEncryption.implemented.filter { $0.cipher.keySize == size }
        guard let only = fitting.first else {
            throw TokenError(.malformedKey, "no content encryption has a key of \(size) bytes")
        }
        guard fitting.count == 1 else {
            let names = fitting.map(\.rawValue).joined(separator: " or ")
            throw TokenError(
                .algorithmRequired,
                "a key of \(size) bytes for dir can be used with \(names); name the content encryption"
            )
        }
        return only
    }

    private static func check(_ size: Int, _ expected: Int, _ name: String) throws(TokenError) {
        guard size == expected else {
            throw TokenError(
                size < expected ? .weakKey : .malformedKey,
                "the secret has \(size) bytes, but \(name) requires exactly \(expected)"
            )
        }
    }
}

extension JWK {
    /// Checks that the JWK allows the purpose.
    func statedEncryption(
        for purpose: KeyPurpose,
        _ wanted: JWEAlgorithm?,
        _ wantedEncryption: JWEEncryption?
    ) throws(TokenError) -> (type: KeyType, curve: String?, algorithm: JWEAlgorithm?, encryption: JWEEncryption?) {
        let (type, curve) = try usableType(for: purpose)
        guard let name = algorithm else { return (type, curve, wanted, wantedEncryption) }
        // A JWK for dir may state the content encryption (RFC 7520 §5.6).
        let encryption = JWEEncryption(rawValue: name)
        guard let stated = encryption == nil ? JWEAlgorithm(rawValue: name) : .dir else {
            let isForSignatures = JWSAlgorithm(rawValue: name)?.details != nil
            throw TokenError(
                isForSignatures ? .keyMismatch : .unsupportedAlgorithm,
                "“alg” of the JWK is \(TokenError.shown(name)), which isn't a supported encryption algorithm"
            )
        }
        guard !stated.details.usesPassword else {
            throw TokenError(.unsupportedKey, "“alg” of the JWK is \(stated), which needs an EncryptionPassword")
        }
        guard stated.details.fits(type, curve: curve) else {
            throw TokenError(
                .keyMismatch,
                "“alg” of the JWK is \(name), but the JWK is \(KeyType.description(type, curve: curve))"
            )
        }
        guard wanted == nil || wanted == stated,
            wantedEncryption == nil || encryption == nil || wantedEncryption == encryption
        else {
            throw TokenError(
                .algorithmMismatch,
                "“alg” of the JWK is \(name); the key can't be used with another algorithm"
            )
        }
        return (type, curve, stated, encryption ?? wantedEncryption)
    }
}
