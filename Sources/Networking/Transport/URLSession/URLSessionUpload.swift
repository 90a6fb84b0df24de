import Foundation

/// A request's body, read into memory.
///
/// FoundationNetworking crashes if a file upload is cancelled or answered early while it reads
/// (`EasyHandle.swift`, `setState`). Its body streams block all sessions while they wait. Only data
/// in memory is safe.
enum URLSessionUpload {
    /// Returns the bytes to send, or `nil` if there's no body.
    ///
    /// Stops at once when the task is cancelled or the deadline passes, even if the body's producer
    /// doesn't.
    static func octets(
        of body: HTTPBody,
        to origin: HTTPOrigin,
        upTo maximumSize: Int,
        limits: HTTPTransportLimits
    ) async throws -> Data? {
        switch body.source {
        case .none: return nil
        case .data(let data): return data
        case .file, .stream: break
        }
        let tooLarge = NetworkError(
            .invalidRequest,
            "URLSessionTransport holds request bodies in memory, and this one exceeds \(maximumSize) bytes; "
                + "raise maximumRequestBodySize or use CurlTransport"
        )
        // The first outcome ends the stream, and so does the cancellation of this task.
        let (outcomes, outcome) = AsyncThrowingStream<Data, any Error>.makeStream()
        let working = Task {
            do {
                outcome.yield(try await body.collect(upTo: maximumSize, otherwise: tooLarge))
                outcome.finish()
            } catch {
                outcome.finish(throwing: error)
            }
        }
        let timer = limits.deadline.map { deadline in
            Task {
                do { try await Task.sleep(until: deadline, clock: .continuous) } catch { return }
                outcome.finish(throwing: NetworkError.timedOut(.deadline, of: limits, .preparing, origin))
            }
        }
        defer {
            working.cancel()
            timer?.cancel()
        }
        for try await octets in outcomes { return octets }
        throw CancellationError()
    }
}
