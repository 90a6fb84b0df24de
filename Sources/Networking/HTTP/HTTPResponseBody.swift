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
    public func makeAsyncIterator() -> Iterator { Iterator(body: self) }

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

private final class HeldBody: HTTPResponseBodySource {
    private let data: Mutex<Data?>
    private let fields: HTTPHeaders

    init(_ data: Data, trailers: HTTPHeaders) {
        self.data = Mutex(data.isEmpty ? nil : data)
        fields = trailers
    }

    var trailers: HTTPHeaders { data.withLock { $0 == nil ? fields : [:] } }

    func next() async throws -> Data? {
        data.withLock { $0.take() }
    }

    func cancel() {}
}

/// Receives a body with a closure, at most one part ahead of the reader.
final class ProducedBody: HTTPResponseBodySource {
    typealias Producer =
        @Sendable (_ deliver: @escaping @Sendable (Data) async throws -> Void) async throws -> HTTPHeaders

    private typealias Reader = CheckedContinuation<Data?, any Error>
    private typealias Giver = CheckedContinuation<Void, any Error>

    private struct State {
        /// `nil` once the closure has started or the body is cancelled.
        var producer: Producer?
        var task: Task<Void, Never>?
        /// The delivered but unread part, whose producer is waiting.
        var part: Data?
        var giver: Giver?
        var reader: Reader?
        var end: Result<HTTPHeaders, any Error>?
    }

    private let state: Mutex<State>

    init(_ producer: @escaping Producer) {
        state = Mutex(State(producer: producer))
    }

    var trailers: HTTPHeaders {
        state.withLock { state in
            guard state.part == nil, case .success(let trailers) = state.end else { return [:] }
            return trailers
        }
    }

    func cancel() {
        // The closure is released outside the lock, because its deinitialization may call back.
        let (task, reader, giver, producer) = state.withLock { state in
            if state.end == nil || state.part != nil { state.end = .failure(CancellationError()) }
            state.part = nil
            return (state.task, state.reader.take(), state.giver.take(), state.producer.take())
        }
        task?.cancel()
        giver?.resume(throwing: CancellationError())
        reader?.resume(throwing: CancellationError())
        withExtendedLifetime(producer) {}
    }
    // MARK: Reader

    func next() async throws -> Data? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (result, giver) = state.withLock { state -> (Result<Data?, any Error>?, Giver?) in
                    if let part = state.part {
                        state.part = nil
                        return (.success(part), state.giver.take())
                    }
                    if let end = state.end { return (end.map { _ in nil }, nil) }
                    state.reader = continuation
                    start(&state)
                    return (nil, nil)
                }
                giver?.resume()
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            cancel()
        }
    }

    private func start(_ state: inout State) {
        guard let producer = state.producer.take() else { return }
        state.task = Task { [self] in
            do {
                end(.success(try await producer { [self] part in try await deliver(part) }))
            } catch let error as NetworkError {
                end(.failure(error))
            } catch {
                end(.failure(NetworkError(.connectionLost, "the response's body couldn't be received", cause: error)))
            }
        }
    }
    // MARK: Producer

    private func deliver(_ part: Data) async throws {
        guard !part.isEmpty else { return }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (result, reader) = state.withLock { state -> (Result<Void, any Error>?, Reader?) in
                    guard state.end == nil, !Task.isCancelled else { return (.failure(CancellationError()), nil) }
                    guard state.part == nil else { return (.failure(Self.crowd), nil) }
                    if let reader = state.reader.take() { return (.success(()), reader) }
                    state.part = part
                    state.giver = continuation
                    return (nil, nil)
                }
                reader?.resume(returning: part)
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            state.withLock { $0.giver.take() }?.resume(throwing: CancellationError())
        }
    }

    private static var crowd: NetworkError {
        NetworkError(.invalidRequest, "two tasks deliver parts of a response's body at once; use only one")
    }

    private func end(_ end: Result<HTTPHeaders, any Error>) {
        let reader = state.withLock { state in
            if state.end == nil { state.end = end }
            state.task = nil
            return state.part == nil ? state.reader.take() : nil
        }
        reader?.resume(with: end.map { _ in nil })
    }
}
