import TestSupport
import Testing

@testable import jwt

@Suite("Visible text", .limitedConcurrency)
struct VisibleTextTests {
    @Test(
        "Escapes characters that a terminal interprets or hides",
        arguments: [
            0x00, 0x1B, 0x7F, 0x80, 0x85, 0x9B, 0x9F, 0xAD, 0x34F, 0x600, 0x61C, 0x70F, 0x115F, 0x17B4, 0x180B, 0x180E,
            0x200B, 0x200F,
            0x2028, 0x2029, 0x202A, 0x202E, 0x2060, 0x2065, 0x2066, 0x206F, 0x3164, 0xFE00, 0xFE0F, 0xFEFF, 0xFFA0,
            0xFFF9, 0xFFFB,
            0xFFFF, 0x110BD, 0x13430, 0x1BCA0, 0x1D173, 0x1FFFE, 0xE0001, 0xE0020, 0xE007F, 0xE0100, 0xE01EF, 0x10FFFF,
        ] as [UInt32]
    )
    func hidden(value: UInt32) throws {
        let scalar = try #require(Unicode.Scalar(value))
        let text = "a\(Character(scalar))b"
        for escaped in [VisibleText.line(text), VisibleText.json(text)] {
            #expect(!escaped.unicodeScalars.contains(scalar))
            #expect(escaped.hasPrefix("a\\u") && escaped.hasSuffix("b"))
        }
    }

    @Test("Keeps visible characters")
    func shown() {
        let text = "aZ~ é e\u{301} ß 日本 \u{A0}\u{3000}\u{E000}😀 ∑ “x”"
        #expect(VisibleText.line(text) == text)
        #expect(VisibleText.json(text) == text)
    }

    @Test(
        "Uses JSON escapes, with surrogate pairs beyond U+FFFF",
        arguments: [
            ("\u{1B}", #"\u001b"#), ("\u{202E}", #"\u202e"#), ("\u{E0041}", #"\udb40\udc41"#),
            ("\u{10FFFF}", #"\udbff\udfff"#),
        ]
    )
    func escapes(text: String, escaped: String) {
        #expect(VisibleText.line("a\(text)b") == "a\(escaped)b")
        #expect(VisibleText.json("\"\(text)\"\n") == "\"\(escaped)\"\n")
    }

    @Test("Keeps line breaks in JSON, and escapes them in a line")
    func lineBreaks() {
        #expect(VisibleText.json("{\n}") == "{\n}")
        #expect(VisibleText.line("a\nb\r\n") == #"a\u000ab\u000d\u000a"#)
    }
}
