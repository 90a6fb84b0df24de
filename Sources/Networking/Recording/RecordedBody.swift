import Foundation
import Synchronization

/// A body that is recorded while it's read.
final class RecordedBody: HTTPResponseBodySource {
    private struct State {
        var data = Data()
        /// A Boolean value that indicates whether the body exceeds the recorded size.
        var isCut = false
        var isOver = false
        var received = 0
    }

    private let response: HTTPTransportResponse
    private let stream: HTTPResponseBody
    private let exchange: RecordedExchange
    private let limit: Int
    private let state = Mutex(State())

    init(
        _ response: HTTPTransportResponse,
        _ stream: HTTPResponseBody,
        exchange: RecordedExchange,
        limit: Int
    ) {
        self.response = response
        self.stream = stream
        self.exchange = exchange
        self.limit = limit
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
                state.received += part.count
                if state.received <= limit {
                    state.data.append(part)
                } else {
                    state.isCut = true
                    state.data = Data()
                }
            }
            return part
        } catch {
            end(error: error)
            throw error
        }
    }

    func cancel() {
        stream.cancel()
        end(error: NetworkError(.cancelled, "the rest of the body was cancelled"))
    }

    private func end(error: (any Error)?) {
        let ended = state.withLock { state -> State? in
            guard !state.isOver else { return nil }
            state.isOver = true
            return state
        }
        guard let ended else { return }
        if let error { return exchange.end(.failure(error)) }
        // A body over the limit is omitted entirely, because a part would play back as the whole.
        let body = ended.isCut ? Data(count: limit + 1) : ended.data
        var response = response
        (response.body, response.trailers, response.stream) = (body, stream.trailers, nil)
        exchange.end(.success(response))
    }
}
