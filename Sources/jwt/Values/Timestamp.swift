import Foundation
import Networking
import TokenGeneration

/// A time in seconds since 1970, or in the format of [RFC
/// 3339](https://www.rfc-editor.org/rfc/rfc3339#section-5.6), such as `2026-01-31T12:00:00Z`.
///
/// Foundation's parser is unsuitable, because it accepts February 30 and trailing text. All years
/// are Gregorian.
struct Timestamp: ArgumentValue, Equatable {
    static let placeholder = "TIME"

    /// The number of seconds since 1970, from year 1 to year 9999.
    let secondsSince1970: Double

    private static let range = -62_135_596_800.0..<253_402_300_800.0

    private static let expectation = ValueError(
        message: "must be a time such as 2026-01-31T12:00:00Z, or seconds since 1970"
    )

    /// Creates a timestamp, or returns `nil` for a year outside 1 to 9999.
    init?(secondsSince1970: Double) {
        guard Self.range.contains(secondsSince1970) else { return nil }
        self.secondsSince1970 = secondsSince1970
    }

    init(argument: String) throws(ValueError) {
        let seconds = Self.plainSeconds(argument) ?? Self.dateAndTime(argument)
        guard let seconds, let timestamp = Self(secondsSince1970: seconds) else { throw Self.expectation }
        self = timestamp
    }

    var date: Date { Date(timeIntervalSince1970: secondsSince1970) }

    /// The time in UTC in whole seconds, such as `2026-01-31T12:00:00Z`.
    var text: String { text(offset: 0) }

    /// The time in the user's time zone in whole seconds, such as `2026-01-31T13:00:00+01:00`.
    var localText: String {
        // Outside this range, the local year could be 0 or 10000.
        let isOrdinary = (-62_135_510_400.0..<253_402_214_400.0).contains(secondsSince1970)
        return text(offset: isOrdinary ? TimeZone.current.secondsFromGMT(for: date) : 0)
    }

    private func text(offset: Int) -> String {
        let seconds = Int(secondsSince1970.rounded(.down)) + offset  // reason: the range fits
        let (day, time) = seconds.quotientAndRemainder(roundingDownBy: 86_400)
        let (year, month, dayOfMonth) = HTTPDate.civil(day)
        let date = [HTTPDate.padded(year, 4)] + [month, dayOfMonth].map { HTTPDate.padded($0, 2) }
        let clock = [time / 3_600, time / 60 % 60, time % 60].map { HTTPDate.padded($0, 2) }
        return "\(date.joined(separator: "-"))T\(clock.joined(separator: ":"))\(Self.zone(offset))"
    }

    private static func zone(_ offset: Int) -> String {
        guard offset != 0 else { return "Z" }
        let minutes = (offset < 0 ? -offset : offset) / 60
        return "\(offset < 0 ? "-" : "+")\(HTTPDate.padded(minutes / 60, 2)):\(HTTPDate.padded(minutes % 60, 2))"
    }

    private static func plainSeconds(_ text: String) -> Double? {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        guard let first = digits.utf8.first, first.isDigit,
            digits.utf8.allSatisfy({ $0.isDigit || $0 == UInt8(ascii: ".") })
        else { return nil }
        return Double(text)
    }

    private static func dateAndTime(_ text: String) -> Double? {
        var reader = DigitReader(rest: Array(text.utf8)[...])
        guard let year = reader.number(digits: 4, then: "-"), let month = reader.number(digits: 2, then: "-"),
            let day = reader.number(digits: 2, then: "Tt "), let hour = reader.number(digits: 2, then: ":"),
            let minute = reader.number(digits: 2, then: ":"), let second = reader.number(digits: 2, then: ""),
            let fraction = reader.fraction(), let offset = reader.offset(), reader.rest.isEmpty,
            year >= 1, hour < 24, minute < 60, second < 60
        else { return nil }
        let days = HTTPDate.daysSince1970(year: year, month: month, day: day)
        // A date such as 31 April converts back to another day.
        guard HTTPDate.civil(days) == (year, month, day) else { return nil }
        return Double(days * 86_400 + hour * 3_600 + minute * 60 + second - offset) + fraction
    }
}

/// A parser for the fields of an RFC 3339 time.
private struct DigitReader {
    var rest: ArraySlice<UInt8>

    /// Parses a number with a fixed count of digits, followed by one of the separators, if any.
    mutating func number(digits count: Int, then separators: String) -> Int? {
        let digits = rest.prefix(count)
        guard digits.count == count, digits.allSatisfy(\.isDigit) else { return nil }
        rest = rest.dropFirst(count)
        if !separators.isEmpty {
            guard let separator = rest.popFirst(), separators.utf8.contains(separator) else { return nil }
        }
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    mutating func fraction() -> Double? {
        guard rest.first == UInt8(ascii: ".") else { return 0 }
        rest.removeFirst()
        let digits = rest.prefix(while: \.isDigit)
        rest = rest[digits.endIndex...]
        guard (1...9).contains(digits.count) else { return nil }
        return Double("0." + String(decoding: digits, as: UTF8.self))
    }

    /// Parses the offset from UTC, in seconds.
    mutating func offset() -> Int? {
        switch rest.popFirst() {
        case UInt8(ascii: "Z"), UInt8(ascii: "z"): return 0
        case UInt8(ascii: "+"): return clock()
        case UInt8(ascii: "-"): return clock().map { -$0 }
        default: return nil
        }
    }

    private mutating func clock() -> Int? {
        guard let hour = number(digits: 2, then: ":"), let minute = number(digits: 2, then: ""),
            hour < 24, minute < 60
        else { return nil }
        return hour * 3_600 + minute * 60
    }
}
