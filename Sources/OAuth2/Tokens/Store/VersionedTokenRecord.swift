internal import OpenSSLCrypto

/// A record and the version that a writer must name to replace it.
public struct VersionedTokenRecord: Sendable, Hashable {
    /// The record.
    public let record: TokenRecord
    /// The version, which differs from that of every other record with the same key.
    public let version: TokenRecordVersion

    /// Creates a versioned record.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - version: The record's version.
    public init(record: TokenRecord, version: TokenRecordVersion) {
        self.record = record
        self.version = version
    }
}

/// The version of a stored record: a text that only the store understands, such as an entity tag or
/// a revision number.
public struct TokenRecordVersion: Sendable, Hashable, CustomStringConvertible {
    private let compared: ByteComparedString

    /// Creates a version.
    ///
    /// - Parameter text: The store's text, which is compared byte by byte.
    public init(_ text: String) {
        compared = ByteComparedString(text)
    }

    /// The store's text.
    public var description: String { compared.text }
}
