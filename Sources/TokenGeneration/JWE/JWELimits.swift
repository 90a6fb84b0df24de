/// The maximum size of a JWE, so that an untrusted text can't exhaust the process.
///
/// A text that exceeds a limit is rejected with the code `tooLarge`, before any decryption.
public struct JWELimits: Sendable, Hashable {
    /// The maximum size of the whole text in bytes, 256 KiB by default.
    public var size: Int
    /// The maximum size of a protected header's JSON in bytes, 8 KiB by default.
    public var headerSize: Int
    /// The maximum number of recipients in a JSON serialization, 16 by default.
    ///
    /// Only one of them is decrypted.
    public var recipientCount: Int
    /// The maximum nesting depth of objects and arrays in JSON, 64 by default and at most
    /// 512.
    ///
    /// A larger number becomes 512, because each level uses stack space.
    public var depth: Int {
        didSet { depth = min(depth, JWSLimits.maximumDepth) }
    }
    /// The maximum number of members in one JSON object, 1000 by default.
    public var memberCount: Int

    /// Creates limits.
    ///
    /// - Parameters:
    ///   - size: The maximum size of the whole text in bytes. The default is 256 KiB.
    ///   - headerSize: The maximum size of a protected header's JSON in bytes. The default is 8
    ///     KiB.
    ///   - recipientCount: The maximum number of recipients in a JSON serialization. The default is
    ///     16.
    ///   - depth: The maximum nesting depth of objects and arrays in JSON. The default is 64; more
    ///     than 512 counts as that.
    ///   - memberCount: The maximum number of members in one JSON object. The default is 1000.
    public init(
        size: Int = 262_144,
        headerSize: Int = 8_192,
        recipientCount: Int = 16,
        depth: Int = 64,
        memberCount: Int = 1_000
    ) {
        self.size = size
        self.headerSize = headerSize
        self.recipientCount = recipientCount
        self.depth = min(depth, JWSLimits.maximumDepth)
        self.memberCount = memberCount
    }
}

extension JWELimits {
    /// The maximum size of an encrypted key in bytes: RSA with 8192 bits.
    static let encryptedKeySize = 1_024
    /// The maximum size of the information about a party of a key agreement, in bytes.
    static let partyInfoSize = 256
    /// The maximum size of a salt in bytes.
    static let saltSize = 1_024

    /// The limits for a JSON serialization.
    var document: JSONLimits { JSONLimits(size: size, depth: depth, members: memberCount) }

    /// The limits for a protected header, which are also those of a JWS.
    var header: JWSLimits { JWSLimits(size: size, headerSize: headerSize, depth: depth, memberCount: memberCount) }
}
