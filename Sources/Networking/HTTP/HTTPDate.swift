package import Foundation
import OpenSSLCrypto

/// HTTP dates ([RFC 9110 §5.6.7](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.7)).
package enum HTTPDate {
    /// Parses a date in any of the three formats that a recipient must accept.
    ///
    /// The current time determines the century of a two-digit year.
    package static func parse(_ text: some StringProtocol, now: Date) -> Date? {
        let parts = text.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
            .map { Array($0) }
        switch parts.count {
        case 6 where parts[2].isEmpty: return asctimeDate([parts[0], parts[1], [0x30] + parts[3], parts[4], parts[5]])
        case 6: return internetMessageDate(parts)
        case 4: return obsoleteDate(parts, now: now)
        case 5: return asctimeDate(parts)
        default: return nil
        }
    }

    /// Formats a date as in `Sun, 06 Nov 1994 08:49:37 GMT`; fractions of a second are dropped.
    package static func format(_ date: Date) -> String {
        let seconds = Int(clamping: date.timeIntervalSince1970.rounded(.down))
        let (day, time) = seconds.quotientAndRemainder(roundingDownBy: 86_400)
        let (year, month, dayOfMonth) = civil(day)
        // 1 January 1970 was a Thursday.
        let weekday = weekdays[(day + 4).quotientAndRemainder(roundingDownBy: 7).remainder]
        let clock = [time / 3_600, time / 60 % 60, time % 60].map { padded($0, 2) }.joined(separator: ":")
        return "\(weekday), \(padded(dayOfMonth, 2)) \(months[month - 1]) \(padded(year, 4)) \(clock) GMT"
    }

    // MARK: Formats

    /// `Sun, 06 Nov 1994 08:49:37 GMT`.
    private static func internetMessageDate(_ parts: [[UInt8]]) -> Date? {
        guard let weekday = parts[0].last == UInt8(ascii: ",") ? parts[0].dropLast() : nil, isName(weekday, weekdays),
            let day = number(parts[1], digits: 2), let month = month(parts[2]), let year = number(parts[3], digits: 4),
            let time = time(parts[4]), parts[5].elementsEqual("GMT".utf8)
        else { return nil }
        return date(year: year, month: month, day: day, time: time)
    }

    /// `Sunday, 06-Nov-94 08:49:37 GMT`.
    private static func obsoleteDate(_ parts: [[UInt8]], now: Date) -> Date? {
        let date = parts[1].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard let weekday = parts[0].last == UInt8(ascii: ",") ? parts[0].dropLast() : nil,
            isName(weekday, longWeekdays), date.count == 3, let day = number(date[0], digits: 2),
            let month = month(date[1]), let short = number(date[2], digits: 2), let time = time(parts[2]),
            parts[3].elementsEqual("GMT".utf8)
        else { return nil }
        // A date more than 50 years ahead is in the most recent past year with the same digits.
        let today = civil(Int(clamping: (now.timeIntervalSince1970 / 86_400).rounded(.down))).year
        var year = today - today % 100 + short
        if year > today + 50 { year -= 100 }
        return self.date(year: year, month: month, day: day, time: time)
    }

    /// `Sun Nov  6 08:49:37 1994`; a single-digit day is preceded by a space.
    private static func asctimeDate(_ parts: [[UInt8]]) -> Date? {
        guard isName(parts[0], weekdays), let month = month(parts[1]), let day = number(parts[2], digits: 2),
            let time = time(parts[3]), let year = number(parts[4], digits: 4)
        else { return nil }
        return date(year: year, month: month, day: day, time: time)
    }

    // MARK: Parts

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let longWeekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static func isName(_ text: some Sequence<UInt8>, _ names: [String]) -> Bool {
        names.contains { text.elementsEqual($0.utf8) }
    }

    private static func month(_ text: some Sequence<UInt8>) -> Int? {
        months.firstIndex { text.elementsEqual($0.utf8) }.map { $0 + 1 }
    }

    private static func number(_ text: some Collection<UInt8>, digits: Int) -> Int? {
        guard text.count == digits, text.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return text.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    private static func time(_ text: [UInt8]) -> Int? {
        let parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count == 3, let hour = number(parts[0], digits: 2), let minute = number(parts[1], digits: 2),
            let second = number(parts[2], digits: 2), hour < 24, minute < 60, second <= 60
        else { return nil }
        return hour * 3_600 + minute * 60 + second
    }

    private static func date(year: Int, month: Int, day: Int, time: Int) -> Date? {
        let days = daysSince1970(year: year, month: month, day: day)
        // A date such as 31 April converts back to another day.
        guard day > 0, civil(days) == (year, month, day) else { return nil }
        return Date(timeIntervalSince1970: TimeInterval(days * 86_400 + time))
    }

    package static func padded(_ number: Int, _ digits: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }

    // MARK: Days

    /// Years start in March, so that the leap day is last.
    package static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = year.quotientAndRemainder(roundingDownBy: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    package static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
        let (era, dayOfEra) = (days + 719_468).quotientAndRemainder(roundingDownBy: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }
}

extension Int {
    package func quotientAndRemainder(roundingDownBy divisor: Int) -> (quotient: Int, remainder: Int) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
