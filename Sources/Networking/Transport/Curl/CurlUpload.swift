import Foundation
import Synchronization

/// A request body that's produced while it's sent, buffered between its producer and libcurl.
///
/// The producer runs in a separate task from libcurl's first read until the request ends, and waits
/// while the buffer is full. If the length is known, the last bytes are released only when the
/// producer has finished, so a body that's too long or too short is never sent as a complete one.
///
/// A file that's cached in memory doesn't need a producer: the engine reads it for libcurl until a
/// part must come from disk. The producer reads the file from there.
final class CurlUpload: Sendable {
    enum Reading {
        case octets(Int, isLast: Bool)
        case nothingYet
        case failed(NetworkError)
    }

    private enum Phase: Equatable {
        case idle, producing, finished, ended
        case failed(NetworkError)
    }

    private struct State {
        var phase = Phase.idle
        /// The number of the producer's current run; calls from earlier runs are ignored.
        var run = 0
        var queue = PartQueue()
        var madeCount = 0
        var givenCount = 0
        /// libcurl is waiting for the next part.
        var isAwaited = false
        var task: Task<Void, Never>?
        /// The file that the engine reads directly while the producer waits.
        var file: FileReading?
        /// The waiting producer, which is resumed with a value that tells whether to continue.
        var producer: CheckedContinuation<Bool, Never>?

        mutating func stopAwaiting() -> Bool {
            defer { isAwaited = false }
            return isAwaited
        }
    }

    private let length: Int?
    private let isReplayable: Bool
    private let source: CurlRequest.StreamedBody.Source
    private let capacity: Int
    private let onReady: @Sendable () -> Void
    private let state = Mutex(State())

    /// The last part isn't counted in `capacity`; `onReady` is called when data is available that
    /// libcurl was waiting for.
    init(_ body: CurlRequest.StreamedBody, capacity: Int, onReady: @escaping @Sendable () -> Void) {
        length = body.length
        isReplayable = body.isReplayable
        source = body.source
        self.capacity = capacity
        self.onReady = onReady
    }

    // MARK: The engine's side

    var givenCount: Int { state.withLock(\.givenCount) }

    /// The body can still be sent from the start.
    var canBegin: Bool { state.withLock { $0.givenCount == 0 } }

    /// Data or the end of the body is available for libcurl.
    var isReady: Bool { state.withLock { !$0.isAwaited } }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Reading {
        if let reading = unsafe readFile(into: buffer) { return reading }
        let (reading, parts, producer) = state.withLock { state in
            let (reading, parts) = read(upTo: buffer.count, &state)
            let producer = state.queue.count <= capacity / 2 ? state.producer.take() : nil
            return (reading, parts, producer)
        }
        producer?.resume(returning: true)
        // Copied without the lock, so that the producer can make the next part in the meantime.
        var position = 0
        for part in parts {
            unsafe part.copyBytes(to: UnsafeMutableRawBufferPointer(rebasing: buffer[position...]))
            position += part.count
        }
        return reading
    }

    /// Returns `nil` unless the bytes are in memory.
    private func readFile(into buffer: UnsafeMutableRawBufferPointer) -> Reading? {
        let (file, position) = state.withLock { ($0.file, $0.givenCount) }
        guard let file, let length else { return nil }
        let room = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(length - position))
        let count = unsafe file.readHeld(into: room, at: position)
        let isLast = position + count == length
        let producer = state.withLock { state in
            state.givenCount += count
            state.madeCount += count
            if isLast { state.phase = .finished }
            if count == 0 || isLast { state.file = nil }
            return isLast ? state.producer.take() : nil
        }
        producer?.resume(returning: false)
        return count > 0 ? .octets(count, isLast: isLast) : nil
    }

    private func read(upTo limit: Int, _ state: inout sending State) -> (Reading, [Data]) {
        if case .failed(let error) = state.phase { return (.failed(error), []) }
        if state.phase == .idle { start(&state) }
        let isFinished = state.phase == .finished
        let count = min(limit, state.queue.count)
        let isWhole = state.givenCount + count == length
        guard isFinished || count > 0 && !isWhole else {
            state.isAwaited = true
            return (.nothingYet, [])
        }
        let parts = state.queue.take(count)
        state.givenCount += count
        return (.octets(count, isLast: isFinished && state.queue.count == 0), parts)
    }

    /// Returns `false` if the body can't be produced again.
    func rewind() -> Bool {
        guard !canBegin else { return true }
        if isReplayable { stop { State(run: $0.run + 1) } }
        return isReplayable
    }

    func end() {
        stop { State(phase: .ended, run: $0.run + 1, givenCount: $0.givenCount) }
    }

    private func stop(_ next: (State) -> State) {
        let (task, producer) = state.withLock { state in
            defer { state = next(state) }
            return (state.task, state.producer.take())
        }
        task?.cancel()
        producer?.resume(returning: false)
    }

    // MARK: The producer's side

    private func start(_ state: inout State) {
        state.phase = .producing
        let run = state.run
        state.task = Task.detached { [self] in
            do {
                switch source {
                case .file(let url, let length): try await produce(url, length: length, run)
                case .producer(let producer): try await producer { [self] part in try await deliver(part, run) }
                }
                finish(run)
            } catch {
                fail(error, run)
            }
        }
    }

    private func produce(_ url: URL, length: Int, _ run: Int) async throws {
        try await offloading {
            let file = try FileReading.open(url)
            let position = try await lend(file, run)
            try await file.deliver(from: position, to: length) { part in try await deliver(part, run) }
        }
    }

    /// Lets the engine read a file directly, and returns the position where it stopped.
    private func lend(_ file: FileReading, _ run: Int) async throws -> Int {
        try await waitForEngine { state in
            guard state.run == run, state.phase == .producing else { return false }
            state.file = file
            return nil
        }
        return state.withLock(\.givenCount)
    }

    private func deliver(_ part: Data, _ run: Int) async throws {
        guard !part.isEmpty else { return }
        let (isReady, isFull) = try state.withLock { state -> (Bool, Bool) in
            guard state.run == run, state.phase == .producing else { throw CancellationError() }
            state.madeCount += part.count
            if let length, state.madeCount > length {
                throw NetworkError(.invalidRequest, "the request's body is longer than its length, \(length) bytes")
            }
            state.queue.append(part)
            return (state.stopAwaiting(), state.queue.count >= capacity)
        }
        if isReady { onReady() }
        guard isFull else { return }
        try await waitForEngine { state in
            guard state.run == run, state.phase == .producing else { return false }
            return state.queue.count > capacity / 2 ? nil : true
        }
    }

    /// Waits until the engine lets the producer continue, unless the closure returns whether to;
    /// throws `CancellationError` if the rest of the body is no longer needed.
    private func waitForEngine(unless answer: (inout State) -> Bool?) async throws {
        let goesOn = await withCheckedContinuation { continuation in
            let (answer, isReady) = state.withLock { state -> (Bool?, Bool) in
                if let answer = answer(&state) { return (answer, false) }
                state.producer = continuation
                return (nil, state.file != nil && state.stopAwaiting())
            }
            if let answer { continuation.resume(returning: answer) }
            if isReady { onReady() }
        }
        guard goesOn else { throw CancellationError() }
    }

    private func finish(_ run: Int) {
        settle(run) { state in
            if let length, state.madeCount < length {
                return .failed(
                    NetworkError(
                        .invalidRequest,
                        "the request's body is shorter than its length: \(state.madeCount) bytes instead of \(length)"
                    )
                )
            }
            return .finished
        }
    }

    private func fail(_ error: any Error, _ run: Int) {
        var failure = NetworkError(.invalidRequest, "the request's body couldn't be produced", cause: error)
        if let error = error as? NetworkError,
            [.invalidRequest, .digestMismatch, .digestUnverifiable].contains(error.code)
        {
            failure = error
        }
        settle(run) { [failure] _ in .failed(failure) }
    }

    private func settle(_ run: Int, _ phase: (State) -> Phase) {
        let isReady = state.withLock { state in
            guard state.run == run, state.phase == .producing else { return false }
            state.phase = phase(state)
            return state.stopAwaiting()
        }
        if isReady { onReady() }
    }
}
