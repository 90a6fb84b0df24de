/// OpenSSL's objects for some keys, each created once per process.
struct FetchedValues<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let results: [Key: Result<Value, CryptoError>]

    init(_ keys: [Key], make: (Key) throws(CryptoError) -> Value) {
        results = Dictionary(
            uniqueKeysWithValues: keys.map { key in (key, Result { () throws(CryptoError) in try make(key) }) }
        )
    }

    /// Returns the object for a key, or throws the error of its creation.
    subscript(key: Key) -> Value {
        get throws(CryptoError) {
            guard let result = results[key] else { throw CryptoError(.openSSL, "No object exists for \(key)") }
            return try result.get()
        }
    }
}
