/// The keys of a verifier, and the rules that match them to a header.
enum VerificationKeySource: Sendable {
    case list([VerificationKey])
    case set(KeySelector)

    /// Returns the keys to try, at least one, all for the header's algorithm.
    ///
    /// A single key is always tried, regardless of `kid`. If there are several keys, those with the
    /// header's `kid` match. If no key has it, those without a `kid` match.
    ///
    /// - Throws: ``TokenError`` with the code `algorithmMismatch` or `unknownKey`, or the reason
    ///   why the selector has no key.
    func keys(for header: ProtectedHeader) throws(TokenError) -> [VerificationKey] {
        switch self {
        case .set(let selector): return try selector.keys(for: header)
        case .list(let keys):
            if keys.count == 1, keys[0].accepts(algorithm: header.algorithm) { return keys }
            let matching = keys.filter { $0.accepts(algorithm: header.algorithm) }
            guard !matching.isEmpty else { throw Self.mismatch(header, keys) }
            guard keys.count > 1, let keyID = header.keyID else { return matching }
            let named = matching.filter { $0.keyID?.isExactly(keyID) ?? false }
            let meant = named.isEmpty ? matching.filter { $0.keyID == nil } : named
            guard !meant.isEmpty else {
                throw TokenError(.unknownKey, "no key has the header's “kid” \(TokenError.shown(keyID))")
            }
            return meant
        }
    }

    /// Returns all keys, or `nil` if an entry of the key set can't verify or the set has more
    /// entries than there are signatures.
    func everyKey(of signatureCount: Int) -> [VerificationKey]? {
        switch self {
        case .list(let keys): keys
        case .set(let selector): selector.everyKey(of: signatureCount)
        }
    }

    private static func mismatch(_ header: ProtectedHeader, _ keys: [VerificationKey]) -> TokenError {
        let stated = "“alg” of the header is \(TokenError.shown(header.algorithm))"
        guard let key = keys.first, keys.count == 1 else {
            return TokenError(.algorithmMismatch, "\(stated), but no key is for that algorithm")
        }
        return TokenError(.algorithmMismatch, "\(stated), but the key is for \(key.algorithm)")
    }
}
