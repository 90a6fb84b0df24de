internal import OpenSSLCrypto
public import TokenGeneration

/// A text that must stay secret, such as a token or a client secret.
///
/// Every description, mirror and dump of it is redacted. Secrets compare in constant time, and the
/// memory is cleared when the last copy is released.
public struct Secret: Sendable, Hashable, Redacted {
    private let bytes: SecretBytes

    /// Creates a secret from its text.
    ///
    /// - Parameter text: The text.
    public init(_ text: String) {
        bytes = [UInt8](text.utf8).withBytes { SecretBytes(copying: $0) }
    }

    /// Calls a closure with the text.
    ///
    /// - Parameter body: A closure that uses the text. It must not keep, log or show it.
    /// - Returns: The closure's result.
    /// - Throws: Any error of the closure.
    public func expose<Result>(_ body: (String) throws -> Result) rethrows -> Result {
        try body(
            bytes.withBytes { bytes in unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) } }
        )
    }

    /// Feeds a digest of the secret to a hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(fingerprint)
    }

    /// The first 16 bytes of the SHA-256 digest: enough to recognize a secret, not to recover it.
    package var fingerprint: [UInt8] {
        bytes.withBytes { bytes in
            guard let digest = try? HashFunction.sha256.hash(bytes) else { return [] }
            return Array(digest.prefix(16))
        }
    }

    /// Always `<redacted>`.
    public var description: String { "<redacted>" }
}
