import Foundation
import Synchronization

/// The body of a response, passed from the engine's thread to the task that reads it.
///
/// The engine adds bytes and the reader takes all available bytes at once, so a fast reader costs
/// few wake-ups. When the remaining capacity may be too small for libcurl's next read, the engine
/// pauses this request until the reader has taken the bytes.
final class CurlResponseStream: Sendable {
    private struct State {
        var opener: CheckedContinuation<CurlSubmission.Outcome, Never>?
        var reader: CheckedContinuation<Void, Never>?
        var buffer: PartBuffer
        /// The engine is holding back bytes.
        var isPaused = false
        var outcome: Result<HTTPHeaders, any Error>?
        /// The engine, which must outlive this request even if the transport is gone.
        var engine: CurlEngine?
    }

    private enum Next {
        /// Has the engine to resume if it's holding back bytes.
        case part(Data, CurlEngine?)
        case end(Result<HTTPHeaders, any Error>)
        case nothing
    }

    private let identifier: UInt64
    /// The fill level up to which libcurl continues to fill the buffer.
    private let threshold: Int
    private let state: Mutex<State>

    init(
        _ identifier: UInt64,
        _ engine: CurlEngine,
        head: CheckedContinuation<CurlSubmission.Outcome, Never>
    ) {
        self.identifier = identifier
        threshold = engine.streamBlocks.blockSize / 2
        state = Mutex(State(opener: head, buffer: PartBuffer(pool: engine.streamBlocks), engine: engine))
    }

    // MARK: The engine's side

    /// The response's head was delivered, or the request has ended.
    var hasBegun: Bool { state.withLock { $0.opener == nil } }

    var hasRoom: Bool { state.withLock { $0.buffer.count == 0 } }

    func begin(_ head: (HTTPResponseBody) -> HTTPTransportResponse) {
        let opener = state.withLock { $0.opener.take() }
        opener?.resume(returning: .success(head(HTTPResponseBody(source: self))))
    }

    /// Doesn't wake the reader, which ``flush()`` does; returns `false` if the engine must offer
    /// the bytes again once the buffer is taken.
    func put(_ octets: UnsafeBufferPointer<UInt8>) -> Bool {
        state.withLock { state in
            // A reader that cancelled the body needs no more data; its cancellation will arrive.
            if state.outcome != nil { return true }
            if unsafe state.buffer.append(octets) { return true }
            state.isPaused = true
            return false
        }
    }

    /// Wakes the reader if there's data; returns whether the engine should pause until it's taken.
    func flush() -> Bool {
        let (reader, isNearlyFull) = state.withLock { state -> (CheckedContinuation<Void, Never>?, Bool) in
            guard state.buffer.count > 0, state.outcome == nil else { return (nil, false) }
            // A reader that was waiting takes the data almost immediately.
            if let reader = state.reader.take() { return (reader, false) }
            let isNearlyFull = state.buffer.count > threshold
            state.isPaused = state.isPaused || isNearlyFull
            return (nil, isNearlyFull)
        }
        reader?.resume()
        return isNearlyFull
    }

    /// The buffer can still be read.
    func end(_ outcome: Result<HTTPHeaders, any Error>) {
        let (opener, reader, engine) = state.withLock { state in
            if state.outcome == nil { state.outcome = outcome }
            return (state.opener.take(), state.reader.take(), state.engine.take())
        }
        if let opener, case .failure(let error) = outcome { opener.resume(returning: .failure(error)) }
        reader?.resume()
        // Releasing the engine may deinitialize it, which must not happen under the lock.
        withExtendedLifetime(engine) {}
    }
}

// Called by the reader.
extension CurlResponseStream: HTTPResponseBodySource {
    var trailers: HTTPHeaders {
        state.withLock { state in
            guard state.buffer.count == 0, case .success(let trailers) = state.outcome else { return [:] }
            return trailers
        }
    }

    func next() async throws -> Data? {
        try await withTaskCancellationHandler {
            while true {
                switch take() {
                case .part(let part, let engine):
                    engine?.post(.resume(identifier))
                    return part
                case .end(let outcome):
                    _ = try outcome.get()
                    return nil
                case .nothing: await wait()
                }
            }
        } onCancel: {
            cancel()
        }
    }

    func cancel() {
        let (isRunning, reader, engine) = state.withLock { state in
            let isRunning = state.outcome == nil
            if isRunning || state.buffer.count > 0 { state.outcome = .failure(CancellationError()) }
            state.buffer.removeAll()
            return (isRunning, state.reader.take(), state.engine.take())
        }
        if isRunning { engine?.post(.cancel(identifier)) }
        reader?.resume()
        withExtendedLifetime(engine) {}
    }

    private func take() -> Next {
        state.withLock { state in
            guard state.buffer.count == 0 else {
                let mustResume = state.isPaused && state.outcome == nil
                state.isPaused = false
                return .part(state.buffer.take(), mustResume ? state.engine : nil)
            }
            return state.outcome.map(Next.end) ?? .nothing
        }
    }

    private func wait() async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                guard state.buffer.count == 0, state.outcome == nil else { return true }
                state.reader = continuation
                return false
            }
            if isReady { continuation.resume() }
        }
    }
}

struct PartBuffer {
    private let pool: BlockPool
    private var block: OctetBlock?
    private(set) var count = 0

    init(pool: BlockPool) {
        self.pool = pool
    }

    /// Returns `false` if the buffer doesn't have the capacity.
    mutating func append(_ octets: UnsafeBufferPointer<UInt8>) -> Bool {
        let block = block ?? pool.block(capacity: octets.count)
        guard octets.count <= block.capacity - count else { return false }
        if let start = octets.baseAddress {
            unsafe (block.memory + count).copyMemory(from: start, byteCount: octets.count)
        }
        self.block = block
        count += octets.count
        return true
    }

    mutating func take() -> Data {
        defer { removeAll() }
        return block?.data(count: count) ?? Data()
    }

    mutating func removeAll() {
        block = nil
        count = 0
    }
}

/// Body parts that are consumed in order, in pieces of any size.
struct PartQueue {
    private var parts: ArraySlice<Data> = []
    /// The number of unconsumed bytes.
    private(set) var count = 0

    mutating func append(_ part: Data) {
        parts.append(part)
        count += part.count
    }

    mutating func take(_ limit: Int) -> [Data] {
        var rest = min(limit, count)
        count -= rest
        var slices: [Data] = []
        while rest > 0 {
            let first = parts.startIndex
            let slice = parts[first].prefix(rest)
            slices.append(slice)
            rest -= slice.count
            if slice.count < parts[first].count {
                parts[first] = parts[first].dropFirst(slice.count)
            } else {
                // The slice of parts would keep removed elements in memory, so release the part.
                parts[first] = Data()
                parts.removeFirst()
            }
        }
        return slices
    }
}
