import Foundation
import Glibc
import Networking

/// The progress of a batch, on one line that is redrawn at most ten times per second.
struct BatchProgress {
    /// The delay before the line appears, which short batches never reach.
    private static let patience = Duration.seconds(1)

    private let label: String
    private let columns: Int
    private let total: Int
    private let timeSource: TimeSource
    private let write: (String) -> Void
    private let start: ContinuousClock.Instant
    private var lastShown: ContinuousClock.Instant?
    private var count = 0

    /// Returns `nil` if the output isn't for a person at a terminal, or the total size is unknown.
    init?(on console: Console, total: Int?) {
        guard let total, !console.writesJSON, Console.isAtTerminal,
            !FileDescriptor.standard(STDOUT_FILENO).isTerminal,
            ProcessInfo.processInfo.environment["TERM"] != "dumb"
        else { return nil }
        self.init(console.prefix, columns: Self.columns(STDERR_FILENO), total: total, write: console.explain)
    }

    init(
        _ label: String,
        columns: Int,
        total: Int,
        timeSource: TimeSource = .system,
        write: @escaping (String) -> Void
    ) {
        self.label = label
        self.columns = max(20, columns)
        self.total = total
        self.timeSource = timeSource
        self.write = write
        start = timeSource.now()
    }

    mutating func move(to count: Int) {
        self.count = count
        let now = timeSource.now()
        let elapsed = now - start
        guard elapsed >= Self.patience, lastShown.map({ now - $0 >= .milliseconds(100) }) ?? true else { return }
        lastShown = now
        let seconds: Double = elapsed / .seconds(1)
        show(.running, bytesPerSecond: Double(count) / seconds)
    }

    /// Ends the line, if it's shown.
    mutating func end(isComplete: Bool = false) {
        guard lastShown != nil else { return }
        lastShown = nil
        if isComplete { count = total }
        show(isComplete ? .completed : .failed)
    }

    private func show(_ state: TransferProgress.State, bytesPerSecond: Double? = nil) {
        let progress = TransferProgress(
            state: state,
            completedBytes: count,
            totalBytes: total,
            bytesPerSecond: bytesPerSecond
        )
        // Return to the first column, print the line, and erase the remainder of the previous one.
        write("\r\(line(progress))\u{1B}[K\(state.isFinal ? "\n" : "")")
    }

    func line(_ progress: TransferProgress) -> String {
        var facts = [Self.size(progress.completedBytes)]
        if let total = progress.totalBytes, progress.state != .completed { facts[0] += " of \(Self.size(total))" }
        if let rate = progress.bytesPerSecond { facts.append("\(Self.size(Int(exactly: rate.rounded()) ?? .max))/s") }
        if let rest = progress.estimatedTimeRemaining { facts.append("\(Self.clock(rest)) left") }
        if progress.state != .running { facts.append("\(progress.state)") }
        let tail = facts.joined(separator: ", ")
        let room = columns - 1 - tail.count - 1
        guard room >= 8 else { return String(tail.prefix(columns - 1)) }
        // Give the bar at least as much space as the label.
        let barWidth = min(30, room / 2)
        let head = String(label.prefix(max(0, room - barWidth - 8)))
        guard let fraction = progress.fractionCompleted else { return "\(head) \(tail)" }
        let filled = Int(Double(barWidth) * fraction)  // reason: the fraction is from 0 to 1
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: barWidth - filled)
        let percent = "\(Int(fraction * 100))%"
        return "\(head) [\(bar)] \(String(repeating: " ", count: 4 - percent.count))\(percent) \(tail)"
    }

    private static func size(_ count: Int) -> String {
        let units = ["kB", "MB", "GB", "TB", "PB", "EB"]
        guard count >= 1000 else { return "\(count) B" }
        var (value, unit) = (Double(count) / 1000, 0)
        while value >= 999.95, unit < units.count - 1 {
            value /= 1000
            unit += 1
        }
        return String(format: "%.1f %@", value, units[unit] as NSString)
    }

    private static func clock(_ duration: Duration) -> String {
        let seconds = duration.components.seconds
        let minutes = String(format: seconds >= 3600 ? "%02d:%02d" : "%d:%02d", seconds / 60 % 60, seconds % 60)
        return seconds >= 3600 ? "\(seconds / 3600):\(minutes)" : minutes
    }

    private static func columns(_ descriptor: Int32) -> Int {
        var size = winsize()
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }
}
