/// The maximum size of a JWE, so that an untrusted text can't exhaust the process.
///
/// A text that exceeds a limit is rejected with the code `tooLarge`, before any decryption.
public struct JWELimits: Sendable, Hashable {
    /// The maximum size of the whole text in bytes, 256 KiB by default.
    public var size: Int
    /// The maximum size of a protected header's JSON in bytes, 8 KiB by default.
    public var headerSize = 8_192
    /// The maximum number of recipients in a JSON serialization, 16 by default.
    ///
    /// Only one of them is decrypted.
    public var recipientCount = 16
    /// The maximum nesting depth of objects and arrays in JSON, 64 by default and at most 512.
    ///
    /// A larger number becomes 512, because each level uses stack space.
    public var depth: Int {
        get { allowedDepth }
        set { allowedDepth = min(newValue, JWSLimits.maximumDepth) }
    }
    private var allowedDepth = 64
    /// The maximum number of members in one JSON object, 1000 by default.
    public var memberCount = 1_000

    /// Creates limits.
    ///
    /// The other limits have their default values. You can change them later.
    ///
    /// - Parameter size: The maximum size of the whole text in bytes. The default is 256 KiB.
    public init(size: Int = 262_144) {
        self.size = size
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
    var header: JWSLimits {
        var limits = JWSLimits(size: size)
        limits.headerSize = headerSize
        limits.depth = depth
        limits.memberCount = memberCount
        return limits
    }
}
