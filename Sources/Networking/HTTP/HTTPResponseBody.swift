public import Foundation
import Synchronization

/// The body of a response, received while it is read.
///
/// ```swift
/// for try await part in response.body { try file.write(contentsOf: part) }
/// ```
///
/// It is read once, by one task at a time. Who reads slowly slows the sender down: only a bounded part waits in memory. An
/// exchange whose body is not read to its end is cancelled when the last reference to the body goes, or by ``cancel()``.
public final class HTTPResponseBody: AsyncSequence, Sendable {
    /// A part of the body, never empty.
    public typealias Element = Data

    private let source: any HTTPResponseBodySource
    private let isReading = Atomic<Bool>(false)

    package init(source: any HTTPResponseBodySource) {
        self.source = source
    }

    /// Makes a body that is in memory already.
    ///
    /// - Parameters:
    ///   - data: The octets.
    ///   - trailers: The fields after the body.
    public convenience init(_ data: Data, trailers: HTTPHeaders = [:]) {
        self.init(source: HeldBody(data, trailers: trailers))
    }

    /// Makes a body that is received while it is read, for a transport of one's own.
    ///
    /// ```swift
    /// HTTPResponseBody { deliver in
    ///     while let part = try await connection.read() { try await deliver(part) }
    ///     return connection.trailers
    /// }
    /// ```
    ///
    /// - Parameter receive: Receives the body and returns the fields after it. It runs in a task of its own, which begins when somebody
    ///   reads and is cancelled when the body is given up. `deliver` takes a part and returns once the reader wants the next, so that at
    ///   most one part waits; after the body was given up it throws `CancellationError`. What is thrown, the reader gets: a
    ///   ``NetworkError`` as it is, anything else as the cause of a `connectionLost`.
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

    /// The fields that came after the body; empty before its end ([RFC 9110 §6.5](https://www.rfc-editor.org/rfc/rfc9110#section-6.5)).
    public var trailers: HTTPHeaders { source.trailers }

    /// Gives up what has not been read; harmless at the end.
    public func cancel() {
        source.cancel()
    }

    /// Reads everything that is left.
    ///
    /// - Parameter limit: The most octets accepted.
    /// - Returns: The octets.
    /// - Throws: ``NetworkError``: `bodyTooLarge`, and then the exchange is cancelled, or what ended the exchange.
    public func collect(upTo limit: Int) async throws -> Data {
        var whole = Data()
        for try await part in self {
            guard part.count <= limit - whole.count else {
                cancel()
                throw NetworkError(
                    .bodyTooLarge,
                    "the response has a body of more than \(limit) octets; accept more or ask for less"
                )
            }
            if whole.isEmpty { whole = part } else { whole.append(part) }
        }
        return whole
    }

    /// Makes an iterator; all iterators of a body go on where another one stopped.
    ///
    /// - Returns: The iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(body: self)
    }

    /// Reads a body part by part.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let body: HTTPResponseBody

        /// Reads the next part.
        ///
        /// - Returns: The part, or `nil` at the end.
        /// - Throws: ``NetworkError`` with what ended the exchange: `cancelled` if the task was cancelled or the body given up,
        ///   `connectionLost`, `invalidResponse`, `bodyTooLarge` or `timedOut`; `invalidRequest` if another task is reading.
        public mutating func next() async throws -> Data? {
            guard body.isReading.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged else {
                throw NetworkError(.invalidRequest, "two tasks read a response's body at once; let one do it")
            }
            defer { body.isReading.store(false, ordering: .releasing) }
            return try await body.source.next()
        }
    }
}

/// Where a response's body comes from.
package protocol HTTPResponseBodySource: Sendable {
    /// The fields after the body; empty before its end.
    var trailers: HTTPHeaders { get }
    /// The next part, never empty, or `nil` at the end; called by one task at a time.
    ///
    /// - Throws: ``NetworkError``, and the same one again when asked again.
    func next() async throws -> Data?
    /// Gives up what has not been read; harmless at any time.
    func cancel()
}

/// A body that is in memory already.
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
