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
    /// - Throws: ``TokenError`` with the code `malformedKey`, `unsupportedKey`, `unsupportedAlgorithm` or `keyMismatch`.
    func algorithmDetails(for purpose: KeyPurpose) throws(TokenError) -> AlgorithmDescription {
        try checkUse(for: purpose)
        let keyType = KeyType(rawValue: keyType)
        guard [.ec, .rsa, .okp, .oct].contains(keyType) else {
            throw TokenError(
                .unsupportedKey,
                "kty \(TokenError.shown(self.keyType)) is not a kind of key this version knows"
            )
        }
        guard ![.ec, .okp].contains(keyType) || curve != nil else {
            throw TokenError(.malformedKey, "the JWK has no “crv”, which says what curve the key is on")
        }
        guard let name = algorithm else {
            let candidates = JWSAlgorithm.algorithms(for: keyType, curve: curve)
            guard let only = candidates.first, candidates.count == 1 else {
                throw TokenError(.unsupportedKey, "no signature algorithm is implemented for \(kindDescription)")
            }
            return try only.supportedDetails()
        }
        guard let details = JWSAlgorithm(name)?.details else {
            throw TokenError(
                .unsupportedAlgorithm,
                "“alg” of the JWK is \(TokenError.shown(name)), which is not a signature algorithm of this version"
            )
        }
        guard details.keyType == keyType, details.curve == curve else {
            throw TokenError(.keyMismatch, "“alg” of the JWK says \(details.algorithm), but it is \(kindDescription)")
        }
        return details
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
        do throws(TokenError) {
            return try Base64URL.decode(text)
        } catch {
            throw TokenError(.malformedKey, "“\(name)” of the JWK: \(error.message)")
        }
    }

    private func checkUse(for purpose: KeyPurpose) throws(TokenError) {
        if let use, use != "sig" {
            throw TokenError(
                .keyMismatch,
                "“use” of the JWK is \(TokenError.shown(use)), but a key for signatures is needed"
            )
        }
        guard let operations = keyOperations else { return }
        // The private half of a pair may well be declared for signing only; its public half then verifies.
        let allowed = operations.contains(purpose.operation) || (isPrivate && operations.contains("sign"))
        guard allowed else {
            throw TokenError(.keyMismatch, "“key_ops” of the JWK does not allow “\(purpose.operation)”")
        }
        guard use == nil || operations.allSatisfy({ ["sign", "verify"].contains($0) }) else {
            throw TokenError(.keyMismatch, "“use” and “key_ops” of the JWK contradict each other")
        }
    }

    private var kindDescription: String {
        "a key of kty \(TokenError.shown(keyType))" + (curve.map { " on curve \(TokenError.shown($0))" } ?? "")
    }
}

extension AlgorithmDescription {
    /// The description of the one algorithm that fits a curve and the caller's wish.
    ///
    /// - Throws: ``TokenError`` with the code `unsupportedKey`, `unsupportedAlgorithm` or `algorithmMismatch`.
    static func forKey(on curve: EllipticCurve, wanted: JWSAlgorithm?) throws(TokenError) -> AlgorithmDescription {
        let candidates = JWSAlgorithm.algorithms(for: .ec, curve: curve.name)
        if let wanted {
            let details = try wanted.supportedDetails()
            guard candidates.contains(wanted) else {
                throw TokenError(.algorithmMismatch, "\(wanted) needs another key than one on curve \(curve.name)")
            }
            return details
        }
        guard let only = candidates.first, candidates.count == 1 else {
            throw TokenError(.unsupportedKey, "no signature algorithm is implemented for keys on curve \(curve.name)")
        }
        return try only.supportedDetails()
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

    private init(refusedKey error: CryptoError) {
        let code: Code =
            switch error.code {
            case .wrongKeyType, .unsupportedCurve: .unsupportedKey
            case .keyMismatch: .keyMismatch
            case .passwordRequired: .passwordRequired
            case .incorrectPassword: .incorrectPassword
            default: .malformedKey
            }
        self.init(code, error.message, cause: error)
    }
}
