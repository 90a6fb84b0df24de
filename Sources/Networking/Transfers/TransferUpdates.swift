/// An asynchronous sequence of a transfer's progress: the current one, then each update until the
/// transfer ends.
///
/// A slow reader gets the newest progress and misses those in between. The transfer never waits for
/// it. For a transfer that has already ended, the sequence has one element. Reading the sequence
/// keeps the transfer alive.
public struct TransferUpdates: AsyncSequence, Sendable {
    /// The element type.
    public typealias Element = TransferProgress
    /// The failure type; the sequence never fails.
    public typealias Failure = Never

    private let owner: any Transfer
    private let makeStream: @Sendable () -> AsyncStream<TransferProgress>

    init(owner: any Transfer, makeStream: @escaping @Sendable () -> AsyncStream<TransferProgress>) {
        self.owner = owner
        self.makeStream = makeStream
    }

    /// Creates an iterator that begins with the current progress.
    ///
    /// - Returns: The iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(owner: owner, base: makeStream().makeAsyncIterator())
    }

    /// The iterator of a transfer's progress.
    public struct Iterator: AsyncIteratorProtocol {
        private let owner: any Transfer
        private var base: AsyncStream<TransferProgress>.Iterator

        fileprivate init(owner: any Transfer, base: AsyncStream<TransferProgress>.Iterator) {
            self.owner = owner
            self.base = base
        }

        /// Waits for the next progress.
        ///
        /// - Returns: The newest progress, or `nil` if the transfer has ended or the task is
        ///   canceled.
        public mutating func next() async -> TransferProgress? {
            // Keeps the transfer alive while it's being observed.
            defer { withExtendedLifetime(owner) {} }
            return await base.next(isolation: #isolation)
        }
    }
}
