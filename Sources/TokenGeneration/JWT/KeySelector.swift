/// Chooses the one key of a set that a token means.
struct KeySelector: Sendable {
    private struct Candidate: Sendable {
        let keyID: String?
        let key: Result<VerificationKey, TokenError>

        var isUsable: Bool {
            if case .success = key { true } else { false }
        }

        func isFor(_ algorithm: String) -> Bool {
            if case .success(let key) = key { key.algorithm.rawValue.isExactly(algorithm) } else { false }
        }
    }

    private let candidates: [Candidate]

    init(_ keys: JWKSet) {
        candidates = keys.keys.map { jwk in
            Candidate(keyID: jwk.keyID, key: Result { () throws(TokenError) in try VerificationKey(jwk: jwk) })
        }
    }

    /// The keys of the set that can verify.
    var usableKeys: [VerificationKey] { candidates.compactMap { try? $0.key.get() } }

    /// - Throws: ``TokenError`` with the code `unknownKey`, `ambiguousKey`, `algorithmMismatch`, or why the key that the token
    ///   names can't be used.
    func key(for header: ProtectedHeader) throws(TokenError) -> VerificationKey {
        guard let keyID = header.keyID else {
            return try only(
                of: candidates.filter { $0.isFor(header.algorithm) },
                else: .algorithmMismatch,
                "the token has no “kid”, and no key of the set is for its “alg” \(TokenError.shown(header.algorithm))"
            )
        }
        let named = candidates.filter { $0.keyID?.isExactly(keyID) ?? false }
        guard let first = named.first else {
            throw TokenError(.unknownKey, "the set has no key with the token's “kid” \(TokenError.shown(keyID))")
        }
        if case .failure(let reason) = first.key, !named.contains(where: \.isUsable) {
            let text = "the key with the token's “kid” \(TokenError.shown(keyID)) can't be used: \(reason.message)"
            throw TokenError(reason.code, text, cause: reason)
        }
        return try only(
            of: named.filter { $0.isFor(header.algorithm) },
            else: .algorithmMismatch,
            "the key with the token's “kid” is not for its “alg” \(TokenError.shown(header.algorithm))"
        )
    }

    private func only(
        of matches: [Candidate],
        else code: TokenError.Code,
        _ message: @autoclosure () -> String
    ) throws(TokenError) -> VerificationKey {
        guard let first = matches.first else { throw TokenError(code, message()) }
        guard matches.count == 1 else {
            throw TokenError(
                .ambiguousKey,
                "\(matches.count) keys of the set could be the token's; give each a “kid” of its own"
            )
        }
        return try first.key.get()
    }
}
