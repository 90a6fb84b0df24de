/// The algorithm of a key, either stated or implied by the key's type.
///
/// It depends only on the names in a JWK. The numbers aren't read.
struct AlgorithmChoice: Sendable {
    let details: AlgorithmDescription
    /// Deprecated names of the same operation that are also accepted, if no name was stated.
    ///
    /// A key on an Edwards curve that doesn't state an algorithm verifies both `Ed25519` (or
    /// `Ed448`) and `EdDSA`. With one key, both are the same operation, so the token can't choose
    /// anything. A key that states a name accepts that name only
    /// ([RFC 9864 §5](https://www.rfc-editor.org/rfc/rfc9864#section-5)).
    let synonyms: [JWSAlgorithm]

    /// Returns a Boolean value that indicates whether the key verifies signatures of a named
    /// algorithm.
    func accepts(_ name: String) -> Bool {
        name.isExactly(details.algorithm.rawValue) || synonyms.contains { name.isExactly($0.rawValue) }
    }

    /// Creates the choice of an algorithm that the key or the caller names.
    init(_ details: AlgorithmDescription) {
        self.details = details
        synonyms = []
    }

    /// Creates the choice of the algorithm that the caller names, or of the only one that the key
    /// supports.
    ///
    /// If two names stand for the same operation, the choice is the one that RFC 9864 doesn't
    /// deprecate ([§4.4](https://www.rfc-editor.org/rfc/rfc9864#section-4.4)).
    ///
    /// - Throws: ``TokenError`` with the code `unsupportedKey`, `unsupportedAlgorithm`,
    ///   `algorithmRequired` or `algorithmMismatch`.
    init(for keyType: KeyType, curve: String?, named wanted: JWSAlgorithm?) throws(TokenError) {
        if let wanted {
            details = try wanted.supportedDetails()
            synonyms = []
            guard details.fits(keyType, curve: curve) else {
                throw TokenError(
                    .algorithmMismatch,
                    "\(wanted) can't use \(KeyType.description(keyType, curve: curve))"
                )
            }
            return
        }
        let candidates = AlgorithmDescription.table.filter { $0.fits(keyType, curve: curve) }
        let preferred = candidates.filter(\.isFullySpecified)
        guard let only = preferred.first else {
            throw TokenError(
                .unsupportedKey,
                "no supported signature algorithm uses \(KeyType.description(keyType, curve: curve))"
            )
        }
        guard preferred.count == 1 else {
            let names = preferred.map(\.algorithm.rawValue).joined(separator: ", ")
            throw TokenError(
                .algorithmRequired,
                "\(KeyType.description(keyType, curve: curve)) can be used with \(names); name the algorithm"
            )
        }
        details = only
        synonyms = candidates.filter { !$0.isFullySpecified }.map(\.algorithm)
    }
}
