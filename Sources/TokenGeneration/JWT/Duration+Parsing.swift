extension Duration {
    /// Parses a duration in readable form: `15m`, `2h30m`, `1 day`, `1 week 2 days`, `90 seconds`.
    ///
    /// The text is a sequence of whole numbers with units: `w`, `week`, `weeks`; `d`, `day`,
    /// `days`; `h`, `hour`, `hours`; `m`, `min`, `minute`, `minutes`; `s`, `sec`, `second`,
    /// `seconds`. Units are lowercase, in order from the largest to the smallest, each at most
    /// once. A single space may separate a number from its unit, and one part from the next. Months
    /// and years aren't supported, because their lengths vary.
    ///
    /// ```swift
    /// claims.setTimes(lifetime: try Duration(parsing: "15m"))
    /// ```
    ///
    /// - Parameter text: The text.
    /// - Throws: ``TokenError`` with the code `malformedDuration`. The message has the position.
    public init(parsing text: String) throws(TokenError) {
        var parser = DurationParser(text)
        self = .seconds(try parser.parse())  // reason: an integer
    }
}

private struct DurationParser {
    private let text: [UInt8]
    private var position = 0

    private static let units: [(names: [String], seconds: Int64)] = [
        (["w", "week", "weeks"], 604_800),
        (["d", "day", "days"], 86_400),
        (["h", "hour", "hours"], 3_600),
        (["m", "min", "minute", "minutes"], 60),
        (["s", "sec", "second", "seconds"], 1),
    ]

    init(_ text: String) {
        self.text = Array(text.utf8)
    }

    mutating func parse() throws(TokenError) -> Int64 {
        var total: Int64 = 0
        var previous = -1
        repeat {
            let number = try parseNumber()
            skipSpace()
            let start = position
            let unit = try parseUnit()
            guard unit > previous else {
                throw failure("units must go from the largest to the smallest, each at most once", at: start)
            }
            previous = unit
            let (seconds, productOverflow) = number.multipliedReportingOverflow(by: Self.units[unit].seconds)
            let (sum, sumOverflow) = total.addingReportingOverflow(seconds)
            guard !productOverflow, !sumOverflow else { throw failure("the number is too large", at: start) }
            total = sum
            if position < text.count { skipSpace() }
        } while position < text.count || text.last == UInt8(ascii: " ")
        return total
    }

    private mutating func parseNumber() throws(TokenError) -> Int64 {
        let start = position
        while position < text.count, text[position].isDigit { position += 1 }
        guard position > start else { throw failure("missing whole number", at: start) }
        guard let number = Int64(String(decoding: text[start..<position], as: UTF8.self)) else {
            throw failure("the number is too large", at: start)
        }
        return number
    }

    private mutating func parseUnit() throws(TokenError) -> Int {
        let start = position
        while position < text.count, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(text[position]) { position += 1 }
        let name = String(decoding: text[start..<position], as: UTF8.self)
        guard let unit = Self.units.firstIndex(where: { $0.names.contains(name) }) else {
            throw failure("missing unit (w, d, h, m or s)", at: start)
        }
        return unit
    }

    private mutating func skipSpace() {
        if position < text.count, text[position] == UInt8(ascii: " ") { position += 1 }
    }

    private func failure(_ reason: String, at position: Int) -> TokenError {
        let shown = TokenError.shown(String(decoding: text.prefix(60), as: UTF8.self))
        return TokenError(.malformedDuration, "\(shown) isn't a duration: \(reason), at character \(position + 1)")
    }
}
