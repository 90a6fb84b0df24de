import TokenGeneration

/// Notes about the times in claims, such as "exp: 2026-01-31T12:00:00Z (expires in 5 minutes)".
struct TimeNotes {
    /// The current time in seconds since 1970.
    let now: Double

    /// Returns a line for each of the claims `iat`, `nbf` and `exp`.
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
