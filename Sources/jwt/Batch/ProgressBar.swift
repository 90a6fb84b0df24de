import Foundation
import Glibc
import Networking
import Synchronization

struct BatchProgress {
    /// The delay before the bar appears, which short batches never reach.
    private static let patience = Duration.seconds(1)

    private let bar: ProgressBar
    private let total: Int
    private let start = ContinuousClock.now
    private var count = 0
    private var isShown = false

    /// Returns `nil` if the output isn't for a person at a terminal, or the total size is unknown.
    init?(on console: Console, total: Int?) {
        guard let total, !console.writesJSON, Console.isAtTerminal,
            !FileDescriptor.standard(STDOUT_FILENO).isTerminal
        else { return nil }
        self.total = total
        bar = ProgressBar(console.prefix)
    }

    mutating func move(to count: Int) {
        self.count = count
        let elapsed = ContinuousClock.now - start
        guard isShown || elapsed >= Self.patience else { return }
        isShown = true
        let seconds: Double = elapsed / .seconds(1)
        show(.running, bytesPerSecond: Double(count) / seconds)
    }

    mutating func end(isComplete: Bool = false) {
        guard isShown else { return }
        isShown = false
        if isComplete { count = total }
        show(isComplete ? .completed : .failed)
    }

    private func show(_ state: TransferProgress.State, bytesPerSecond: Double? = nil) {
        bar.show(
            TransferProgress(state: state, completedBytes: count, totalBytes: total, bytesPerSecond: bytesPerSecond)
        )
    }
}

/// A one-line progress bar that redraws its line at most ten times per second, and writes nothing
/// without a terminal.
final class ProgressBar: Sendable {
    private struct State {
        var lastShown: ContinuousClock.Instant?
        var hasEnded = false
    }

    private let label: String
    private let columns: Int
    private let timeSource: TimeSource
    private let write: (@Sendable (String) -> Void)?
    private let state = Mutex(State())

    convenience init(_ label: String) {
        let descriptor = STDERR_FILENO
        let isTerminal = isatty(descriptor) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"
        let print: @Sendable (String) -> Void = { FileHandle.standardError.write(Data($0.utf8)) }
        self.init(label, columns: Self.columns(descriptor), write: isTerminal ? print : nil)
    }

    init(_ label: String, columns: Int, timeSource: TimeSource = .system, write: (@Sendable (String) -> Void)?) {
        // A label from an untrusted source must not overwrite other lines.
        self.label = String(
            label.unicodeScalars.filter { $0.properties.generalCategory != .control }.map(Character.init)
        )
        self.columns = max(20, columns)
        self.timeSource = timeSource
        self.write = write
    }

    func show(_ progress: TransferProgress) {
        guard let write else { return }
        let now = timeSource.now()
        let text: String? = state.withLock { state in
            guard !state.hasEnded else { return nil }
            state.hasEnded = progress.state.isFinal
            if let last = state.lastShown, now - last < .milliseconds(100), !state.hasEnded { return nil }
            state.lastShown = now
            // Return to the first column, print the line, and erase the remainder of the previous
            // one.
            return "\r\(line(progress))\u{1B}[K\(state.hasEnded ? "\n" : "")"
        }
        if let text { write(text) }
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
        let fraction = progress.fractionCompleted
        // Give the bar at least as much space as the label.
        let barWidth = fraction == nil ? 0 : min(30, room / 2)
        let head = String(label.prefix(max(0, room - (barWidth > 0 ? barWidth + 8 : 0))))
        guard let fraction, barWidth >= 4 else { return "\(head) \(tail)" }
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
