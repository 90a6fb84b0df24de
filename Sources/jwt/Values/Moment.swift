/// A point in time, absolute or relative to now: `now`, `+5m`, `-1h`, or a ``Timestamp``.
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

    /// Returns the time in whole seconds since 1970.
    func seconds(now: Int) -> Int {
        switch self {
        case .fixed(let time): Int(time.secondsSince1970.rounded(.down))  // reason: a timestamp's range fits
        case .relative(let seconds): now + seconds
        }
    }
}
