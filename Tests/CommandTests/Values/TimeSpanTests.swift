import TestSupport
import Testing

@testable import jwt

@Suite("TimeSpan", .limitedConcurrency)
struct TimeSpanTests {
    @Test(
        "Parses durations",
        arguments: [
            ("0", 0), ("90", 90), ("90s", 90), ("5m", 300), ("2h", 7_200), ("7d", 604_800), ("1w", 604_800),
            ("1h30m", 5_400),
            ("1w1d1h1m1s", 694_861), ("007s", 7), ("36525d", 3_155_760_000), ("3155760000", 3_155_760_000),
        ]
    )
    func valid(text: String, seconds: Int) throws {
        #expect(try TimeSpan(argument: text).seconds == seconds)
    }

    @Test(
        "Rejects anything else",
        arguments: [
            "", " ", "s", "m5", "5x", "5M", "5 m", " 5m", "5m ", "-5m", "+5m", "5.5m", "1m1h", "1m1m", "1h30", "1h30m5",
            "٥m", "5ms", "1e3",
            "36526d", "3155760001", "99999999999", "99999999999999999999s", "9999999999w", "1w36525d",
        ]
    )
    func invalid(text: String) {
        #expect(
            throws: ValueError(
                message: "must be a duration of at most 100 years, such as 90, 90s, 5m, 2h, 7d, 1w or 1h30m"
            )
        ) {
            try TimeSpan(argument: text)
        }
    }
}
