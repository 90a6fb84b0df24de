/// A formatter for relative times in a single rounded unit, such as "3 minutes ago" or "in 2
/// hours".
enum RelativeTime {
    private static let units: [(name: String, seconds: Double)] = [
        ("year", 31_556_952), ("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1),
    ]

    /// Formats a number of seconds from now, which is negative for the past.
    static func text(_ seconds: Double) -> String {
        let length = seconds.magnitude
        guard length >= 1 else { return "now" }
        let unit = units.first { length >= $0.seconds } ?? ("second", 1)
        let count = (length / unit.seconds).rounded(.down)
        let words = "\(Int(exactly: count) ?? 0) \(unit.name)\(count == 1 ? "" : "s")"
        return seconds < 0 ? words + " ago" : "in " + words
    }
}
