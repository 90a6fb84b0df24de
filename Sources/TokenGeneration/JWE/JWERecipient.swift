/// A recipient of a JWE: a key, and the header for it.
public struct JWERecipient: Sendable {
    let key: EncryptionKey
    let header: JSONObject

    /// Creates a recipient.
    ///
    /// - Parameters:
    ///   - key: The key that encrypts for the recipient.
    ///   - header: Members of the recipient's header, which only a JSON serialization has, and
    ///     which anyone can change. If it has `kid`, the protected header doesn't.
    public init(key: EncryptionKey, header: JSONObject = [:]) {
        self.key = key
        self.header = header
    }
}
