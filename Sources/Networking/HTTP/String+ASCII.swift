extension StringProtocol {
    /// The text with each non-ASCII byte replaced by a question mark.
    ///
    /// For text with an ASCII syntax: comparing combining characters takes quadratic time.
    package var asciiOnly: String {
        if utf8.allSatisfy({ $0 < 0x80 }) { return String(self) }
        return String(decoding: utf8.map { $0 < 0x80 ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    }

    /// The non-empty parts between spaces.
    ///
    /// It splits bytes: splitting characters takes quadratic time for a run of combining ones.
    package var spaceSeparated: [String] {
        utf8.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
    }
}
