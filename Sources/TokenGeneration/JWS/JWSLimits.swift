/// The maximum size of a JWS, so that an untrusted text can't exhaust the process.
///
/// A text that exceeds a limit is rejected with the code `tooLarge`, before any decoding where
/// possible.
public struct JWSLimits: Sendable, Hashable {
    /// The maximum size of the whole text in bytes, 64 KiB by default.
    ///
    /// A detached payload doesn't count, because it comes from the caller.
    public var size: Int
    /// The maximum size of a header's JSON in bytes, 8 KiB by default.
    public var headerSize = 8_192
    /// The maximum number of signatures in a JSON serialization, 100 by default.
    ///
    /// Each signature costs a verification. Use a low limit with slow keys.
    public var signatureCount = 100
    /// The maximum nesting depth of objects and arrays in JSON, 64 by default and at most 512.
    ///
    /// A larger number becomes 512, because each level uses stack space.
    public var depth: Int {
        get { allowedDepth }
        set { allowedDepth = min(newValue, Self.maximumDepth) }
    }
    private var allowedDepth = 64
    /// The maximum number of members in one JSON object, 1000 by default.
    public var memberCount = 1_000

    /// The maximum nesting depth that any limit allows.
    package static let maximumDepth = 512

    /// Creates limits.
    ///
    /// The other limits have their default values. You can change them later.
    ///
    /// - Parameter size: The maximum size of the whole text in bytes. The default is 64 KiB.
    public init(size: Int = 65_536) {
        self.size = size
    }
}

extension JWSLimits {
    /// The limits for a header's JSON.
    var header: JSONLimits { JSONLimits(size: headerSize, depth: depth, members: memberCount) }
    /// The limits for a JSON serialization.
    var document: JSONLimits { JSONLimits(size: size, depth: depth, members: memberCount) }

    /// Parses the claims in a payload of any size.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken` or `tooLarge`.
    func claims(in payload: [UInt8]) throws(TokenError) -> JSONObject {
        let limits = JSONLimits(size: payload.count, depth: depth, members: memberCount)
        return try JSONToken.object(in: payload, limits, "payload")
    }

    /// Parses a protected header in base64url; one that is too long isn't decoded.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken` or `tooLarge`.
    func protectedHeader(in text: Span<UInt8>) throws(TokenError) -> JSONObject {
        guard text.count / 4 * 3 + text.count % 4 * 3 / 4 <= headerSize else {
            throw TokenError(.tooLarge, "the header has more than \(headerSize) bytes")
        }
        return try JSONToken.object(in: Base64URL.decode(text, "header"), header, "header")
    }
}
