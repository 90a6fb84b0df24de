internal import OpenSSLCrypto

struct KeyPurpose: Equatable {
    let use: String
    let operations: [String]
    /// A private key may be declared for its own operation only, and its public part be used.
    let privateOperations: [String]

    static let signing = Self(use: "sig", operations: ["sign"], privateOperations: ["sign"])
    static let verification = Self(use: "sig", operations: ["verify"], privateOperations: ["sign"])
    static let encryption = Self(
        use: "enc",
        operations: ["encrypt", "wrapKey", "deriveKey", "deriveBits"],
        privateOperations: decryption.operations
    )
    private static let decrypting = ["decrypt", "unwrapKey", "deriveKey", "deriveBits"]
    static let decryption = Self(use: "enc", operations: decrypting, privateOperations: decrypting)

    static let all = [signing, verification, encryption, decryption]
}

extension JWK {
    func algorithmChoice(for purpose: KeyPurpose, wanted: JWSAlgorithm?) throws(TokenError) -> AlgorithmChoice {
        let (type, curve) = try usableType(for: purpose)
        guard let name = algorithm else {
            return try AlgorithmChoice(for: type, curve: curve, named: wanted)
        }
        guard let details = JWSAlgorithm(rawValue: name)?.details else {
            throw TokenError(
                .unsupportedAlgorithm,
                "“alg” of the JWK is \(TokenError.shown(name)), which isn't a supported signature algorithm"
            )
        }
        guard details.fits(type, curve: curve) else {
            throw TokenError(
                .keyMismatch,
                "“alg” of the JWK is \(details.algorithm), but the JWK is \(KeyType.description(type, curve: curve))"
            )
        }
        guard wanted == nil || wanted == details.algorithm else {
            throw TokenError(
                .algorithmMismatch,
                "“alg” of the JWK is \(details.algorithm); the key can't be used with another algorithm"
            )
        }
        return AlgorithmChoice(details)
    }

    /// Checks that the JWK allows the purpose; the curve is `alg` for the type `AKP`.
    func usableType(for purpose: KeyPurpose) throws(TokenError) -> (KeyType, curve: String?) {
        try checkUse(for: purpose)
        guard KeyType.known.contains(where: { $0.rawValue.isExactly(keyType) }) else {
            throw TokenError(
                .unsupportedKey,
                "kty \(TokenError.shown(keyType)) isn't a supported key type"
            )
        }
        let type = KeyType(rawValue: keyType)
        guard ![.ec, .okp].contains(type) || curve != nil else {
            throw TokenError(.malformedKey, "the JWK has no “crv”, the key's curve")
        }
        guard type != .akp else {
            guard let algorithm else {
                throw TokenError(.malformedKey, "the JWK has no “alg”, which the type “AKP” requires")
            }
            return (type, algorithm)
        }
        // “crv” has no meaning for types that don't define it (RFC 7517 §4: ignored).
        return (type, [.ec, .okp].contains(type) ? curve : nil)
    }

    func supportedCurve<Curve>(_ find: (String) -> Curve?) throws(TokenError) -> Curve {
        guard let curve = curve.flatMap(find) else {
            throw TokenError(.unsupportedKey, "the curve of the JWK isn't supported")
        }
        return curve
    }

    func mldsaParameters() throws(TokenError) -> MLDSAParameters {
        guard let parameters = algorithm.flatMap(MLDSAParameters.init(name:)) else {
            throw TokenError(.unsupportedKey, "“alg” of the JWK isn't supported for the type “AKP”")
        }
        return parameters
    }

    /// All must be present or all absent ([RFC 7518
    /// §6.3.2](https://www.rfc-editor.org/rfc/rfc7518#section-6.3.2)).
    func rsaFactors() throws(TokenError) -> RSAFactors? {
        guard members["oth"] == nil else {
            throw TokenError(.unsupportedKey, "“oth” of the JWK: RSA keys with more than two primes aren't supported")
        }
        guard ["p", "q", "dp", "dq", "qi"].contains(where: { members[$0] != nil }) else { return nil }
        return try RSAFactors(
            p: secretNumber("p"),
            q: secretNumber("q"),
            dp: secretNumber("dp"),
            dq: secretNumber("dq"),
            qi: secretNumber("qi")
        )
    }

    func secretNumber(_ name: String) throws(TokenError) -> SecretBytes {
        try octets(of: name, limit: Self.maximumNumberSize).withBytes { SecretBytes(copying: $0) }
    }

    func number(_ name: String) throws(TokenError) -> [UInt8] {
        try octets(of: name, limit: Self.maximumNumberSize)
    }

    private static let maximumNumberSize = RSAKeyLimit.configuration / 8 + 1

    func octets(of name: String, limit: Int = 65_536) throws(TokenError) -> [UInt8] {
        guard let text = members[name]?.string else {
            throw TokenError(.malformedKey, "the JWK must have “\(name)” as a base64url string")
        }
        guard text.utf8.count <= (limit * 4 + 2) / 3 else {
            throw TokenError(.tooLarge, "“\(name)” of the JWK has more than \(limit) bytes")
        }
        do throws(TokenError) {
            return try Base64URL.decode(text)
        } catch {
            throw TokenError(.malformedKey, "“\(name)” of the JWK: \(error.message)")
        }
    }

    func octets(of name: String, count: Int) throws(TokenError) -> [UInt8] {
        guard let text = members[name]?.string else {
            throw TokenError(.malformedKey, "the JWK must have “\(name)” as a base64url string")
        }
        // Compares the text's length first, so that a huge member isn't decoded.
        guard text.utf8.count == (count * 4 + 2) / 3 else {
            throw TokenError(
                .malformedKey,
                "“\(name)” of the JWK must have exactly \(count) bytes, including leading zeros, as \((count * 4 + 2) / 3) "
                    + "characters; it has \(text.utf8.count)"
            )
        }
        return try octets(of: name, limit: count)
    }

    private func checkUse(for purpose: KeyPurpose) throws(TokenError) {
        if let use, !use.isExactly(purpose.use) {
            let expected = purpose.use == "sig" ? "for signatures" : "for encryption"
            throw TokenError(
                .keyMismatch,
                "“use” of the JWK is \(TokenError.shown(use)), but the key must be \(expected)"
            )
        }
        guard let operations = keyOperations else { return }
        let allowed = purpose.operations + (isPrivate ? purpose.privateOperations : [])
        guard operations.contains(where: { operation in allowed.contains(where: operation.isExactly) }) else {
            // The Web Cryptography API exports public keys for key agreement with an empty array.
            if operations.isEmpty, purpose == .encryption, curve != nil { return }
            let names = purpose.operations.map { "“\($0)”" }.joined(separator: " or ")
            throw TokenError(.keyMismatch, "“key_ops” of the JWK doesn't allow \(names)")
        }
        let known = KeyPurpose.all.filter { $0.use == purpose.use }.flatMap(\.operations)
        guard use == nil || operations.allSatisfy({ operation in known.contains(where: operation.isExactly) }) else {
            throw TokenError(.keyMismatch, "“use” and “key_ops” of the JWK contradict each other")
        }
    }
}

extension TokenError {
    static func generating<Key>(
        orFailWith code: Code,
        _ makeKey: () throws(CryptoError) -> Key
    ) throws(TokenError) -> Key {
        do throws(CryptoError) {
            return try makeKey()
        } catch {
            let code: Code =
                switch error.code {
                case .weakKey: .weakKey
                case .keyTooLarge: .tooLarge
                case .unsupportedAlgorithm: .unsupportedAlgorithm
                default: code
                }
            throw TokenError(code, "can't generate the key: \(error.message)", cause: error)
        }
    }

    static func refusingKey<Key>(
        _ makeKey: @autoclosure () throws(CryptoError) -> Key
    ) throws(TokenError) -> Key {
        do throws(CryptoError) {
            return try makeKey()
        } catch {
            throw TokenError(refusedKey: error)
        }
    }

    init(mismatched algorithm: some RawRepresentable<String>, _ key: String) {
        self.init(.algorithmMismatch, "\(algorithm.rawValue) can't use \(key)")
    }

    init(refusedKey error: CryptoError) {
        let code: Code =
            switch error.code {
            case .wrongKeyType, .unsupportedCurve: .unsupportedKey
            case .weakKey: .weakKey
            case .unsupportedAlgorithm: .unsupportedAlgorithm
            case .keyTooLarge: .tooLarge
            case .keyMismatch: .keyMismatch
            case .passwordRequired: .passwordRequired
            case .incorrectPassword: .incorrectPassword
            default: .malformedKey
            }
        self.init(code, error.message, cause: error)
    }
}

package enum RSAKeyLimit {
    /// For keys that the caller provides.
    package static let configuration = RSAPublicKey.maximumBitCount
    package static let message = 4_096
}
