public import Foundation

/// A set of JSON Web Keys ([RFC 7517 §5](https://www.rfc-editor.org/rfc/rfc7517#section-5)).
///
/// Reading a set is tolerant per key: an entry that is no JWK is left out and its reason kept in ``rejections``. Keys of
/// kinds that this package can't use are kept, as documents.
///
/// Reading a set computes nothing with its keys. A key is prepared when a token first names it, once: copies of a set share
/// the prepared keys, and threads that need one key at the same time wait for one of them to prepare it.
public struct JWKSet: Sendable {
    /// An entry of the JSON that is not a JWK.
    public struct Rejection: Sendable {
        /// The entry's place in the array, from 0.
        public let index: Int
        /// What is wrong with it.
        public let reason: TokenError
    }

    /// A key that can't verify.
    public struct UnusableKey: Sendable {
        /// The key.
        public let key: JWK
        /// Why it can't.
        public let reason: TokenError
    }

    /// The most keys that a set may have: 1000.
    public static let maximumCount = 1_000

    /// The keys, in order.
    public let keys: [JWK]
    /// What was left out when the set was read.
    public let rejections: [Rejection]
    /// The largest RSA modulus, in bits, that a key of the set may have to verify: 2048 to 8192.
    public let maximumRSAKeySize: Int

    /// The keys as verifiers use them, in the same order.
    let entries: [KeySetEntry]

    /// Makes a set of keys.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - maximumRSAKeySize: The largest RSA modulus, in bits, that a key may have to verify; 8192 by default, and at most.
    public init(keys: [JWK], maximumRSAKeySize: Int = 8_192) {
        self.init(keys, [], maximumRSAKeySize)
    }

    /// Reads a set from JSON text.
    ///
    /// - Parameters:
    ///   - text: An object whose member `keys` is an array.
    ///   - maximumRSAKeySize: The largest RSA modulus, in bits, that a key may have to verify; 8192 by default, and at most.
    ///     For a set that another party publishes, 4096 is enough.
    /// - Throws: ``TokenError`` with the code `malformedJSON`, `tooLarge`, or, if there is no array `keys`, `malformedKey`.
    ///   An entry that is no JWK is not an error.
    public init(parsing text: String, maximumRSAKeySize: Int = 8_192) throws(TokenError) {
        try self.init(JSONObject(parsing: text), maximumRSAKeySize)
    }

    /// Reads a set from JSON text in UTF-8.
    ///
    /// - Parameters:
    ///   - data: An object whose member `keys` is an array.
    ///   - maximumRSAKeySize: As for ``init(parsing:maximumRSAKeySize:)-(String,_)``.
    /// - Throws: ``TokenError`` with the code `malformedJSON`, `tooLarge`, or, if there is no array `keys`, `malformedKey`.
    ///   An entry that is no JWK is not an error.
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
            throw TokenError(.malformedKey, "the key set needs a member “keys” that is an array")
        }
        guard entries.count <= Self.maximumCount else {
            throw TokenError(.tooLarge, "the key set has \(entries.count) keys, the limit is \(Self.maximumCount)")
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
}

extension JWKSet {
    /// The keys with an ID, compared code point by code point.
    ///
    /// - Parameter keyID: The `kid` to look for.
    /// - Returns: The keys in order; more than one if the set repeats the ID.
    public func keys(withID keyID: String) -> [JWK] {
        keys.filter { $0.keyID?.isExactly(keyID) ?? false }
    }

    /// The one key with an ID, or `nil` if there is none or more than one.
    ///
    /// - Parameter keyID: The `kid` to look for.
    /// - Returns: The key, or `nil`.
    public subscript(keyID: String) -> JWK? {
        let matches = keys(withID: keyID)
        return matches.count == 1 ? matches.first : nil
    }

    /// The keys that a verifier with these rules passes over, and why: those of kinds that this package can't use, those for
    /// encryption, damaged ones, and those that need the caller to name an algorithm.
    ///
    /// Entries that aren't JWKs are in ``rejections``. This prepares every key of the set that is not yet prepared.
    ///
    /// - Parameter selection: The rules, as for ``JWTVerifier/init(keys:selection:policy:)``.
    /// - Returns: The keys, in order.
    public func unusableKeys(_ selection: KeySelection = KeySelection()) -> [UnusableKey] {
        zip(entries, selection.choices(for: keys)).compactMap { entry, choice in
            guard case .failure(let reason) = entry.key(for: choice) else { return nil }
            return UnusableKey(key: entry.jwk, reason: reason)
        }
    }

    /// The number of times that a key of the set was prepared.
    package var preparationCount: Int { entries.reduce(0) { $0 + $1.preparationCount } }

    /// The set as JSON, fit to be published: public parts only, without symmetric keys.
    ///
    /// - Returns: The JSON text, the same for equal sets.
    public func serialized() -> String {
        publicMembers.serialized()
    }

    /// The same JSON as ``serialized()``, in UTF-8.
    ///
    /// - Returns: The JSON text in UTF-8.
    public func serializedData() -> Data {
        publicMembers.serializedData()
    }

    private var publicMembers: JSONObject {
        let publicKeys = keys.filter { KeyType(rawValue: $0.keyType) != .oct }
        return ["keys": .array(publicKeys.map { .object($0.publicPart.members) })]
    }
}
