import OpenSSLCrypto

/// The progress of a transfer.
public struct TransferProgress: Sendable, Equatable {
    /// The state of a transfer.
    @nonexhaustive
    public enum State: String, Sendable, CustomStringConvertible {
        /// The transfer waits until fewer others are running.
        case waiting
        /// The transfer is running or waiting between two attempts.
        case running
        /// The transfer is paused until it's resumed.
        case paused
        /// The transfer has succeeded.
        case completed
        /// The transfer has failed.
        case failed
        /// The transfer was canceled.
        case cancelled

        /// A name from a fixed set, suitable as a metric label.
        public var description: String { rawValue }
        /// A Boolean value that indicates whether the transfer has ended.
        public var isFinal: Bool { self == .completed || self == .failed || self == .cancelled }
    }

    /// The state of the transfer.
    public var state: State
    /// The number of bytes so far: on the disk for a download, including earlier runs; sent for an
    /// upload.
    ///
    /// It returns to 0 if the transfer starts over.
    public var completedBytes: Int
    /// The total number of bytes, or `nil` if it's unknown.
    public var totalBytes: Int?
    /// The recent transfer rate in bytes per second, or `nil` at the beginning and while no data
    /// moves.
    public var bytesPerSecond: Double?

    /// Creates a progress, for testing code that displays it.
    ///
    /// - Parameters:
    ///   - state: The state of the transfer.
    ///   - completedBytes: The number of bytes so far.
    ///   - totalBytes: The total number of bytes, or `nil` if it's unknown.
    ///   - bytesPerSecond: The recent transfer rate in bytes per second.
    public init(
        state: State,
        completedBytes: Int = 0,
        totalBytes: Int? = nil,
        bytesPerSecond: Double? = nil
    ) {
        self.state = state
        self.completedBytes = completedBytes
        self.totalBytes = totalBytes
        self.bytesPerSecond = bytesPerSecond
    }

    /// The completed fraction from 0 to 1, and 1 for a completed transfer; `nil` if the total is
    /// unknown.
    public var fractionCompleted: Double? {
        if state == .completed { return 1 }
        guard let totalBytes else { return nil }
        return totalBytes > 0 ? min(1, Double(completedBytes) / Double(totalBytes)) : 0
    }

    /// The estimated remaining time at the current rate, or `nil` if the total or the rate is
    /// unknown.
    public var estimatedTimeRemaining: Duration? {
        guard let totalBytes, let bytesPerSecond, bytesPerSecond > 0 else { return nil }
        return Duration(
            clampingSeconds: min(max(0, Double(totalBytes) - Double(completedBytes)) / bytesPerSecond, 31_536_000)
        )
    }
}

/// The average transfer rate of the last few seconds, in bytes per second.
struct TransferRate {
    /// The time constant of the average, in seconds.
    private static let memory = 3.0

    private var last: (time: ContinuousClock.Instant, count: Int)?
    private(set) var bytesPerSecond: Double?

    /// Resets the rate, for example after a pause.
    mutating func reset() {
        last = nil
        bytesPerSecond = nil
    }

    /// Adds a measurement of the number of bytes so far.
    mutating func add(_ count: Int, at time: ContinuousClock.Instant) {
        guard let last, count >= last.count else {
            reset()
            self.last = (time, count)
            return
        }
        let seconds = (time - last.time) / .seconds(1)
        // Shorter intervals are too inaccurate.
        guard seconds >= 0.1 else { return }
        let current = Double(count - last.count) / seconds
        let weight = min(1, seconds / Self.memory)
        bytesPerSecond = bytesPerSecond.map { $0 + (current - $0) * weight } ?? current
        self.last = (time, count)
    }
}
