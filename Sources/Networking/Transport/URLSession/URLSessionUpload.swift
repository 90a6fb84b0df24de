import Foundation
import Synchronization

/// A request's body, read into memory.
///
/// FoundationNetworking crashes if a file upload is cancelled or answered early while it reads
/// (`EasyHandle.swift`, `setState`). Its body streams block all sessions while they wait. Only data
/// in memory is safe.
struct URLSessionUpload {
    let body: HTTPBody
    let origin: HTTPOrigin
    let maximumSize: Int
    let limits: HTTPTransportLimits

    /// Returns the bytes to send, or `nil` if there's no body.
    ///
    /// Stops at once when the task is cancelled or the deadline passes, even if the body's producer
    /// doesn't.
    func octets() async throws -> Data? {
        switch body.source {
        case .none: return nil
        case .data(let data): return data
        case .file, .stream:
            return try await limited { try await body.collect(upTo: maximumSize, otherwise: tooLarge) }
        }
    }

    private var tooLarge: NetworkError {
        NetworkError(
            .invalidRequest,
            "URLSessionTransport holds request bodies in memory, and this one exceeds \(maximumSize) bytes; "
                + "raise maximumRequestBodySize or use CurlTransport"
        )
    }

    private func limited(_ work: @escaping @Sendable () async throws -> Data) async throws -> Data {
        let outcome = FirstOutcome()
        let working = Task {
            do { outcome.set(.success(try await work())) } catch { outcome.set(.failure(error)) }
        }
        let timer = limits.deadline.map { [origin, limits] deadline in
            Task {
                do { try await Task.sleep(until: deadline, clock: .continuous) } catch { return }
                outcome.set(.failure(NetworkError.timedOut(.deadline, of: limits, .preparing, origin)))
            }
        }
        defer {
            working.cancel()
            timer?.cancel()
        }
        do {
            return try await withTaskCancellationHandler {
                try await outcome.value()
            } onCancel: {
                outcome.set(.failure(NetworkError.cancelledExchange))
            }
        } catch is CancellationError {
            throw NetworkError.cancelledExchange
        }
    }
}

/// The first of several outcomes, which one task waits for.
private final class FirstOutcome: Sendable {
    private struct State {
        var outcome: Result<Data, any Error>?
        var waiter: CheckedContinuation<Data, any Error>?
    }

    private let state = Mutex(State())

    func set(_ outcome: Result<Data, any Error>) {
        let waiter = state.withLock { state in
            guard state.outcome == nil else { return nil as CheckedContinuation<Data, any Error>? }
            state.outcome = outcome
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(with: outcome)
    }

    func value() async throws -> Data {
        try await withCheckedThrowingContinuation { continuation in
            let outcome = state.withLock { state in
                if state.outcome == nil { state.waiter = continuation }
                return state.outcome
            }
            if let outcome { continuation.resume(with: outcome) }
        }
    }
}
