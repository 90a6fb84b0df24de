import Foundation
import Synchronization
import System

/// The body of a response on its way from the engine's thread to the task that reads it.
///
/// The engine puts octets in, one reader takes all that is there at once, so that a fast reader costs few wake-ups. When so many
/// octets wait that there may be no room for what libcurl receives next, the engine stops receiving for this exchange alone, until the
/// reader has taken them.
final class CurlResponseStream: Sendable {
    private struct State {
        var opener: CheckedContinuation<CurlSubmission.Outcome, Never>?
        var reader: CheckedContinuation<Void, Never>?
        var buffer: PartBuffer
        /// Whether the engine holds octets back.
        var isPaused = false
        var outcome: Result<HTTPHeaders, NetworkError>?
        /// Keeps the engine working for as long as this exchange runs, even when the transport itself is gone.
        var engine: CurlEngine?

        mutating func takeReader() -> CheckedContinuation<Void, Never>? {
            defer { reader = nil }
            return reader
        }
    }

    /// What putting octets into the buffer led to.
    enum Room {
        case taken
        /// Nothing was taken: the engine offers the octets again when the reader has made room.
        case full
    }

    private enum Next {
        case part(Data, mustResume: Bool)
        case end(Result<HTTPHeaders, NetworkError>)
        case nothing
    }

    private let identifier: UInt64
    private let mailbox: Mailbox<CurlMessage>
    /// So many octets can wait, and libcurl still receive as much as it does at once.
    private let threshold: Int
    private let state: Mutex<State>

    /// Makes a body whose response's head `head` waits for.
    init(
        _ identifier: UInt64,
        _ engine: CurlEngine,
        head: CheckedContinuation<CurlSubmission.Outcome, Never>
    ) {
        self.identifier = identifier
        mailbox = engine.mailbox
        threshold = engine.streamBlocks.blockSize - engine.receivingSize
        state = Mutex(State(opener: head, buffer: PartBuffer(pool: engine.streamBlocks), engine: engine))
    }
}

// The engine's side.
extension CurlResponseStream {
    /// Whether the reader has made room since the buffer was full.
    var hasRoom: Bool { state.withLock { $0.buffer.count == 0 } }

    /// Hands out the response's head.
    func begin(_ head: (HTTPResponseBody) -> HTTPTransportResponse) {
        let opener = state.withLock { state in
            defer { state.opener = nil }
            return state.opener
        }
        opener?.resume(returning: .success(head(HTTPResponseBody(source: self))))
    }

    /// Adds octets without waking the reader, which ``flush()`` does.
    func put(_ octets: UnsafeBufferPointer<UInt8>) -> Room {
        state.withLock { state in
            // Whoever gave the body up wants no more of it; the cancellation is on its way.
            guard state.outcome == nil else { return .taken }
            guard unsafe state.buffer.append(octets) else {
                state.isPaused = true
                return .full
            }
            return .taken
        }
    }

    /// Wakes the reader if there is something for it, and says whether the engine should wait until it has taken that.
    func flush() -> Bool {
        let (reader, isNearlyFull) = state.withLock { state -> (CheckedContinuation<Void, Never>?, Bool) in
            guard state.buffer.count > 0, state.outcome == nil else { return (nil, false) }
            // A reader that was waiting takes what there is very soon.
            if let reader = state.takeReader() { return (reader, false) }
            let isNearlyFull = state.buffer.count > threshold
            state.isPaused = state.isPaused || isNearlyFull
            return (nil, isNearlyFull)
        }
        reader?.resume()
        return isNearlyFull
    }

    /// Ends the body; what is in the buffer can still be read.
    func end(_ outcome: Result<HTTPHeaders, NetworkError>) {
        let (opener, reader, engine) = state.withLock { state in
            defer {
                state.opener = nil
                state.engine = nil
            }
            if state.outcome == nil { state.outcome = outcome }
            return (state.opener, state.takeReader(), state.engine)
        }
        if let opener, case .failure(let error) = outcome { opener.resume(returning: .failure(error)) }
        reader?.resume()
        // The engine may go with this reference, which must not happen under the lock.
        withExtendedLifetime(engine) {}
    }
}

// The reader's side.
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
                case .part(let part, let mustResume):
                    if mustResume { mailbox.post(.resume(identifier)) }
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
            if isRunning || state.buffer.count > 0 { state.outcome = .failure(.cancelledExchange) }
            state.buffer.removeAll()
            defer { state.engine = nil }
            return (isRunning, state.takeReader(), state.engine)
        }
        if isRunning { mailbox.post(.cancel(identifier)) }
        reader?.resume()
        withExtendedLifetime(engine) {}
    }

    private func take() -> Next {
        state.withLock { state in
            guard state.buffer.count == 0 else {
                let mustResume = state.isPaused && state.outcome == nil
                state.isPaused = false
                return .part(state.buffer.take(), mustResume: mustResume)
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
