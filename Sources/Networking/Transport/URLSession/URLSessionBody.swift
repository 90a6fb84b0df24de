import Foundation
import Synchronization

/// The body of a response that URLSession is receiving, buffered until it's read.
///
/// URLSession has no back pressure, so unread data is buffered here, up to the request's limit.
final class URLSessionBody: HTTPResponseBodySource {
    private struct State {
        var held = Data()
        /// The result after the last byte, which is `nil` or the error.
        var end: Result<Data?, any Error>?
        var reader: CheckedContinuation<Data?, any Error>?
        /// A closure that cancels the request and keeps the transport alive while it's running.
        var giveUp: (@Sendable () -> Void)?

        /// Returns the result for a reader, or `nil` if it must wait.
        mutating func take() -> Result<Data?, any Error>? {
            guard !held.isEmpty else { return end }
            defer { held = Data() }
            return .success(held)
        }

        /// Returns the waiting reader and its result, if both exist.
        mutating func serve() -> (CheckedContinuation<Data?, any Error>, Result<Data?, any Error>)? {
            guard let reader, let result = take() else { return nil }
            self.reader = nil
            return (reader, result)
        }
    }

    private let state: Mutex<State>

    init(givingUp giveUp: @escaping @Sendable () -> Void) {
        state = Mutex(State(giveUp: giveUp))
    }

    /// The trailers, which are empty because FoundationNetworking doesn't report them.
    var trailers: HTTPHeaders { [:] }

    func next() async throws -> Data? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state in
                    let result = state.take()
                    if result == nil { state.reader = continuation }
                    return result
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            cancel()
        }
    }

    func cancel() {
        let giveUp = state.withLock { state in
            defer { state.giveUp = nil }
            return state.giveUp
        }
        end(.failure(CancellationError()), dropsHeld: true)
        giveUp?()
    }

    func append(_ part: Data) {
        let served = state.withLock { state in
            // After the end, no reader waits.
            if state.end == nil { state.held.append(part) }
            return state.serve()
        }
        if let (reader, result) = served { reader.resume(with: result) }
    }

    /// Ends the body, whose buffered data can still be read before an error is thrown.
    func finish(_ error: (any Error)?) {
        end(error.map { .failure($0) } ?? .success(nil), dropsHeld: false)
    }

    private func end(_ end: Result<Data?, any Error>, dropsHeld: Bool) {
        // The reference that keeps the transport alive is released without the lock, because the
        // transport's deinitializer calls back into the engine.
        let (served, kept) = state.withLock { state in
            let isUnread = state.end == nil || !state.held.isEmpty
            if state.end == nil || (dropsHeld && isUnread) { state.end = end }
            if dropsHeld { state.held = Data() }
            defer { state.giveUp = nil }
            return (state.serve(), state.giveUp)
        }
        if let (reader, result) = served { reader.resume(with: result) }
        _ = kept
    }
}
