import Foundation
import Testing

@testable import Networking

@Suite("HTTPDate")
struct HTTPDateTests {
    private let now = Date(timeIntervalSince1970: 1_700_000_000)

    @Test(
        "Parses the three formats of RFC 9110",
        arguments: ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
    )
    func formats(_ text: String) {
        #expect(HTTPDate.parse(text, now: now) == Date(timeIntervalSince1970: 784_111_777))
    }

    @Test("Parses a two-digit day in the asctime format, and a leap second")
    func details() {
        #expect(HTTPDate.parse("Wed Nov 16 08:49:37 1994", now: now) == Date(timeIntervalSince1970: 784_975_777))
        #expect(HTTPDate.parse("Sat, 31 Dec 2016 23:59:60 GMT", now: now) == Date(timeIntervalSince1970: 1_483_228_800))
        #expect(HTTPDate.parse("Thu, 29 Feb 2024 00:00:00 GMT", now: now) == Date(timeIntervalSince1970: 1_709_164_800))
    }

    @Test("A two-digit year is at most 50 years in the future")
    func shortYears() throws {
        let calendar = Calendar(identifier: .gregorian)
        func year(_ digits: String) throws -> Int {
            let date = try #require(HTTPDate.parse("Sunday, 06-Nov-\(digits) 12:00:00 GMT", now: now))
            return calendar.component(.year, from: date)
        }
        #expect(
            try year("23") == 2023 && year("73") == 2073 && year("74") == 1974 && year("99") == 1999
                && year("00") == 2000
        )
    }

    @Test(
        "Rejects everything else",
        arguments: [
            "", "0", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 6 Nov 1994 08:49:37 GMT",
            "sun, 06 Nov 1994 08:49:37 GMT", "Sun 06 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
            "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 31 Apr 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
            "Wed, 29 Feb 2023 00:00:00 GMT", "Sun, 06 Nov 94 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT",
            "Sun, 06-Nov-94 08:49:37 GMT", "Sun Nov 6 08:49:37 1994", "Sun Nov  16 08:49:37 1994",
            "1994-11-06T08:49:37Z",
            "Sun, 06 Nov 1994 08:49:37 GMT ", " Sun, 06 Nov 1994 08:49:37 GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
            "Sun, ٠٦ Nov 1994 08:49:37 GMT",
        ]
    )
    func refusing(_ text: String) {
        #expect(HTTPDate.parse(text, now: now) == nil)
    }

    @Test("Parses what it formats for random dates", arguments: UInt64(1)...4)
    func roundTrip(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            // The years 1 to 9999, which have at most four digits.
            let seconds = Int.random(in: -62_135_596_800...253_402_300_799, using: &generator)
            let date = Date(timeIntervalSince1970: TimeInterval(seconds))
            #expect(HTTPDate.parse(HTTPDate.format(date), now: now) == date)
        }
    }

    @Test("Formats like Foundation's formatter")
    func foundation() {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        var generator = SeededGenerator(seed: 9)
        for _ in 0..<200 {
            let date = Date(
                timeIntervalSince1970: TimeInterval(Int.random(in: -2_000_000_000...4_000_000_000, using: &generator))
            )
            #expect(HTTPDate.format(date) == formatter.string(from: date))
        }
    }
}
