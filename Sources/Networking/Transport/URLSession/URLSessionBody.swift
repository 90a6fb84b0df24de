import Foundation
import Synchronization

/// The body of a response that URLSession receives, held until it is read.
///
/// URLSession can't be told to wait, so what the reader has not taken is kept here; the exchange's size limit bounds it.
final class URLSessionBody: HTTPResponseBodySource {
    private enum End {
        case whole
        case failure(NetworkError)
    }

    private struct State {
        var held = Data()
        var end: End?
        var reader: CheckedContinuation<Data?, any Error>?
        /// Gives the exchange up; it also keeps the transport while the exchange runs.
        var giveUp: (@Sendable () -> Void)?

        /// What a reader gets now; `nil` if it must wait.
        mutating func take() -> Result<Data?, any Error>? {
            if !held.isEmpty {
                defer { held = Data() }
                return .success(held)
            }
            return switch end {
            case .whole: .success(nil)
            case .failure(let error): .failure(error)
            case nil: nil
            }
        }

        /// Takes what the reader who waits gets, if there is one and something for it.
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

    /// None: FoundationNetworking has no way to tell them.
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
        end(.failure(.cancelledExchange), dropsHeld: true)
        giveUp?()
    }

    /// Adds a part.
    func append(_ part: Data) {
        let served = state.withLock { state in
            guard state.end == nil else {
                return nil as (CheckedContinuation<Data?, any Error>, Result<Data?, any Error>)?
            }
            state.held.append(part)
            return state.serve()
        }
        if let (reader, result) = served { reader.resume(with: result) }
    }

    /// Ends the body; what is held is still read before an error is thrown.
    func finish(_ error: NetworkError?) {
        end(error.map(End.failure) ?? .whole, dropsHeld: false)
    }

    private func end(_ end: End, dropsHeld: Bool) {
        // What keeps the transport is let go outside the lock: its end comes back to the engine.
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
