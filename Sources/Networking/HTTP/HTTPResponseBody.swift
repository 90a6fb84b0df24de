public import Foundation
import Synchronization

/// A response body that is received while it's read.
///
/// ```swift
/// for try await part in response.body { try file.write(contentsOf: part) }
/// ```
///
/// The body can be read once, by one task at a time. A slow reader slows the sender down: only a
/// bounded part is buffered. An unfinished request is cancelled by ``cancel()`` or when the last
/// reference to the body is released.
public final class HTTPResponseBody: AsyncSequence, Sendable {
    /// A non-empty part of the body.
    public typealias Element = Data

    private let source: any HTTPResponseBodySource
    private let isReading = Atomic<Bool>(false)

    package init(source: any HTTPResponseBodySource) {
        self.source = source
    }

    /// Creates a body from data in memory.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - trailers: The trailer fields.
    public convenience init(_ data: Data, trailers: HTTPHeaders = [:]) {
        self.init(source: HeldBody(data, trailers: trailers))
    }

    /// Creates a body that is received while it's read, for use by a custom transport.
    ///
    /// ```swift
    /// HTTPResponseBody { deliver in
    ///     while let part = try await connection.read() { try await deliver(part) }
    ///     return connection.trailers
    /// }
    /// ```
    ///
    /// - Parameter receive: Receives the body and returns the trailer fields. It runs in its own
    ///   task, which starts with the first read and is cancelled with the body. `deliver` takes a
    ///   part and returns when the reader wants the next one, so at most one part is buffered.
    ///   After cancellation it throws `CancellationError`, as the reader's call does. The reader
    ///   gets a thrown ``NetworkError`` unchanged, and any other error as the cause of a
    ///   `connectionLost`.
    public convenience init(
        _ receive:
            @escaping @Sendable (
                _ deliver: @escaping @Sendable (_ part: Data) async throws -> Void
            ) async throws -> HTTPHeaders
    ) {
        self.init(source: ProducedBody(receive))
    }

    deinit {
        source.cancel()
    }

    /// The trailer fields ([RFC 9110 §6.5](https://www.rfc-editor.org/rfc/rfc9110#section-6.5));
    /// empty before the end of the body.
    public var trailers: HTTPHeaders { source.trailers }

    /// Cancels the rest of the body; has no effect at the end.
    public func cancel() {
        source.cancel()
    }

    /// Reads the rest of the body.
    ///
    /// - Parameter limit: The maximum number of bytes.
    /// - Returns: The bytes.
    /// - Throws: ``NetworkError``: `bodyTooLarge`, which cancels the request, or the request's
    ///   error; `CancellationError` if the task or the body was cancelled.
    public func collect(upTo limit: Int) async throws -> Data {
        var whole = Data()
        for try await part in self {
            guard part.count <= limit - whole.count else {
                cancel()
                throw NetworkError(
                    .bodyTooLarge,
                    "the response's body is larger than \(limit) bytes; raise the limit or request less"
                )
            }
            if whole.isEmpty { whole = part } else { whole.append(part) }
        }
        return whole
    }

    /// Creates an iterator; all iterators of a body share its position.
    ///
    /// - Returns: The iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(body: self)
    }

    /// An iterator over the parts of a body.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let body: HTTPResponseBody

        /// Returns the next part.
        ///
        /// - Returns: The part, or `nil` at the end.
        /// - Throws: `CancellationError` if the task or the body was cancelled. ``NetworkError``
        ///   with the code `connectionLost`, `invalidResponse`, `bodyTooLarge` or `timedOut` if the
        ///   request failed, `invalidRequest` if another task is reading.
        public mutating func next() async throws -> Data? {
            guard body.isReading.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged else {
                throw NetworkError(.invalidRequest, "two tasks read a response's body at once; use only one")
            }
            defer { body.isReading.store(false, ordering: .releasing) }
            return try await body.source.next()
        }
    }
}

/// A source of a response's body.
package protocol HTTPResponseBodySource: Sendable {
    /// The trailer fields; empty before the end of the body.
    var trailers: HTTPHeaders { get }
    /// Returns the next part, never empty, or `nil` at the end. Called by one task at a time.
    ///
    /// - Throws: ``NetworkError`` or `CancellationError`; every later call throws the same error.
    func next() async throws -> Data?
    /// Cancels the rest of the body. Can be called at any time.
    func cancel()
}

/// A body in memory.
private final class HeldBody: HTTPResponseBodySource {
    private let data: Mutex<Data?>
    private let fields: HTTPHeaders

    init(_ data: Data, trailers: HTTPHeaders) {
        self.data = Mutex(data.isEmpty ? nil : data)
        fields = trailers
    }

    var trailers: HTTPHeaders { data.withLock { $0 == nil ? fields : [:] } }

    func next() async throws -> Data? {
        data.withLock { data in
            defer { data = nil }
            return data
        }
    }

    func cancel() {}
}
