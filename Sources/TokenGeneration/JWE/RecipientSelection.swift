/// A recipient's key, as far as the choice between several keys depends on it.
struct RecipientIdentity: Sendable {
    let algorithm: JWEAlgorithm
    let keyID: String?
    /// The content encryption of a key for `dir`, or `nil`.
    let encryption: JWEEncryption?
    /// The curve of a key for key agreement, or `nil` if it's unknown.
    let curve: String?

    init(_ key: DecryptionKey) {
        algorithm = key.algorithm
        keyID = key.keyID
        encryption = key.encryption
        curve = key.encryptionKey.jwk.curve
    }

    init(_ service: some RemoteDecryptionService) {
        algorithm = service.algorithm
        keyID = service.keyID
        encryption = nil
        curve = nil
    }

    /// Returns the reason why the key can't decrypt for a recipient, or `nil`.
    func refusal(_ header: JWEHeader) -> TokenError? {
        guard header.algorithm.isExactly(algorithm.rawValue) else {
            return TokenError(
                .algorithmMismatch,
                "“alg” of the header is \(TokenError.shown(header.algorithm)), but the key is for \(algorithm)"
            )
        }
        if let encryption, !header.encryption.isExactly(encryption.rawValue) {
            return TokenError(
                .algorithmMismatch,
                "“enc” of the header is \(TokenError.shown(header.encryption)), but the key is for \(encryption)"
            )
        }
        if let curve, case .agreement = algorithm.details.scheme,
            let stated = header["epk"]?.object?["crv"]?.string, !stated.isExactly(curve)
        {
            return TokenError(
                .algorithmMismatch,
                "“epk” of the header is on the curve \(TokenError.shown(stated)), but the key is on \(curve)"
            )
        }
        return nil
    }
}

/// The indexes of the header of a JWE's recipient and of the key to decrypt with.
struct RecipientSelection: Sendable {
    let header: Int
    let key: Int

    /// Finds the only recipient and key that match.
    ///
    /// Several keys are never tried: an attacker can make a token that several keys decrypt, and
    /// learns from each attempt.
    ///
    /// A pair matches if the algorithms are the same and both have the same key ID. Without such a
    /// pair, those match in which the recipient or the key has no key ID. A single key always
    /// matches a single recipient with its algorithm.
    ///
    /// - Throws: ``TokenError`` with the code `algorithmMismatch`, `unknownKey` or `ambiguousKey`.
    init(_ headers: [JWEHeader], _ keys: [RecipientIdentity]) throws(TokenError) {
        var named: [RecipientSelection] = []
        var unnamed: [RecipientSelection] = []
        var others: [RecipientSelection] = []
        var refusal: TokenError?
        for (index, header) in headers.enumerated() {
            for (place, key) in keys.enumerated() {
                if let reason = key.refusal(header) {
                    refusal = refusal ?? reason
                    continue
                }
                let pair = RecipientSelection(header: index, key: place)
                switch (header.keyID, key.keyID) {
                case (let stated?, let known?) where stated.isExactly(known): named.append(pair)
                case (_?, _?): others.append(pair)
                default: unnamed.append(pair)
                }
            }
        }
        if headers.count == 1, keys.count == 1, named.isEmpty, unnamed.isEmpty { unnamed = others }
        let matches = named.isEmpty ? unnamed : named
        guard let match = matches.first else {
            guard others.isEmpty else {
                throw TokenError(.unknownKey, "no key has the “kid” of a recipient")
            }
            if keys.count == 1, let refusal { throw refusal }
            throw TokenError(.algorithmMismatch, "no key is for the algorithms of a recipient")
        }
        guard matches.count == 1 else {
            throw TokenError(
                .ambiguousKey,
                "several keys or recipients match; give each key a different “kid”, and state it in the header"
            )
        }
        self = match
    }

    private init(header: Int, key: Int) {
        self.header = header
        self.key = key
    }
}
