internal import OpenSSLCrypto

/// What a key is imported for.
enum KeyPurpose {
    case signing, verification

    /// The value of `key_ops` that allows it.
    var operation: String {
        switch self {
        case .signing: "sign"
        case .verification: "verify"
        }
    }
}

extension JWK {
    /// The algorithm the key is for, after checking that the JWK's own statements allow the purpose.
    ///
    /// - Parameters:
    ///   - purpose: What the key is wanted for.
    ///   - wanted: The algorithm the caller names.
    /// - Returns: The algorithm.
    /// - Throws: ``TokenError`` with the code `malformedKey`, `unsupportedKey`, `unsupportedAlgorithm`, `algorithmRequired`,
    ///   `algorithmMismatch` or `keyMismatch`.
    func algorithmChoice(for purpose: KeyPurpose, wanted: JWSAlgorithm?) throws(TokenError) -> AlgorithmChoice {
        try checkUse(for: purpose)
        guard KeyType.known.contains(where: { $0.rawValue.isExactly(keyType) }) else {
            throw TokenError(
                .unsupportedKey,
                "kty \(TokenError.shown(keyType)) is not a kind of key this version knows"
            )
        }
        let type = KeyType(rawValue: keyType)
        guard ![.ec, .okp].contains(type) || curve != nil else {
            throw TokenError(.malformedKey, "the JWK has no “crv”, which says what curve the key is on")
        }
        // A “crv” that the type does not define has no meaning (RFC 7517 §4: ignored).
        let curve = [.ec, .okp].contains(type) ? curve : nil
        guard let name = algorithm else {
            return try AlgorithmChoice(for: type, curve: curve, named: wanted)
        }
        guard let details = JWSAlgorithm(rawValue: name)?.details else {
            throw TokenError(
                .unsupportedAlgorithm,
                "“alg” of the JWK is \(TokenError.shown(name)), which is not a signature algorithm of this version"
            )
        }
        guard details.fits(type, curve: curve) else {
            throw TokenError(
                .keyMismatch,
                "“alg” of the JWK says \(details.algorithm), but it is \(KeyType.description(type, curve: curve))"
            )
        }
        guard wanted == nil || wanted == details.algorithm else {
            throw TokenError(
                .algorithmMismatch,
                "“alg” of the JWK says \(details.algorithm): the key is not for another algorithm"
            )
        }
        return AlgorithmChoice(details)
    }

    /// The curve of a key of the type EC.
    ///
    /// - Throws: ``TokenError`` with the code `unsupportedKey`.
    func ellipticCurve() throws(TokenError) -> EllipticCurve {
        guard let curve = curve.flatMap(EllipticCurve.init(name:)) else {
            throw TokenError(.unsupportedKey, "the curve of the JWK is not one that this version knows")
        }
        return curve
    }

    /// The curve of a key of the type OKP.
    ///
    /// - Throws: ``TokenError`` with the code `unsupportedKey`.
    func edwardsCurve() throws(TokenError) -> EdwardsCurve {
        guard let curve = curve.flatMap(EdwardsCurve.init(name:)) else {
            throw TokenError(.unsupportedKey, "the curve of the JWK is not one that this version knows")
        }
        return curve
    }

    /// The numbers of an RSA key beyond the private exponent: all of them or none
    /// ([RFC 7518 §6.3.2](https://www.rfc-editor.org/rfc/rfc7518#section-6.3.2)).
    ///
    /// - Throws: ``TokenError`` with the code `malformedKey`, or `unsupportedKey` for more than two primes.
    func rsaFactors() throws(TokenError) -> RSAFactors? {
        guard members["oth"] == nil else {
            throw TokenError(.unsupportedKey, "“oth” of the JWK: RSA keys with more than two primes are not used")
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

    /// A private number of an RSA key.
    ///
    /// - Throws: ``TokenError`` with the code `malformedKey`, or `tooLarge`.
    func secretNumber(_ name: String) throws(TokenError) -> SecretBytes {
        try octets(of: name, limit: Self.maximumNumberSize).withBytes { SecretBytes(copying: $0) }
    }

    /// A public number of an RSA key.
    ///
    /// - Throws: ``TokenError`` with the code `malformedKey`, or `tooLarge`.
    func number(_ name: String) throws(TokenError) -> [UInt8] {
        try octets(of: name, limit: Self.maximumNumberSize)
    }

    /// The largest modulus and a leading zero.
    private static let maximumNumberSize = RSAKeyLimit.configuration / 8 + 1

    /// A member that is binary in base64url, of any length.
    ///
    /// - Throws: ``TokenError`` with the code `malformedKey`, or `tooLarge`.
    func octets(of name: String, limit: Int = 65_536) throws(TokenError) -> [UInt8] {
        guard let text = members[name]?.string else {
            throw TokenError(.malformedKey, "the JWK needs “\(name)” as a base64url string")
        }
        guard text.utf8.count <= (limit * 4 + 2) / 3 else {
            throw TokenError(.tooLarge, "“\(name)” of the JWK has more than \(limit) octets")
        }
        do throws(TokenError) {
            return try Base64URL.decode(text)
        } catch {
            throw TokenError(.malformedKey, "“\(name)” of the JWK: \(error.message)")
        }
    }

    /// A member that is binary in base64url, of an exact length.
    ///
    /// - Throws: ``TokenError`` with the code `malformedKey`.
    func octets(of name: String, count: Int) throws(TokenError) -> [UInt8] {
        guard let text = members[name]?.string else {
            throw TokenError(.malformedKey, "the JWK needs “\(name)” as a base64url string")
        }
        // Comparing the text's length first keeps a huge member from being decoded.
        guard text.utf8.count == (count * 4 + 2) / 3 else {
            throw TokenError(
                .malformedKey,
                "“\(name)” of the JWK must have exactly \(count) octets, leading zeros included, so \((count * 4 + 2) / 3) "
                    + "characters; it has \(text.utf8.count)"
            )
        }
        return try octets(of: name, limit: count)
    }

    private func checkUse(for purpose: KeyPurpose) throws(TokenError) {
        if let use, !use.isExactly("sig") {
            throw TokenError(
                .keyMismatch,
                "“use” of the JWK is \(TokenError.shown(use)), but a key for signatures is needed"
            )
        }
        guard let operations = keyOperations else { return }
        // The private half of a pair may well be declared for signing only; its public half then verifies.
        let allowed =
            operations.contains(where: purpose.operation.isExactly)
            || (isPrivate && operations.contains(where: "sign".isExactly))
        guard allowed else {
            throw TokenError(.keyMismatch, "“key_ops” of the JWK does not allow “\(purpose.operation)”")
        }
        guard use == nil || operations.allSatisfy({ $0.isExactly("sign") || $0.isExactly("verify") }) else {
            throw TokenError(.keyMismatch, "“use” and “key_ops” of the JWK contradict each other")
        }
    }
}

extension TokenError {
    /// Runs an import and gives its failure the module's error type.
    static func refusingKey<Key>(_ makeKey: () throws(CryptoError) -> Key) throws(TokenError) -> Key {
        do throws(CryptoError) {
            return try makeKey()
        } catch {
            throw TokenError(refusedKey: error)
        }
    }

    /// An algorithm and a key of another kind.
    init(mismatched details: AlgorithmDescription, _ key: String) {
        self.init(.algorithmMismatch, "\(details.algorithm) needs another kind of key than \(key)")
    }

    /// A key that the cryptography below refused.
    init(refusedKey error: CryptoError) {
        let code: Code =
            switch error.code {
            case .wrongKeyType, .unsupportedCurve: .unsupportedKey
            case .weakKey: .weakKey
            case .keyTooLarge: .tooLarge
            case .keyMismatch: .keyMismatch
            case .passwordRequired: .passwordRequired
            case .incorrectPassword: .incorrectPassword
            default: .malformedKey
            }
        self.init(code, error.message, cause: error)
    }
}
