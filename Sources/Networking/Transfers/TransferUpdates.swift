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

    let owner: any Transfer
    let makeStream: @Sendable () -> AsyncStream<TransferProgress>

    /// Creates an iterator that begins with the current progress.
    ///
    /// - Returns: The iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(owner: owner, base: makeStream().makeAsyncIterator())
    }

    /// The iterator of a transfer's progress.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let owner: any Transfer
        fileprivate var base: AsyncStream<TransferProgress>.Iterator

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
