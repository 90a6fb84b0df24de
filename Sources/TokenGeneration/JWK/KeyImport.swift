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
    /// - Returns: What the algorithm needs.
    /// - Throws: ``TokenError`` with the code `malformedKey`, `unsupportedKey`, `unsupportedAlgorithm`, `algorithmRequired`,
    ///   `algorithmMismatch` or `keyMismatch`.
    func algorithmDetails(for purpose: KeyPurpose, wanted: JWSAlgorithm?) throws(TokenError) -> AlgorithmDescription {
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
            return try AlgorithmDescription.only(for: type, curve: curve, wanted: wanted)
        }
        guard let details = JWSAlgorithm(name)?.details else {
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
        return details
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
}

extension AlgorithmDescription {
    /// The description of the algorithm that the caller names, or else of the only one that a key can be for.
    ///
    /// - Throws: ``TokenError`` with the code `unsupportedKey`, `unsupportedAlgorithm`, `algorithmRequired` or
    ///   `algorithmMismatch`.
    static func only(
        for keyType: KeyType,
        curve: String?,
        wanted: JWSAlgorithm?
    ) throws(TokenError) -> AlgorithmDescription {
        if let wanted {
            let details = try wanted.supportedDetails()
            guard details.fits(keyType, curve: curve) else {
                throw TokenError(
                    .algorithmMismatch,
                    "\(wanted) needs another key than \(KeyType.description(keyType, curve: curve))"
                )
            }
            return details
        }
        let candidates = table.filter { $0.fits(keyType, curve: curve) }
        guard let only = candidates.first else {
            throw TokenError(
                .unsupportedKey,
                "no signature algorithm is implemented for \(KeyType.description(keyType, curve: curve))"
            )
        }
        guard candidates.count == 1 else {
            let names = candidates.map(\.algorithm.rawValue).joined(separator: ", ")
            throw TokenError(
                .algorithmRequired,
                "\(KeyType.description(keyType, curve: curve)) can be for \(names), and does not say for which: name the algorithm"
            )
        }
        return only
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
