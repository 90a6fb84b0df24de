import Foundation
import Networking
import TokenGeneration

/// A time in seconds since 1970, or in the format of [RFC
/// 3339](https://www.rfc-editor.org/rfc/rfc3339#section-5.6).
///
/// Foundation's parser accepts February 30 and trailing text. All years are Gregorian.
struct Timestamp: ArgumentValue, Equatable {
    static let placeholder = "TIME"

    /// The number of seconds since 1970, from year 1 to year 9999.
    let secondsSince1970: Double

    private static let range = -62_135_596_800.0..<253_402_300_800.0

    private static let expectation = ValueError(
        message: "must be a time such as 2026-01-31T12:00:00Z, or seconds since 1970"
    )

    init?(secondsSince1970: Double) {
        guard Self.range.contains(secondsSince1970) else { return nil }
        self.secondsSince1970 = secondsSince1970
    }

    init(argument: String) throws(ValueError) {
        let seconds = Self.plainSeconds(argument) ?? Self.dateAndTime(argument)
        guard let seconds, let timestamp = Self(secondsSince1970: seconds) else { throw Self.expectation }
        self = timestamp
    }

    /// Returns the end of a message, such as " (exp is 2026-01-31T12:00:00Z)".
    static func note(_ name: String, _ secondsSince1970: Double?) -> String {
        let time = secondsSince1970.flatMap { Timestamp(secondsSince1970: $0) }
        return time.map { " (\(name) is \($0.text))" } ?? ""
    }

    var date: Date { Date(timeIntervalSince1970: secondsSince1970) }
    var text: String { text(offset: 0) }

    var localText: String {
        // Outside this range, the local year could be 0 or 10000.
        let isOrdinary = (-62_135_510_400.0..<253_402_214_400.0).contains(secondsSince1970)
        let seconds = Int(secondsSince1970.rounded(.down))  // reason: the range fits
        return text(offset: isOrdinary ? Self.localOffset(at: seconds) : 0)
    }

    /// Returns the seconds from UTC to the user's time zone.
    ///
    /// Foundation's `TimeZone.current` is a seventh of the start-up of `jwt decode`.
    private static func localOffset(at seconds: Int) -> Int {
        var seconds = seconds
        var parts = unsafe tm()
        return unsafe localtime_r(&seconds, &parts) == nil ? 0 : unsafe parts.tm_gmtoff
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

private struct DigitReader {
    var rest: ArraySlice<UInt8>

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

enum Moment: ArgumentValue, Equatable {
    case fixed(Timestamp)
    /// A number of seconds from now.
    case relative(Int)

    static let placeholder = "TIME"

    init(argument: String) throws(ValueError) {
        if argument == "now" {
            self = .relative(0)
            return
        }
        let isAhead = argument.hasPrefix("+")
        if isAhead || argument.hasPrefix("-"), let span = try? TimeSpan(argument: String(argument.dropFirst())) {
            self = .relative(isAhead ? span.seconds : -span.seconds)
            return
        }
        do throws(ValueError) {
            self = .fixed(try Timestamp(argument: argument))
        } catch {
            throw ValueError(
                message: "must be now, a relative time such as +5m or -1h, or " + error.message.dropFirst(8)
            )
        }
    }

    func seconds(now: Int) -> Int {
        switch self {
        case .fixed(let time): Int(time.secondsSince1970.rounded(.down))  // reason: a timestamp's range fits
        case .relative(let seconds): now + seconds
        }
    }
}

/// A duration such as `90`, `90s`, `5m`, `2h`, `7d`, `1w` or `1h30m`.
///
/// A number without a unit is in seconds. Units go from the longest to the shortest, and each
/// occurs at most once.
struct TimeSpan: ArgumentValue, Equatable {
    static let placeholder = "DURATION"

    /// From 0 to ``limit``.
    let seconds: Int
    var duration: Duration { .seconds(seconds) }  // reason: at most the limit

    /// The maximum duration of 100 years, because a longer one is most likely a typo.
    static let limit = 36_525 * 86_400

    private static let units: [(letter: UInt8, seconds: Int)] = [
        (UInt8(ascii: "w"), 604_800), (UInt8(ascii: "d"), 86_400), (UInt8(ascii: "h"), 3_600),
        (UInt8(ascii: "m"), 60), (UInt8(ascii: "s"), 1),
    ]

    private static let expectation = ValueError(
        message: "must be a duration of at most 100 years, such as 90, 90s, 5m, 2h, 7d, 1w or 1h30m"
    )

    init(argument: String) throws(ValueError) {
        var rest = Array(argument.utf8)[...]
        var units = Self.units[...]
        var total = 0
        repeat {
            let digits = rest.prefix(while: \.isDigit)
            rest = rest[digits.endIndex...]
            // Ten digits exceed the limit, so the calculations below can't overflow.
            guard (1...10).contains(digits.count) else { throw Self.expectation }
            let number = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
            if let letter = rest.popFirst() {
                guard let unit = units.firstIndex(where: { $0.letter == letter }) else { throw Self.expectation }
                total += number * units[unit].seconds
                units = units[(unit + 1)...]
            } else {
                guard digits.count == argument.utf8.count else { throw Self.expectation }
                total = number
            }
            guard total <= Self.limit else { throw Self.expectation }
        } while !rest.isEmpty
        seconds = total
    }
}

enum RelativeTime {
    private static let units: [(name: String, seconds: Double)] = [
        ("year", 31_556_952), ("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1),
    ]

    static func text(_ seconds: Double) -> String {
        let length = seconds.magnitude
        guard length >= 1 else { return "now" }
        let unit = units.first { length >= $0.seconds } ?? ("second", 1)
        let count = (length / unit.seconds).rounded(.down)
        let words = "\(Int(exactly: count) ?? 0) \(unit.name)\(count == 1 ? "" : "s")"
        return seconds < 0 ? words + " ago" : "in " + words
    }
}

struct TimeNotes {
    let now: Double

    func lines(in claims: JSONObject) -> [String] {
        ["iat", "nbf", "exp"].compactMap { name in
            guard let value = claims[name] else { return nil }
            guard let seconds = value.number?.double else { return "\(name): not a time" }
            guard let time = Timestamp(secondsSince1970: seconds) else { return "\(name): outside the years 1 to 9999" }
            return "\(name): \(time.localText) (\(verb(name, seconds)) \(RelativeTime.text(seconds - now)))"
        }
    }

    private func verb(_ name: String, _ seconds: Double) -> String {
        switch name {
        case "exp": seconds > now ? "expires" : "expired"
        case "nbf": seconds > now ? "begins" : "began"
        default: "issued"
        }
    }
}
