import Foundation
import Synchronization

/// The body of a request, brought into memory.
///
/// FoundationNetworking ends the process if an upload from a file is cancelled, or answered early, while it reads
/// (`EasyHandle.swift`, `setState`), and its body streams block all sessions while they wait; only octets in memory are safe.
struct URLSessionUpload {
    let body: HTTPBody
    let origin: HTTPOrigin
    let maximumSize: Int
    let limits: HTTPTransportLimits

    /// The octets to send; `nil` if there is no body.
    ///
    /// Stops at once when the task is cancelled or the deadline passes, even if whoever makes the parts does not.
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
            "URLSessionTransport holds a request's body in memory, and this one has more than \(maximumSize) octets; "
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

/// The first of several outcomes, waited for by one task.
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
