/// The maximum size of an SD-JWT, so that an untrusted text can't exhaust the process.
///
/// A text that exceeds a limit is rejected with the code `tooLarge`, before any decoding where
/// possible. The limits of the policy, ``ValidationPolicy/limits``, apply to the issuer-signed JWT,
/// except for its size: the size of its header, and the nesting and members of its JSON.
public struct SDJWTLimits: Sendable, Hashable {
    /// The maximum size of the whole text in bytes, 256 KiB by default.
    public var size: Int
    /// The maximum number of disclosures, 256 by default.
    public var disclosureCount = 256
    /// The maximum size of one disclosure's text in bytes, 16 KiB by default.
    public var disclosureSize = 16_384
    /// The maximum number of digests in the payload and the disclosures, including decoys, 1024 by
    /// default.
    public var digestCount = 1_024
    /// The maximum nesting depth of objects and arrays in the processed claims, 16 by default and
    /// at most 512.
    ///
    /// A larger number becomes 512, because each level uses stack space.
    public var depth: Int {
        get { allowedDepth }
        set { allowedDepth = min(newValue, JWSLimits.maximumDepth) }
    }
    private var allowedDepth = 16

    /// Creates limits.
    ///
    /// The other limits have their default values. You can change them later.
    ///
    /// - Parameter size: The maximum size of the whole text in bytes. The default is 256 KiB.
    public init(size: Int = 262_144) {
        self.size = size
    }
}

extension SDJWTLimits {
    func check(size: Int) throws(TokenError) {
        try check(size, self.size, "the SD-JWT has \(size) bytes, but the limit is \(self.size)")
    }

    func check(disclosureCount count: Int) throws(TokenError) {
        try check(count, disclosureCount, "the SD-JWT has more than \(disclosureCount) disclosures")
    }

    func check(disclosureSize size: Int) throws(TokenError) {
        try check(size, disclosureSize, "a disclosure has \(size) bytes, but the limit is \(disclosureSize)")
    }

    func check(digestCount count: Int) throws(TokenError) {
        try check(count, digestCount, "the SD-JWT has more than \(digestCount) digests")
    }

    func check(depth: Int) throws(TokenError) {
        try check(depth, self.depth, "the claims of the SD-JWT have more than \(self.depth) levels")
    }

    private func check(_ count: Int, _ limit: Int, _ message: @autoclosure () -> String) throws(TokenError) {
        guard count <= limit else { throw TokenError(.tooLarge, message()) }
    }
}
