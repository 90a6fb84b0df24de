/// The events of a server-sent event stream, received while they're read.
///
/// Each iterator makes its own requests, beginning with the first ``Iterator/next()``. A slow
/// reader slows the server down. To end the stream, leave the loop or cancel the task: the
/// connection closes at once.
public struct ServerSentEvents: AsyncSequence, Sendable {
    /// An event.
    public typealias Element = ServerSentEvent

    enum Source: Sendable {
        case body(HTTPResponseBody, maximumEventSize: Int)
        case requests(EventStreamConnector)
    }

    let source: Source

    /// Creates an iterator, which connects when it's first used.
    ///
    /// - Returns: The iterator.
    public func makeAsyncIterator() -> Iterator {
        switch source {
        case .body(let body, let size): Iterator(stream: EventStream(body, maximumEventSize: size))
        case .requests(let connector): Iterator(stream: EventStream(connector))
        }
    }

    /// An iterator over events.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var stream: EventStream

        /// Waits for the next event, and reconnects as often as necessary.
        ///
        /// - Returns: The event, or `nil` at the end of the stream.
        /// - Throws: ``ServerError`` or ``NetworkError`` for a failure that the policy doesn't
        ///   retry. ``NetworkError`` with the code `invalidResponse` if the response isn't an event
        ///   stream, `bodyTooLarge` if an event is too large. `CancellationError` if the task is
        ///   cancelled. After an error, the stream has ended.
        public mutating func next() async throws -> ServerSentEvent? {
            try await stream.next()
        }
    }
}
