import TestSupport
import Testing

@testable import jwt

@Suite("Moment", .limitedConcurrency)
struct MomentTests {
    @Test(
        "Accepts now, relative times and absolute times",
        arguments: [
            ("now", 1_000), ("+5m", 1_300), ("-1h", -2_600), ("+0", 1_000), ("+90", 1_090), ("-90", 910),
            ("1970-01-01T00:00:07Z", 7), ("1300819380", 1_300_819_380), ("7.9", 7),
        ]
    )
    func moments(text: String, seconds: Int) throws {
        #expect(try Moment(argument: text).seconds(now: 1_000) == seconds)
    }

    @Test("Rejects anything else", arguments: ["", "+", "-", "++5m", "+-5m", "5m", "soon", "+101w1", "Now", "+ 5m"])
    func refused(text: String) {
        let message =
            "must be now, a relative time such as +5m or -1h, or a time such as 2026-01-31T12:00:00Z, or seconds since 1970"
        #expect(throws: ValueError(message: message)) { try Moment(argument: text) }
    }
}

@Suite("RelativeTime", .limitedConcurrency)
struct RelativeTimeTests {
    @Test(
        "Uses one unit, rounded down",
        arguments: [
            (0, "now"), (0.9, "now"), (-0.9, "now"), (1, "in 1 second"), (-1, "1 second ago"), (59.9, "in 59 seconds"),
            (60, "in 1 minute"), (-180, "3 minutes ago"), (3_599, "in 59 minutes"), (7_200, "in 2 hours"),
            (86_400, "in 1 day"), (-31_556_951, "365 days ago"), (31_556_952, "in 1 year"), (-1e300, "0 years ago"),
        ]
    )
    func text(seconds: Double, expected: String) {
        // No timestamp has the value 1e300, but it must not trap.
        #expect(RelativeTime.text(seconds) == expected)
    }
}

@Suite("SecretEncoding", .limitedConcurrency)
struct SecretEncodingTests {
    @Test(
        "Decodes a secret without a line break at its end",
        arguments: [
            (SecretEncoding.text, "ab\n", [0x61, 0x62]), (.text, "ab\r\n", [0x61, 0x62]),
            (.text, "ab\n\n", [0x61, 0x62, 0x0A]),
            (.text, " a", [0x20, 0x61]), (.base64, "YWI=\n", [0x61, 0x62]), (.base64, "YWI", nil),
            (.base64, "-_-_", nil),
            (.base64url, "-_8\n", [0xFB, 0xFF]), (.base64url, "YWI=", nil), (.hex, "00fFa0\n", [0, 0xFF, 0xA0]),
            (.hex, "0", nil),
            (.hex, "0g", nil), (.hex, "", []),
        ] as [(SecretEncoding, String, [UInt8]?)]
    )
    func octets(encoding: SecretEncoding, text: String, expected: [UInt8]?) {
        #expect(encoding.octets(Array(text.utf8)) == expected)
    }
}
