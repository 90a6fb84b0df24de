import TokenGeneration

extension JWSLimits {
    /// Creates limits that differ from the defaults.
    init(
        size: Int = 65_536,
        headerSize: Int = 8_192,
        signatureCount: Int = 100,
        depth: Int = 64,
        memberCount: Int = 1_000
    ) {
        self.init(size: size)
        self.headerSize = headerSize
        self.signatureCount = signatureCount
        self.depth = depth
        self.memberCount = memberCount
    }
}
