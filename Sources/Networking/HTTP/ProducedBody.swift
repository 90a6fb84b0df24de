import Foundation
import Synchronization

/// A response body received by a closure, at most one part ahead of the reader.
final class ProducedBody: HTTPResponseBodySource {
    typealias Producer =
        @Sendable (_ deliver: @escaping @Sendable (Data) async throws -> Void) async throws -> HTTPHeaders

    private typealias Reader = CheckedContinuation<Data?, any Error>
    private typealias Giver = CheckedContinuation<Void, any Error>

    private struct State {
        /// The closure; `nil` once it has started or the body is cancelled.
        var producer: Producer?
        var task: Task<Void, Never>?
        /// The delivered but unread part, whose producer is waiting.
        var part: Data?
        var giver: Giver?
        var reader: Reader?
        var end: Result<HTTPHeaders, any Error>?

        mutating func takeGiver() -> Giver? {
            defer { giver = nil }
            return giver
        }

        mutating func takeReader() -> Reader? {
            defer { reader = nil }
            return reader
        }
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
            defer { state.producer = nil }
            return (state.task, state.takeReader(), state.takeGiver(), state.producer)
        }
        task?.cancel()
        giver?.resume(throwing: CancellationError())
        reader?.resume(throwing: CancellationError())
        withExtendedLifetime(producer) {}
    }
}

// MARK: Reader
extension ProducedBody {
    func next() async throws -> Data? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (result, giver) = state.withLock { state -> (Result<Data?, any Error>?, Giver?) in
                    if let part = state.part {
                        state.part = nil
                        return (.success(part), state.takeGiver())
                    }
                    if let end = state.end { return (Self.last(end), nil) }
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
        guard let producer = state.producer else { return }
        state.producer = nil
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
}

// MARK: Producer
extension ProducedBody {
    private func deliver(_ part: Data) async throws {
        guard !part.isEmpty else { return }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (result, reader) = state.withLock { state -> (Result<Void, any Error>?, Reader?) in
                    guard state.end == nil, !Task.isCancelled else { return (.failure(CancellationError()), nil) }
                    guard state.part == nil else { return (.failure(Self.crowd), nil) }
                    if let reader = state.takeReader() { return (.success(()), reader) }
                    state.part = part
                    state.giver = continuation
                    return (nil, nil)
                }
                reader?.resume(returning: part)
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            state.withLock { $0.takeGiver() }?.resume(throwing: CancellationError())
        }
    }

    /// Returns the reader's result at the end.
    private static func last(_ end: Result<HTTPHeaders, any Error>) -> Result<Data?, any Error> {
        end.map { _ in nil }
    }

    private static var crowd: NetworkError {
        NetworkError(.invalidRequest, "two tasks deliver parts of a response's body at once; use only one")
    }

    private func end(_ end: Result<HTTPHeaders, any Error>) {
        let reader = state.withLock { state in
            if state.end == nil { state.end = end }
            state.task = nil
            return state.part == nil ? state.takeReader() : nil
        }
        reader?.resume(with: Self.last(end))
    }
}
