/// Chooses the keys of a set that a token can mean.
struct KeySelector: Sendable {
    private struct Candidate: Sendable {
        let keyID: String?
        let key: Result<VerificationKey, TokenError>
        /// The algorithm that a key which is damaged or weak would be for.
        let damagedFor: String?

        init(_ jwk: JWK, _ key: Result<VerificationKey, TokenError>) {
            keyID = jwk.keyID
            self.key = key
            switch key {
            case .failure(let reason) where [.malformedKey, .weakKey, .tooLarge].contains(reason.code):
                damagedFor = jwk.algorithm
            default:
                damagedFor = nil
            }
        }

        func isFor(_ algorithm: String) -> Bool {
            if case .success(let key) = key { key.accepts(algorithm: algorithm) } else { false }
        }
    }

    private let candidates: [Candidate]
    private let selection: KeySelection

    init(_ keys: JWKSet, _ selection: KeySelection = KeySelection()) {
        self.selection = selection
        candidates = zip(keys.keys, selection.verificationKeys(of: keys.keys)).map { jwk, key in
            Candidate(jwk, key)
        }
    }

    /// The keys of the set that can verify.
    var usableKeys: [VerificationKey] { candidates.compactMap { try? $0.key.get() } }

    /// The keys to try, in the set's order: one, or several if the selection allows it.
    ///
    /// - Throws: ``TokenError`` with the code `unknownKey`, `ambiguousKey`, `algorithmMismatch`, or why the key that the token
    ///   names can't be used.
    func keys(for header: ProtectedHeader) throws(TokenError) -> [VerificationKey] {
        guard let keyID = header.keyID else {
            return try limited(
                candidates.filter { $0.isFor(header.algorithm) },
                else:
                    "the token has no “kid”, and no key of the set is for its “alg” \(TokenError.shown(header.algorithm))"
            )
        }
        let named = candidates.filter { $0.keyID?.isExactly(keyID) ?? false }
        guard let first = named.first else {
            throw TokenError(.unknownKey, "the set has no key with the token's “kid” \(TokenError.shown(keyID))")
        }
        if case .failure(let reason) = first.key, !named.contains(where: { (try? $0.key.get()) != nil }) {
            let text = "the key with the token's “kid” \(TokenError.shown(keyID)) can't be used: \(reason.message)"
            throw TokenError(reason.code, text, cause: reason)
        }
        // The issuer meant two keys under one ID, of which we can read one: which one the token means is not known.
        guard named.count == 1 || !named.contains(where: { $0.damagedFor?.isExactly(header.algorithm) ?? false }) else {
            throw TokenError(
                .ambiguousKey,
                "several keys of the set have the token's “kid”, and one of them is damaged"
            )
        }
        return try limited(
            named.filter { $0.isFor(header.algorithm) },
            else: "the key with the token's “kid” is not for its “alg” \(TokenError.shown(header.algorithm))"
        )
    }

    private func limited(
        _ matches: [Candidate],
        else message: @autoclosure () -> String
    ) throws(TokenError) -> [VerificationKey] {
        guard !matches.isEmpty else { throw TokenError(.algorithmMismatch, message()) }
        guard matches.count <= selection.trials.maximum else {
            throw TokenError(
                .ambiguousKey,
                "\(matches.count) keys of the set could be the token's; give each a “kid” of its own"
            )
        }
        return matches.compactMap { try? $0.key.get() }
    }
}
