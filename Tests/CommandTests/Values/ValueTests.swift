import Foundation
import TestSupport
import Testing
import TokenGeneration

@testable import jwt

@Suite("Assignment", .limitedConcurrency)
struct AssignmentTests {
    @Test(
        "Parses a value as JSON if possible",
        arguments: [
            ("a=5", 5), ("a=-1.5e3", .number(JSONNumber(literal: "-1.5e3") ?? 0)), ("a=true", true), ("a=false", false),
            ("a=null", nil),
            ("a=[\"x\",1]", ["x", 1]), ("a={\"b\":{}}", ["b": [:]]), ("a=\"5\"", "5"), ("a=\"\"", ""),
            ("a=12345678901234567890", .number(JSONNumber(literal: "12345678901234567890") ?? 0)),
        ] as [(String, JSONValue)]
    )
    func json(text: String, value: JSONValue) throws {
        let assignment = try Assignment(argument: text)
        #expect(assignment.name == "a")
        #expect(assignment.value == value)
    }

    @Test(
        "Treats any other value as text",
        arguments: [
            "", "alice", "007", "+5", ".5", "5.", "True", "NaN", "a b", "a=b", "\"open", "say \"hi\"", "[draft] one",
            "{", "1,\"value\":2",
            "1,\"b\":2", "1}", "5 6", "\u{1F600}", "'x'", "//",
        ]
    )
    func text(value: String) throws {
        #expect(try Assignment(argument: "a=" + value).value == .string(value))
    }

    @Test(
        "Rejects a malformed object or array",
        arguments: [
            "[a,b]", "{a:1}", "{\"a\":1,\"a\":2}", "[1,]", "{'a':1}",
        ]
    )
    func brokenJSON(value: String) {
        #expect(
            throws: ValueError(
                message:
                    "a looks like JSON but isn't valid; to set text, pass it as a JSON string: 'a=\"…\"'"
            )
        ) {
            try Assignment(argument: "a=" + value)
        }
    }

    @Test("Accepts a value that begins with a combining character")
    func combiningValue() throws {
        let assignment = try Assignment(argument: "a=\u{301}b")
        #expect(assignment.name == "a" && assignment.value == "\u{301}b")
    }

    @Test("Requires a name", arguments: ["", "a", "=", "=5"])
    func noName(text: String) {
        #expect(throws: ValueError(message: "must be NAME=VALUE")) { try Assignment(argument: text) }
    }
}

@Suite("Paths of claims and numbers of decoys", .computing)
struct ClaimPathArgumentTests {
    @Test(
        "Reads a path, and writes it the same way",
        arguments: [
            ("name", ClaimPath(["name"]), "name"), ("address.locality", ["address", "locality"], "address.locality"),
            ("a[0]", ["a", 0], "a[0]"), ("a[*][12].b", ["a", .everyElement, 12, "b"], "a[*][12].b"),
            ("é 😀-x", ["é 😀-x"], "é 😀-x"), (#"["name"]"#, ["name"], "name"),
            (#"["a.b",0,null,"c"]"#, ["a.b", 0, .everyElement, "c"], #"["a.b",0,null,"c"]"#),
            (#"[ "a[" ]"#, ["a["], #"["a["]"#), (#"["a",""]"#, ["a", ""], #"["a",""]"#),
            (#"["a\u0301.b"]"#, ["a\u{301}.b"], "[\"a\u{301}.b\"]"), ("a.\u{301}", ["a", "\u{301}"], "a.\u{301}"),
        ] as [(String, ClaimPath, String)]
    )
    func paths(text: String, path: ClaimPath, written: String) throws {
        #expect(try ClaimPathArgument(argument: text).path == path)
        #expect(ClaimPathArgument.text(of: path) == written)
        #expect(try ClaimPathArgument(argument: written).path == path)
    }

    @Test(
        "Rejects text that isn't a path",
        arguments: [
            "", ".", "a.", ".a", "a..b", "a[", "a[]", "a[-1]", "a[1", "a[x]", "a[0]b", "a]", "a[1234567890]", "[0]",
            "[]",
            "[null]", #"["a",-1]"#, #"["a",1.5]"#, #"["a",true]"#, #"["a"],"b":[1"#, #"["a"]x"#, "[name]",
        ]
    )
    func malformed(text: String) {
        #expect(throws: ValueError.self) { try ClaimPathArgument(argument: text) }
    }

    @Test(
        "Reads numbers of decoys",
        arguments: [("0", 0...0), ("7", 7...7), ("2-5", 2...5), ("3-3", 3...3), ("0-100", 0...100)]
    )
    func decoys(text: String, range: ClosedRange<Int>) throws {
        #expect(try DecoyCount(argument: text).range == range)
    }

    @Test(
        "Rejects other numbers of decoys",
        arguments: ["", "-", "-1", "1-", "5-2", "101", "0-101", "+1", "1-2-3", "x", "٣"]
    )
    func otherDecoys(text: String) {
        #expect(throws: ValueError.self) { try DecoyCount(argument: text) }
    }
}

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

@Suite("Timestamp", .limitedConcurrency)
struct TimestampTests {
    @Test(
        "Parses times",
        arguments: [
            ("0", 0), ("1300819380", 1_300_819_380), ("-1", -1), ("1.5", 1.5), ("2011-03-22T18:43:00Z", 1_300_819_380),
            ("2011-03-22t18:43:00z", 1_300_819_380), ("2011-03-22 18:43:00Z", 1_300_819_380),
            ("2011-03-22T19:43:00+01:00", 1_300_819_380), ("2011-03-22T13:13:00-05:30", 1_300_819_380),
            ("2011-03-22T18:43:00.25Z", 1_300_819_380.25), ("1970-01-01T00:00:00Z", 0), ("1969-12-31T23:59:59Z", -1),
            ("2000-02-29T00:00:00Z", 951_782_400), ("2024-02-29T12:00:00Z", 1_709_208_000),
            ("0001-01-01T00:00:00Z", -62_135_596_800), ("9999-12-31T23:59:59Z", 253_402_300_799),
        ] as [(String, Double)]
    )
    func valid(text: String, seconds: Double) throws {
        #expect(try Timestamp(argument: text).secondsSince1970 == seconds)
        #expect(try Timestamp(argument: text).date == Date(timeIntervalSince1970: seconds))
    }

    @Test(
        "Rejects anything else",
        arguments: [
            "", "now", "1e3", "0x10", "nan", "inf", "1.2.3", ".5", "-", "--1", "2011-03-22", "2011-03-22T18:43Z",
            "2011-03-22T18:43:00",
            "2011-03-22T18:43:00Zjunk", " 2011-03-22T18:43:00Z", "2011-13-22T18:43:00Z", "2011-00-22T18:43:00Z",
            "2011-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z", "2011-04-31T00:00:00Z", "2011-03-00T00:00:00Z", "2011-03-22T24:00:00Z",
            "2011-03-22T18:60:00Z",
            "2011-03-22T18:43:60Z", "2011-03-22T18:43:00.Z", "2011-03-22T18:43:00+24:00", "2011-03-22T18:43:00+01",
            "0000-01-01T00:00:00Z",
            "2011/03/22T18:43:00Z", "253402300800", "-62135596801", "99999999999999999999999999",
            "0001-01-01T00:00:00+01:00",
        ]
    )
    func invalid(text: String) {
        #expect(throws: ValueError(message: "must be a time such as 2026-01-31T12:00:00Z, or seconds since 1970")) {
            try Timestamp(argument: text)
        }
    }

    @Test(
        "Formats times in UTC in whole seconds",
        arguments: [
            (0, "1970-01-01T00:00:00Z"), (-0.5, "1969-12-31T23:59:59Z"), (1_300_819_380.9, "2011-03-22T18:43:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"), (-62_135_596_800, "0001-01-01T00:00:00Z"),
            (253_402_300_799.5, "9999-12-31T23:59:59Z"),
        ] as [(Double, String)]
    )
    func text(seconds: Double, expected: String) throws {
        #expect(try #require(Timestamp(secondsSince1970: seconds)).text == expected)
    }

    @Test("Formats and parses the days of 800 years consistently")
    func roundTrip() throws {
        var previous = ""
        for day in stride(from: -146_097, through: 146_097, by: 11) {
            let seconds = Double(day) * 86_400
            let text = try #require(Timestamp(secondsSince1970: seconds)).text
            guard try Timestamp(argument: text).secondsSince1970 == seconds, text > previous else {
                Issue.record("day \(day) is formatted as \(text)")
                return
            }
            previous = text
        }
    }

    @Test(
        "Rejects times outside the years 1 to 9999",
        arguments: [
            -62_135_596_801, 253_402_300_800, 1e300, -1e300, .infinity, .nan,
        ]
    )
    func outside(seconds: Double) {
        #expect(Timestamp(secondsSince1970: seconds) == nil)
    }
}
