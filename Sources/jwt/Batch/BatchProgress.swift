import Glibc
import Networking

/// How far a batch is, in one line of a terminal to which nothing else is written meanwhile.
struct BatchProgress {
    /// Work that is done sooner needs no bar.
    private static let patience = Duration.seconds(1)

    private let bar: ProgressBar
    private let total: Int
    private let start = ContinuousClock.now
    private var count = 0
    private var isShown = false

    /// Prepares a bar; `nil` if nobody would see it, if it would be in the way of what somebody sees, or if nobody knows how long the work is.
    ///
    /// - Parameters:
    ///   - console: What the command prints to.
    ///   - total: How many octets there will be.
    init?(on console: Console, total: Int?) {
        guard let total, !console.writesJSON, FileDescriptor.standard(STDERR_FILENO).isTerminal,
            !FileDescriptor.standard(STDOUT_FILENO).isTerminal
        else { return nil }
        self.total = total
        bar = ProgressBar(console.prefix)
    }

    /// Shows how far the work is, once it has taken a while.
    mutating func move(to count: Int) {
        self.count = count
        let elapsed = ContinuousClock.now - start
        guard isShown || elapsed >= Self.patience else { return }
        isShown = true
        show(.running, bytesPerSecond: Double(count) / (elapsed / .seconds(1)))
    }

    /// Shows that all is done.
    mutating func complete() {
        count = total
        finish(.completed)
    }

    /// Ends the line wherever it is, so that what is printed next has one of its own.
    mutating func end() {
        finish(.failed)
    }

    private mutating func finish(_ state: TransferProgress.State) {
        guard isShown else { return }
        isShown = false
        show(state)
    }

    private func show(_ state: TransferProgress.State, bytesPerSecond: Double? = nil) {
        bar.show(
            TransferProgress(state: state, completedBytes: count, totalBytes: total, bytesPerSecond: bytesPerSecond)
        )
    }
}
