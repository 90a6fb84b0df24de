import Foundation
import TestSupport
import Testing

@testable import jwt

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
