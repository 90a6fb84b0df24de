extension JWKSet {
    /// Returns the key with an ID, to verify signatures that aren't part of a token.
    ///
    /// - Parameters:
    ///   - keyID: The key's ID.
    ///   - selection: The rules of key selection. Only one key may have the ID.
    /// - Returns: The key.
    /// - Throws: ``TokenError`` with the code `unknownKey` if no key has the ID, `ambiguousKey` if
    ///   different keys have it, or the reason why the key can't verify.
    public func verificationKey(
        withID keyID: String,
        selection: KeySelection = KeySelection()
    ) throws(TokenError) -> VerificationKey {
        let named = keys.indices.filter { keys[$0].keyID?.isExactly(keyID) ?? false }
        guard let first = named.first else {
            throw TokenError(.unknownKey, "the key set has no key with the ID \(TokenError.shown(keyID))")
        }
        let identity = entries[first].identity
        guard named.dropFirst().allSatisfy({ identity != nil && entries[$0].identity == identity }) else {
            throw TokenError(.ambiguousKey, "several keys in the set have the ID \(TokenError.shown(keyID))")
        }
        return try key(at: first, selection)
    }

    /// Returns the key with a SHA-256 thumbprint.
    ///
    /// - Throws: ``TokenError`` with the code `unknownKey`, or the reason why the key can't verify.
    package func verificationKey(
        withThumbprint thumbprint: String,
        selection: KeySelection
    ) throws(TokenError) -> VerificationKey {
        for index in keys.indices {
            guard let found = try? keys[index].thumbprint, found.isExactly(thumbprint) else { continue }
            return try key(at: index, selection)
        }
        throw TokenError(.unknownKey, "the key set has no key with the thumbprint \(TokenError.shown(thumbprint))")
    }

    private func key(at index: Int, _ selection: KeySelection) throws(TokenError) -> VerificationKey {
        try entries[index].key(for: selection.choice(for: keys[index], in: keys)).get()
    }
}
