/// The byte range of a representation that a response contains
/// ([RFC 9110 §14.4](https://www.rfc-editor.org/rfc/rfc9110#section-14.4)).
struct ContentRange: Equatable {
    /// The positions of the first and the last byte.
    let range: ClosedRange<Int>
    /// The length of the whole representation, or `nil` if the server doesn't know it.
    let total: Int?

    init(_ range: ClosedRange<Int>, of total: Int?) {
        self.range = range
        self.total = total
    }

    /// Parses a satisfied byte range, or returns `nil` for anything else and for contradictions.
    init?(_ text: String) {
        let parts = text.asciiOnly.split(separator: " ", omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
        let sides = parts[1].split(separator: "/", omittingEmptySubsequences: false)
        guard sides.count == 2 else { return nil }
        let ends = sides[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last else {
            return nil
        }
        range = first...last
        if sides[1] == "*" {
            total = nil
        } else {
            guard let total = Self.number(sides[1]), last < total else { return nil }
            self.total = total
        }
    }

    /// Parses `1*DIGIT`, which, unlike for `Int.init`, can't have a sign.
    private static func number(_ text: Substring) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(text)
    }
}
