/// The algorithm of a key, and whether it was stated or followed from the kind of the key.
///
/// Making one takes nothing but the names in a JWK: its numbers are not read.
struct AlgorithmChoice: Sendable {
    let details: AlgorithmDescription
    /// Deprecated names of the same operation, under which signatures are accepted because nobody stated another name.
    ///
    /// A key on an Edwards curve that states no algorithm verifies `Ed25519` (or `Ed448`) as well as `EdDSA`: with one key,
    /// both are one operation, so the token chooses nothing. A key that states one name is for that name alone
    /// ([RFC 9864 §5](https://www.rfc-editor.org/rfc/rfc9864#section-5)).
    let synonyms: [JWSAlgorithm]

    /// Returns a Boolean value that indicates whether the key verifies signatures by the algorithm of a name.
    func accepts(_ name: String) -> Bool {
        name.isExactly(details.algorithm.rawValue) || synonyms.contains { name.isExactly($0.rawValue) }
    }

    /// Takes an algorithm that the key or the caller names.
    init(_ details: AlgorithmDescription) {
        self.details = details
        synonyms = []
    }

    /// Takes the algorithm that the caller names, or else the only one that a key can be for.
    ///
    /// Of two names for the same operation, the one that RFC 9864 does not deprecate is taken
    /// ([§4.4](https://www.rfc-editor.org/rfc/rfc9864#section-4.4)).
    ///
    /// - Throws: ``TokenError`` with the code `unsupportedKey`, `unsupportedAlgorithm`, `algorithmRequired` or
    ///   `algorithmMismatch`.
    init(for keyType: KeyType, curve: String?, named wanted: JWSAlgorithm?) throws(TokenError) {
        if let wanted {
            details = try wanted.supportedDetails()
            synonyms = []
            guard details.fits(keyType, curve: curve) else {
                throw TokenError(
                    .algorithmMismatch,
                    "\(wanted) needs another key than \(KeyType.description(keyType, curve: curve))"
                )
            }
            return
        }
        let candidates = AlgorithmDescription.table.filter { $0.fits(keyType, curve: curve) }
        let preferred = candidates.filter(\.isFullySpecified)
        guard let only = preferred.first else {
            throw TokenError(
                .unsupportedKey,
                "no signature algorithm is implemented for \(KeyType.description(keyType, curve: curve))"
            )
        }
        guard preferred.count == 1 else {
            let names = preferred.map(\.algorithm.rawValue).joined(separator: ", ")
            throw TokenError(
                .algorithmRequired,
                "\(KeyType.description(keyType, curve: curve)) can be for \(names), and does not say for which: name the algorithm"
            )
        }
        details = only
        synonyms = candidates.filter { !$0.isFullySpecified }.map(\.algorithm)
    }
}
