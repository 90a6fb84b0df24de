/// How long ago or ahead a moment is, in one rounded unit: "3 minutes ago", "in 2 hours".
enum RelativeTime {
    private static let units: [(name: String, seconds: Double)] = [
        ("year", 31_556_952), ("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1),
    ]

    /// The words.
    ///
    /// - Parameter seconds: From now to the moment; negative in the past.
    /// - Returns: The words.
    static func text(_ seconds: Double) -> String {
        let length = seconds.magnitude
        guard length >= 1 else { return "now" }
        let unit = units.first { length >= $0.seconds } ?? ("second", 1)
        let count = (length / unit.seconds).rounded(.down)
        let words = "\(Int(exactly: count) ?? 0) \(unit.name)\(count == 1 ? "" : "s")"
        return seconds < 0 ? words + " ago" : "in " + words
    }
}
