import Testing
import TokenGeneration

@Suite("Durations in readable form", .serialized)
struct DurationParsingTests {
    @Test(
        "Parses whole numbers with units, from the largest to the smallest",
        arguments: [
            ("15m", 900), ("2h30m", 9_000), ("1 day", 86_400), ("1 week 2 days", 777_600), ("90 seconds", 90),
            ("0s", 0),
            ("1d12h", 129_600), ("1 hour 1 min 1 sec", 3_661), ("2h 30m", 9_000), ("1w", 604_800), ("007s", 7),
            ("9223372036854775807s", Int64.max),
        ] as [(String, Int64)]
    )
    func read(text: String, seconds: Int64) throws {
        #expect(try Duration(parsing: text) == .seconds(seconds))
    }

    @Test(
        "Rejects anything else",
        arguments: [
            "", " ", "15", "m", "15 ", "15m ", " 15m", "-15m", "+15m", "1.5h", "1,5h", "15M", "15 M", "1y", "1 month",
            "1mo",
            "30m2h", "1h1h", "1h  1m", "1  h", "1h,1m", "1h and 1m", "15m\n", "1٣m", "15µs", "1ms",
            "9223372036854775808s",
            "9223372036854775807m", "9223372036854775807s1s", "15259284999w1d", "99999999999999999999999d", "1h1",
            "1 h 1",
            "１m", "1\u{A0}h",
        ]
    )
    func refused(text: String) {
        let expected: TokenError.Code? = text == "15259284999w1d" ? nil : .malformedDuration
        #expect(code { try Duration(parsing: text) } == expected)
    }
}
