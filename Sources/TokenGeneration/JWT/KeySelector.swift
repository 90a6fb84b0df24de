/// Chooses the key that a token means: the one there is, or one of a set.
struct KeySelector: Sendable {
    private enum Source: Sendable {
        case one(VerificationKey)
        case set(candidates: [Candidate], selection: KeySelection)
    }

    private struct Candidate: Sendable {
        let keyID: String?
        let key: Result<VerificationKey, TokenError>

        var isUsable: Bool {
            if case .success = key { true } else { false }
        }

        func isFor(_ algorithm: String) -> Bool {
            if case .success(let key) = key { key.accepts(algorithm: algorithm) } else { false }
        }
    }

    private let source: Source

    init(_ key: VerificationKey) {
        source = .one(key)
    }

    init(_ keys: JWKSet, _ selection: KeySelection) {
        source = .set(
            candidates: keys.keys.map { jwk in
                Candidate(
                    keyID: jwk.keyID,
                    key: Result { () throws(TokenError) in try selection.verificationKey(of: jwk) }
                )
            },
            selection: selection
        )
    }

    /// The key that a token means and that verifies its signature.
    ///
    /// - Parameters:
    ///   - algorithm: `alg` of the token's header.
    ///   - keyID: `kid` of the token's header.
    ///   - isSigned: Whether the token is signed by a key. It is asked once, and several times only if the caller of the
    ///     verifier wants several keys tried.
    /// - Returns: The key.
    /// - Throws: ``TokenError`` with the code `unknownKey`, `ambiguousKey`, `algorithmMismatch`, `signatureInvalid`, or why the
    ///   key that the token names can't be used.
    func key(
        algorithm: String,
        keyID: String?,
        where isSigned: (VerificationKey) -> Bool
    ) throws(TokenError) -> VerificationKey {
        switch source {
        case .one(let key):
            guard key.accepts(algorithm: algorithm) else {
                throw TokenError(
                    .algorithmMismatch,
                    "“alg” of the header is \(TokenError.shown(algorithm)), the key is for \(key.algorithm)"
                )
            }
            guard isSigned(key) else { throw Self.signatureInvalid }
            return key
        case .set(let candidates, let selection):
            let matches = try Self.matches(algorithm, keyID, among: candidates)
            guard matches.count <= selection.trials.maximum else {
                throw TokenError(
                    .ambiguousKey,
                    "\(matches.count) keys of the set could be the token's; give each a “kid” of its own"
                )
            }
            for match in matches {
                let key = try match.key.get()
                if isSigned(key) { return key }
            }
            throw Self.signatureInvalid
        }
    }

    private static var signatureInvalid: TokenError {
        TokenError(.signatureInvalid, "the signature is not one by this key over this token")
    }

    private static func matches(
        _ algorithm: String,
        _ keyID: String?,
        among candidates: [Candidate]
    ) throws(TokenError) -> [Candidate] {
        guard let keyID else {
            let matches = candidates.filter { $0.isFor(algorithm) }
            guard !matches.isEmpty else {
                throw TokenError(
                    .algorithmMismatch,
                    "the token has no “kid”, and no key of the set is for its “alg” \(TokenError.shown(algorithm))"
                )
            }
            return matches
        }
        let named = candidates.filter { $0.keyID?.isExactly(keyID) ?? false }
        guard let first = named.first else {
            throw TokenError(.unknownKey, "the set has no key with the token's “kid” \(TokenError.shown(keyID))")
        }
        if case .failure(let reason) = first.key, !named.contains(where: \.isUsable) {
            let text = "the key with the token's “kid” \(TokenError.shown(keyID)) can't be used: \(reason.message)"
            throw TokenError(reason.code, text, cause: reason)
        }
        let matches = named.filter { $0.isFor(algorithm) }
        guard !matches.isEmpty else {
            throw TokenError(
                .algorithmMismatch,
                "the key with the token's “kid” is not for its “alg” \(TokenError.shown(algorithm))"
            )
        }
        return matches
    }
}
