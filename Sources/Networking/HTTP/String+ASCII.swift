extension StringProtocol {
    /// The text with a question mark in place of each byte that isn't ASCII.
    ///
    /// For text whose syntax is ASCII: characters that combine are compared by normalizing them, in quadratic time.
    package var asciiOnly: String {
        if utf8.allSatisfy({ $0 < 0x80 }) { return String(self) }
        return String(decoding: utf8.map { $0 < 0x80 ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    }

    /// The parts between spaces, without those that are empty.
    ///
    /// It splits bytes, because splitting characters costs quadratic time for a run of combining ones.
    package var spaceSeparated: [String] {
        utf8.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
    }
}
