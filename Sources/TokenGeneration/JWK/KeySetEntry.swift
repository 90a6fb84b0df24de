import Synchronization

/// A key of a set, which is prepared when it is first needed.
///
/// Preparing means decoding and checking its numbers and importing it into OpenSSL, which takes up to a few milliseconds. It
/// happens once for each algorithm that the key is used for, and under a lock: threads that need the key at the same time wait
/// for the one that prepares it.
final class KeySetEntry: Sendable {
    private struct Prepared: Sendable {
        let algorithm: JWSAlgorithm
        let hasSynonyms: Bool
        let key: Result<VerificationKey, TokenError>
    }

    let jwk: JWK
    private let maximumRSAKeySize: Int
    /// One entry; more only if verifiers assume different algorithms for a key that states none.
    private let prepared = Mutex<[Prepared]>([])
    private let preparations = Atomic(0)

    init(_ jwk: JWK, maximumRSAKeySize: Int) {
        self.jwk = jwk
        self.maximumRSAKeySize = maximumRSAKeySize
    }

    /// Returns the prepared key, or why it can't verify.
    ///
    /// - Parameter choice: The algorithm that the key is for.
    /// - Returns: The key, or the reason.
    func key(for choice: Result<AlgorithmChoice, TokenError>) -> Result<VerificationKey, TokenError> {
        choice.flatMap { choice in
            prepared.withLock { prepared in
                let (algorithm, hasSynonyms) = (choice.details.algorithm, !choice.synonyms.isEmpty)
                if let known = prepared.first(where: { $0.algorithm == algorithm && $0.hasSynonyms == hasSynonyms }) {
                    return known.key
                }
                preparations.add(1, ordering: .relaxed)
                let key = Result { () throws(TokenError) in
                    try VerificationKey(jwk, choice, maximumRSAKeySize: maximumRSAKeySize)
                }
                prepared.append(Prepared(algorithm: algorithm, hasSynonyms: hasSynonyms, key: key))
                return key
            }
        }
    }

    /// The number of times that the key was prepared.
    var preparationCount: Int { preparations.load(ordering: .relaxed) }

    /// The bytes that differ between entries with different keys; `nil` if only the prepared keys can tell.
    var identity: [UInt8]? {
        // A certificate may belong to only one of two entries with the same key.
        guard jwk.members["x5c"] == nil, let names = KeyType(rawValue: jwk.keyType).thumbprintMembers else {
            return nil
        }
        var members = JSONObject()
        for name in names { members[name] = jwk.members[name] }
        return members.serializedBytes()
    }
}
