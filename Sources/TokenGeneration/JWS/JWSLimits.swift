/// How large a JWS may be to be looked at at all, so that a text from outside can't exhaust the process.
///
/// A text beyond a limit is refused with the code `tooLarge`, before anything of it is decoded where that is possible.
public struct JWSLimits: Sendable, Hashable {
    /// The most bytes of the whole text: 64 KiB by default.
    ///
    /// A detached payload does not count: it is the caller's.
    public var size: Int
    /// The most bytes of a header's JSON: 8 KiB by default.
    public var headerSize: Int
    /// The most signatures of a JSON serialization: 100 by default.
    ///
    /// Every signature costs a verification, so that few are wise where keys are slow.
    public var signatureCount: Int
    /// The most levels of objects and arrays in JSON: 64 by default, and ``maximumDepth`` at most.
    ///
    /// A larger number becomes ``maximumDepth``: each level takes space on the thread's stack.
    public var depth: Int {
        didSet { depth = min(depth, Self.maximumDepth) }
    }
    /// The most members of one JSON object: 1000 by default.
    public var memberCount: Int

    /// The most levels of objects and arrays that any limit allows: 512.
    public static let maximumDepth = 512

    /// Makes limits.
    ///
    /// - Parameters:
    ///   - size: The most bytes of the whole text.
    ///   - headerSize: The most bytes of a header's JSON.
    ///   - signatureCount: The most signatures of a JSON serialization.
    ///   - depth: The most levels of objects and arrays in JSON; more than ``maximumDepth`` become that many.
    ///   - memberCount: The most members of one JSON object.
    public init(
        size: Int = 65_536,
        headerSize: Int = 8_192,
        signatureCount: Int = 100,
        depth: Int = 64,
        memberCount: Int = 1_000
    ) {
        self.size = size
        self.headerSize = headerSize
        self.signatureCount = signatureCount
        self.depth = min(depth, Self.maximumDepth)
        self.memberCount = memberCount
    }
}

extension JWSLimits {
    /// The limits of a header's JSON.
    var header: JSONLimits { JSONLimits(size: headerSize, depth: depth, members: memberCount) }
    /// The limits of a JSON serialization.
    var document: JSONLimits { JSONLimits(size: size, depth: depth, members: memberCount) }

    /// Refuses a header by the length of its base64url, so that a huge one costs nothing.
    ///
    /// - Throws: ``TokenError`` with the code `tooLarge`.
    func check(encodedHeaderSize size: Int) throws(TokenError) {
        guard size / 4 * 3 + size % 4 * 3 / 4 <= headerSize else {
            throw TokenError(.tooLarge, "the header has more than \(headerSize) bytes")
        }
    }
}
