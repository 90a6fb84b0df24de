import Synchronization

/// A key of a set, which is prepared when it is first needed.
///
/// Preparing decodes and checks the numbers and imports the key into OpenSSL, which takes up to a
/// few milliseconds. It happens once per algorithm, under a lock: other threads that need the key
/// wait.
final class KeySetEntry: Sendable {
    private struct Prepared: Sendable {
        let algorithm: JWSAlgorithm
        let hasSynonyms: Bool
        let key: Result<VerificationKey, TokenError>
    }

    let jwk: JWK
    private let maximumRSAKeySize: Int
    /// The prepared keys: one, or more if verifiers assume different algorithms for a key without
    /// `alg`.
    private let prepared = Mutex<[Prepared]>([])
    private let preparations = Atomic(0)

    init(_ jwk: JWK, maximumRSAKeySize: Int) {
        self.jwk = jwk
        self.maximumRSAKeySize = maximumRSAKeySize
    }

    /// Returns the prepared key for an algorithm, or the reason why it can't verify.
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

    /// The number of preparations of the key.
    var preparationCount: Int { preparations.load(ordering: .relaxed) }

    /// The bytes that distinguish entries with different keys, or `nil` if only the prepared keys
    /// can be compared.
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
