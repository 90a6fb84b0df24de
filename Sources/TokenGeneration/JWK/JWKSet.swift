public import FoundationEssentials
import Synchronization

/// A set of JSON Web Keys ([RFC 7517 §5](https://www.rfc-editor.org/rfc/rfc7517#section-5)).
///
/// Parsing tolerates invalid entries: an entry that isn't a JWK is skipped, and the reason is in
/// ``rejections``. Keys of types that this package can't use are kept as documents.
///
/// Parsing doesn't process any key. The set prepares a key once, when a token first refers to it.
/// Copies of a set share the prepared keys, and concurrent threads that need a key wait until one
/// of them has prepared it.
public struct JWKSet: Sendable {
    /// An entry of the JSON that is not a JWK.
    public struct Rejection: Sendable {
        /// The index of the entry in the array, from 0.
        public let index: Int
        /// The reason why the entry was rejected.
        public let reason: TokenError
    }

    /// A key that can't verify.
    public struct UnusableKey: Sendable {
        /// The key.
        public let key: JWK
        /// The reason why the key can't verify.
        public let reason: TokenError
    }

    package static let maximumCount = 1_000

    /// The keys, in order.
    public let keys: [JWK]
    /// The entries that were rejected when the set was parsed.
    public let rejections: [Rejection]
    package let maximumRSAKeySize: Int

    let entries: [KeySetEntry]

    /// Creates a set of keys.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - maximumRSAKeySize: The maximum RSA modulus size in bits for keys that verify. The
    ///     default, 8192, is also the maximum.
    public init(keys: [JWK], maximumRSAKeySize: Int = 8_192) {
        self.init(keys, [], maximumRSAKeySize)
    }

    /// Parses a set from JSON text.
    ///
    /// - Parameters:
    ///   - text: An object whose member `keys` is an array.
    ///   - maximumRSAKeySize: The maximum RSA modulus size in bits for keys that verify. The
    ///     default, 8192, is also the maximum. For a set that another party publishes, 4096 is
    ///     enough.
    /// - Throws: ``TokenError`` with the code `malformedJSON`, `tooLarge`, or `malformedKey` if the
    ///   array `keys` is missing. An entry that isn't a JWK is not an error.
    public init(parsing text: String, maximumRSAKeySize: Int = 8_192) throws(TokenError) {
        try self.init(JSONObject(parsing: text), maximumRSAKeySize)
    }

    /// Parses a set from JSON text in UTF-8.
    ///
    /// - Parameters:
    ///   - data: An object whose member `keys` is an array.
    ///   - maximumRSAKeySize: The maximum RSA modulus size in bits, as for
    ///     ``init(parsing:maximumRSAKeySize:)-(String,_)``.
    /// - Throws: ``TokenError`` with the code `malformedJSON`, `tooLarge`, or `malformedKey` if the
    ///   array `keys` is missing. An entry that isn't a JWK is not an error.
    public init(parsing data: Data, maximumRSAKeySize: Int = 8_192) throws(TokenError) {
        try self.init(JSONObject(parsing: data), maximumRSAKeySize)
    }

    private init(_ keys: [JWK], _ rejections: [Rejection], _ maximumRSAKeySize: Int) {
        let limit = min(max(maximumRSAKeySize, 2_048), RSAKeyLimit.configuration)
        self.keys = keys
        self.rejections = rejections
        self.maximumRSAKeySize = limit
        entries = keys.map { KeySetEntry($0, maximumRSAKeySize: limit) }
    }

    private init(_ members: JSONObject, _ maximumRSAKeySize: Int) throws(TokenError) {
        guard let entries = members["keys"]?.array else {
            throw TokenError(.malformedKey, "the key set must have an array “keys”")
        }
        guard entries.count <= Self.maximumCount else {
            throw TokenError(.tooLarge, "the key set has \(entries.count) keys, but the limit is \(Self.maximumCount)")
        }
        var keys: [JWK] = []
        var rejections: [Rejection] = []
        for (index, entry) in entries.enumerated() {
            do throws(TokenError) {
                guard let object = entry.object else {
                    throw TokenError(.malformedKey, "a key must be an object, not \(entry.kind)")
                }
                keys.append(try JWK(object))
            } catch {
                rejections.append(Rejection(index: index, reason: error))
            }
        }
        self.init(keys, rejections, maximumRSAKeySize)
    }

    /// Returns the keys with an ID, compared code point by code point.
    ///
    /// - Parameter keyID: The `kid` to find.
    /// - Returns: The keys in order; more than one if the set repeats the ID.
    public func keys(withID keyID: String) -> [JWK] {
        keys.filter { $0.keyID?.isExactly(keyID) ?? false }
    }

    /// Returns the keys that a verifier with the given selection ignores, with the reasons.
    ///
    /// These are keys of unsupported types, keys for encryption, damaged keys, and keys for which
    /// the caller must name an algorithm. Entries that aren't JWKs are in ``rejections``. This
    /// method prepares every key of the set that isn't prepared yet.
    ///
    /// - Parameter selection: The rules of key selection, as for
    ///   ``JWTVerifier/init(keys:selection:policy:)``.
    /// - Returns: The keys, in order.
    public func unusableKeys(_ selection: KeySelection = KeySelection()) -> [UnusableKey] {
        zip(entries, selection.choices(for: keys)).compactMap { entry, choice in
            guard case .failure(let reason) = entry.key(for: choice) else { return nil }
            return UnusableKey(key: entry.jwk, reason: reason)
        }
    }

    package var preparationCount: Int { entries.reduce(0) { $0 + $1.preparationCount } }

    /// Returns the set as JSON for publication: public parts only, without symmetric keys.
    ///
    /// - Returns: The JSON text, the same for equal sets.
    public func serialized() -> String {
        publicMembers.serialized()
    }

    /// Returns the same JSON as ``serialized()``, in UTF-8.
    ///
    /// - Returns: The JSON text in UTF-8.
    public func serializedData() -> Data {
        publicMembers.serializedData()
    }

    private var publicMembers: JSONObject {
        let publicKeys = keys.filter { KeyType(rawValue: $0.keyType) != .oct }
        return ["keys": .array(publicKeys.map { .object($0.publicPart.members) })]
    }

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

    /// Returns the key in the set to encrypt with, such as a client's key from its `jwks_uri`.
    ///
    /// Keys with another `alg`, with a `use` other than `enc`, and symmetric keys are ignored.
    ///
    /// - Parameters:
    ///   - algorithm: The algorithm to encrypt with.
    ///   - keyID: The key's ID. The default, `nil`, is for sets with one matching key.
    /// - Returns: The key, with its ID.
    /// - Throws: ``TokenError`` with the code `unknownKey` if no key matches, `ambiguousKey` if
    ///   several match, or the reason why the only matching key can't be used.
    public func encryptionKey(for algorithm: JWEAlgorithm, keyID: String? = nil) throws(TokenError) -> EncryptionKey {
        let matches = keys.filter { jwk in
            guard let stated = try? jwk.statedEncryption(for: .encryption, algorithm, nil), stated.type != .oct,
                algorithm.details.fits(stated.type, curve: stated.curve)
            else { return false }
            return keyID.map { jwk.keyID?.isExactly($0) ?? false } ?? true
        }
        guard let jwk = matches.first else {
            throw TokenError(.unknownKey, "the key set has no matching key to encrypt with \(algorithm)")
        }
        guard matches.count == 1 else {
            throw TokenError(.ambiguousKey, "several keys in the set can encrypt with \(algorithm); name the key's ID")
        }
        return try EncryptionKey(
            jwk: jwk,
            algorithm: algorithm,
            encryption: nil,
            maximumRSAKeySize: maximumRSAKeySize
        )
    }
}

/// A key of a set, which is prepared when it is first needed.
///
/// Preparing imports the key into OpenSSL, which takes up to a few milliseconds. It happens once
/// per algorithm, under a lock: other threads that need the key wait.
final class KeySetEntry: Sendable {
    private struct Prepared: Sendable {
        let algorithm: JWSAlgorithm
        let hasSynonyms: Bool
        let key: Result<VerificationKey, TokenError>
    }

    let jwk: JWK
    private let maximumRSAKeySize: Int
    /// Several if verifiers assume different algorithms for a key without `alg`.
    private let prepared = Mutex<[Prepared]>([])
    private let preparations = Atomic(0)

    init(_ jwk: JWK, maximumRSAKeySize: Int) {
        self.jwk = jwk
        self.maximumRSAKeySize = maximumRSAKeySize
    }

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

    var preparationCount: Int { preparations.load(ordering: .relaxed) }

    /// Distinguishes entries with different keys; `nil` if only the prepared keys can be compared.
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
