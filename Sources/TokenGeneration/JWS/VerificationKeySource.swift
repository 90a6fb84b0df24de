/// The keys of a verifier, and which of them a header can mean.
enum VerificationKeySource: Sendable {
    case list([VerificationKey])
    case set(KeySelector)

    /// The keys to try, at least one, all of them for the header's algorithm.
    ///
    /// A single key decides alone, whatever the `kid`. Of several, those that have the header's `kid` are meant, or else those
    /// that have none.
    ///
    /// - Throws: ``TokenError`` with the code `algorithmMismatch` or `unknownKey`, or why the selector has no key.
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
                throw TokenError(.unknownKey, "no key has the “kid” \(TokenError.shown(keyID)) of the header")
            }
            return meant
        }
    }

    /// Every key; `nil` if an entry of the key set can't verify, or it has too many entries for the signatures.
    func everyKey(of signatureCount: Int) -> [VerificationKey]? {
        switch self {
        case .list(let keys): keys
        case .set(let selector): selector.everyKey(of: signatureCount)
        }
    }

    private static func mismatch(_ header: ProtectedHeader, _ keys: [VerificationKey]) -> TokenError {
        let stated = "“alg” of the header is \(TokenError.shown(header.algorithm))"
        guard let key = keys.first, keys.count == 1 else {
            return TokenError(.algorithmMismatch, "\(stated), for which there is no key")
        }
        return TokenError(.algorithmMismatch, "\(stated), the key is for \(key.algorithm)")
    }
}
