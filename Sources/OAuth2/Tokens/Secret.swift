internal import OpenSSLCrypto

/// A text that must not be shown: a token, a client's secret.
///
/// Every description, mirror and dump of it is redacted, it compares in constant time, and the memory is cleared when
/// the last copy goes.
public struct Secret: Sendable, Hashable {
    private let bytes: SecretBytes

    /// Makes a secret from its text.
    ///
    /// - Parameter text: The secret.
    public init(_ text: String) {
        bytes = [UInt8](text.utf8).withBytes { SecretBytes(copying: $0) }
    }

    /// Hands out the text for one use.
    ///
    /// - Parameter body: What uses the text; it must not keep, log or show it.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws.
    public func expose<Result>(_ body: (String) throws -> Result) rethrows -> Result {
        try body(
            bytes.withBytes { bytes in unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) } }
        )
    }

    /// The text after a prefix of ASCII, such as that of an `Authorization` field, made in one piece.
    func text(after prefix: StaticString) -> String {
        bytes.withBytes { bytes in
            let start = prefix.utf8CodeUnitCount
            return unsafe String(unsafeUninitializedCapacity: start + bytes.byteCount) { text in
                unsafe UnsafeMutableRawBufferPointer(text).copyMemory(
                    from: UnsafeRawBufferPointer(start: prefix.utf8Start, count: start)
                )
                unsafe bytes.withUnsafeBytes { bytes in
                    unsafe UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(text)[start...])
                        .copyMemory(from: bytes)
                }
                return start + bytes.byteCount
            }
        }
    }

    /// Whether two secrets are the same, found out in constant time.
    ///
    /// - Parameters:
    ///   - left: One secret.
    ///   - right: The other.
    /// - Returns: Whether they are the same.
    public static func == (left: Self, right: Self) -> Bool { left.bytes == right.bytes }

    /// Feeds a digest of the secret to a hasher.
    ///
    /// - Parameter hasher: The hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(fingerprint)
    }

    /// The first 16 octets of the SHA-256 digest: enough to recognize a secret by, and nothing to recover it from.
    package var fingerprint: [UInt8] {
        bytes.withBytes { bytes in
            guard let digest = try? HashFunction.sha256.hash(bytes) else { return [] }
            return Array(digest.prefix(16))
        }
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Always `<redacted>`.
    public var description: String { "<redacted>" }
    /// Always `<redacted>`.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension [UInt8] {
    /// The octets as lower-case hexadecimal digits.
    var hexadecimal: String {
        reduce(into: "") { text, octet in
            text += String(octet >> 4, radix: 16)
            text += String(octet & 0x0F, radix: 16)
        }
    }
}
