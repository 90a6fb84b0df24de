import TokenGeneration

/// A duration such as `90`, `90s`, `5m`, `2h`, `7d`, `1w` or `1h30m`.
///
/// A number without a unit is in seconds. Units go from the longest to the shortest, and each
/// occurs at most once.
struct TimeSpan: ArgumentValue, Equatable {
    static let placeholder = "DURATION"

    /// The duration in seconds, from 0 to ``limit``.
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
