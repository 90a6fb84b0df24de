/// The progress of a transfer as it changes: first what it is now, then each newer one, until the transfer is over.
///
/// Who reads slowly gets the newest and misses those in between; the transfer never waits. Of a transfer that is over already there is one
/// element, its last. The sequence keeps the transfer alive while it is read.
public struct TransferUpdates: AsyncSequence, Sendable {
    /// What an iteration gives.
    public typealias Element = TransferProgress
    /// It never fails.
    public typealias Failure = Never

    private let owner: any Transfer
    private let makeStream: @Sendable () -> AsyncStream<TransferProgress>

    init(owner: any Transfer, makeStream: @escaping @Sendable () -> AsyncStream<TransferProgress>) {
        self.owner = owner
        self.makeStream = makeStream
    }

    /// Makes an iterator, which begins with the current progress.
    ///
    /// - Returns: The iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(owner: owner, base: makeStream().makeAsyncIterator())
    }

    /// Reads one progress after the other.
    public struct Iterator: AsyncIteratorProtocol {
        private let owner: any Transfer
        private var base: AsyncStream<TransferProgress>.Iterator

        fileprivate init(owner: any Transfer, base: AsyncStream<TransferProgress>.Iterator) {
            self.owner = owner
            self.base = base
        }

        /// Waits for the next progress.
        ///
        /// - Returns: The newest progress; `nil` when the transfer is over, or the task is cancelled.
        public mutating func next() async -> TransferProgress? {
            // The transfer goes on for as long as it is watched.
            defer { withExtendedLifetime(owner) {} }
            return await base.next(isolation: #isolation)
        }

        /// Waits for the next progress.
        ///
        /// - Parameter actor: Where the caller is.
        /// - Returns: The newest progress; `nil` when the transfer is over, or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> TransferProgress? {
            defer { withExtendedLifetime(owner) {} }
            return await base.next(isolation: actor)
        }
    }
}
