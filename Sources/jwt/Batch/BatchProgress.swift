import Glibc
import Networking

/// A progress bar for a batch, shown on a terminal that receives no other output.
struct BatchProgress {
    /// The delay before the bar appears, which short batches never reach.
    private static let patience = Duration.seconds(1)

    private let bar: ProgressBar
    private let total: Int
    private let start = ContinuousClock.now
    private var count = 0
    private var isShown = false

    /// Prepares a progress bar for a number of input bytes.
    ///
    /// The result is `nil` if standard error isn't a terminal, if the results go to a terminal or
    /// are JSON, or if the total size is unknown.
    init?(on console: Console, total: Int?) {
        guard let total, !console.writesJSON, FileDescriptor.standard(STDERR_FILENO).isTerminal,
            !FileDescriptor.standard(STDOUT_FILENO).isTerminal
        else { return nil }
        self.total = total
        bar = ProgressBar(console.prefix)
    }

    /// Updates the bar, which appears after the initial delay.
    mutating func move(to count: Int) {
        self.count = count
        let elapsed = ContinuousClock.now - start
        guard isShown || elapsed >= Self.patience else { return }
        isShown = true
        let seconds: Double = elapsed / .seconds(1)
        show(.running, bytesPerSecond: Double(count) / seconds)
    }

    mutating func complete() {
        count = total
        finish(.completed)
    }

    /// Ends the bar's line, so that later output starts on a new line.
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
