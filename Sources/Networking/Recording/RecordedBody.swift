import Foundation
import Synchronization

/// A body that is recorded while it's read.
final class RecordedBody: HTTPResponseBodySource {
    private struct State {
        var data = Data()
        var receivedCount = 0
        /// Records the response, or `nil` if that has happened.
        var record: (@Sendable (Result<HTTPTransportResponse, any Error>) -> Void)?
    }

    private let response: HTTPTransportResponse
    private let stream: HTTPResponseBody
    private let limit: Int
    private let state: Mutex<State>

    init(
        _ response: HTTPTransportResponse,
        _ stream: HTTPResponseBody,
        limit: Int,
        _ record: @escaping @Sendable (Result<HTTPTransportResponse, any Error>) -> Void
    ) {
        self.response = response
        self.stream = stream
        self.limit = limit
        state = Mutex(State(record: record))
    }

    deinit {
        end(error: nil)
    }

    var trailers: HTTPHeaders { stream.trailers }

    func next() async throws -> Data? {
        do {
            var iterator = stream.makeAsyncIterator()
            guard let part = try await iterator.next() else {
                end(error: nil)
                return nil
            }
            state.withLock { state in
                state.receivedCount += part.count
                if state.receivedCount <= limit { state.data.append(part) } else { state.data = Data() }
            }
            return part
        } catch {
            end(error: error)
            throw error
        }
    }

    func cancel() {
        stream.cancel()
        end(error: CancellationError())
    }

    private func end(error: (any Error)?) {
        let ended = state.withLock { state in
            defer { state.record = nil }
            return state
        }
        guard let record = ended.record else { return }
        if let error { return record(.failure(error)) }
        // A body over the limit is omitted entirely, because a part would play back as the whole.
        let body = ended.receivedCount > limit ? Data(count: limit + 1) : ended.data
        var response = response
        (response.body, response.trailers, response.stream) = (body, stream.trailers, nil)
        record(.success(response))
    }
}
