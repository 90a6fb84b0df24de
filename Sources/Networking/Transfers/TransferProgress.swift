/// How far a transfer is.
public struct TransferProgress: Sendable, Equatable {
    /// What a transfer is doing.
    public struct State: Sendable, Hashable, CustomStringConvertible {
        private enum Wrapped: String { case waiting, running, paused, completed, failed, cancelled }

        private let wrapped: Wrapped

        /// It waits until fewer others are in progress.
        public static let waiting = Self(wrapped: .waiting)
        /// It is in progress; a delay between two attempts counts.
        public static let running = Self(wrapped: .running)
        /// It was paused, and goes on when it is resumed.
        public static let paused = Self(wrapped: .paused)
        /// It has succeeded.
        public static let completed = Self(wrapped: .completed)
        /// It has failed.
        public static let failed = Self(wrapped: .failed)
        /// It was cancelled.
        public static let cancelled = Self(wrapped: .cancelled)

        /// A bounded name, fit for a metric's label.
        public var description: String { wrapped.rawValue }
        /// Whether nothing more happens by itself.
        public var isFinal: Bool { self == .completed || self == .failed || self == .cancelled }
    }

    /// What the transfer is doing.
    public var state: State
    /// How many octets there are: of a download on the disk, those of earlier runs included; of an upload sent.
    ///
    /// It goes back to 0 where a transfer has to start over.
    public var completedBytes: Int
    /// How many octets there will be; `nil` if that is not known.
    public var totalBytes: Int?
    /// The octets per second lately; `nil` at the beginning and while nothing moves.
    public var bytesPerSecond: Double?

    /// Makes a progress, for tests of what shows it.
    ///
    /// - Parameters:
    ///   - state: What the transfer is doing.
    ///   - completedBytes: How many octets there are.
    ///   - totalBytes: How many octets there will be; `nil` if that is not known.
    ///   - bytesPerSecond: The octets per second lately.
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

    /// How much is done, 0 to 1, and 1 of a completed transfer; `nil` if the total is not known.
    public var fractionCompleted: Double? {
        if state == .completed { return 1 }
        guard let totalBytes else { return nil }
        return totalBytes > 0 ? min(1, Double(completedBytes) / Double(totalBytes)) : 0
    }

    /// How long it will take if it goes on like this; `nil` if the total or the rate is not known.
    public var estimatedTimeRemaining: Duration? {
        guard let totalBytes, let bytesPerSecond, bytesPerSecond > 0 else { return nil }
        // A `Duration` traps on what it can't hold; a year says enough.
        return .seconds(min(Double(max(0, totalBytes - completedBytes)) / bytesPerSecond, 31_536_000))
    }
}

/// The octets per second of the last few seconds.
struct TransferRate {
    /// How quickly older times are forgotten.
    private static let memory = 3.0

    private var last: (time: ContinuousClock.Instant, count: Int)?
    private(set) var bytesPerSecond: Double?

    /// Begins anew, as after a pause.
    mutating func reset() {
        last = nil
        bytesPerSecond = nil
    }

    /// Takes how many octets there are now.
    mutating func add(_ count: Int, at time: ContinuousClock.Instant) {
        guard let last, count >= last.count else {
            reset()
            self.last = (time, count)
            return
        }
        let seconds = (time - last.time) / .seconds(1)
        // The shorter the time, the less a measurement says.
        guard seconds >= 0.1 else { return }
        let current = Double(count - last.count) / seconds
        let weight = min(1, seconds / Self.memory)
        bytesPerSecond = bytesPerSecond.map { $0 + (current - $0) * weight } ?? current
        self.last = (time, count)
    }
}
