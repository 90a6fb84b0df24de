import TestSupport
import Testing

@testable import jwt

@Suite("Suggestion", .limitedConcurrency)
struct SuggestionTests {
    @Test(
        "Suggests the most similar name",
        arguments: [
            ("verfiy", "verify"), ("sgin", "sign"), ("VERIFY", "verify"), ("dec", "decode"), ("keygne", "keygen"),
            ("deocde", "decode"),
        ]
    )
    func nearest(typed: String, meant: String) {
        #expect(Suggestion.nearest(to: typed, in: ["keygen", "sign", "verify", "decode"]) == meant)
    }

    @Test("Suggests nothing for a dissimilar name", arguments: ["", "x", "banana", "resign-all-tokens"])
    func far(typed: String) {
        #expect(Suggestion.nearest(to: typed, in: ["keygen", "sign", "verify", "decode"]) == nil)
    }

    @Test(
        "Counts insertions, deletions, replacements and swaps",
        arguments: [
            ("", "", 0), ("", "abc", 3), ("abc", "", 3), ("abc", "abc", 0), ("abc", "abd", 1), ("abc", "acb", 1),
            ("ab", "ba", 1),
            ("kitten", "sitting", 3),
        ]
    )
    func distance(first: String, second: String, expected: Int) {
        #expect(Suggestion.distance(Array(first), Array(second)) == expected)
    }
}
