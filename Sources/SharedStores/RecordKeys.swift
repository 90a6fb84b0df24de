public import OAuth2

/// The keys that encrypt records before they leave the process.
///
/// ```swift
/// let keys = try RecordKeys(sealing: Secret(newKey), alsoOpening: [Secret(oldKey)])
/// ```
///
/// To replace a key without a stop, first give all hosts the new key in `alsoOpening`, then seal
/// with it and keep the old one in `alsoOpening`, and remove that when all records have been
/// written again.
public struct RecordKeys: Sendable {
    let cipher: RecordCipher

    /// Creates keys.
    ///
    /// - Parameters:
    ///   - sealing: The key that encrypts records with AES-256-GCM: 32 bytes as base64 or base64url
    ///     text, the same on all hosts.
    ///   - opening: Other keys that records may be encrypted with. The default is an empty list.
    /// - Throws: `OAuth2Error` with the code `storeFailed` if a key is invalid.
    public init(sealing: Secret, alsoOpening opening: [Secret] = []) throws(OAuth2Error) {
        cipher = try RecordCipher(sealingKey: sealing, openingKeys: opening)
    }
}
