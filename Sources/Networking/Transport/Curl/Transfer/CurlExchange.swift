import Synchronization

/// A request that the caller's task and the engine share.
final class CurlExchange: Sendable {
    /// The part of the request that has begun, for threads other than the engine's.
    enum Progress: UInt8, AtomicRepresentable {
        case queued, connecting, sent, receiving

        var phase: NetworkError.Timeout.Phase {
            switch self {
            case .queued: .queued
            case .connecting: .connecting
            case .sent: .firstByte
            case .receiving: .receiving
            }
        }
    }

    let identifier: UInt64
    let request: CurlRequest
    let limits: HTTPTransportLimits
    /// The time of the call to the transport.
    let begin = ContinuousClock.now
    private let progress = Atomic<Progress>(.queued)
    /// The time of the cancellation, in nanoseconds since ``begin``, or 0.
    private let cancellation = Atomic<Int>(0)
    private let hasEnded = Atomic<Bool>(false)

    init(identifier: UInt64, request: CurlRequest, limits: HTTPTransportLimits) {
        self.identifier = identifier
        self.request = request
        self.limits = limits
    }

    /// Records progress, on the engine's thread.
    func note(_ progress: Progress) { self.progress.store(progress, ordering: .relaxed) }

    /// The phase, as far as the engine has recorded it.
    var phase: NetworkError.Timeout.Phase { progress.load(ordering: .relaxed).phase }

    /// A Boolean value that indicates whether the task was cancelled, possibly before the engine
    /// received the request.
    var isCancelled: Bool { cancellation.load(ordering: .acquiring) != 0 }

    /// The time of the cancellation, or `nil`.
    var cancelTime: ContinuousClock.Instant? {
        let time = cancellation.load(ordering: .acquiring)
        return time == 0 ? nil : begin + .nanoseconds(time)  // reason: our own clock
    }

    func cancel() {
        let (seconds, attoseconds) = (ContinuousClock.now - begin).components
        let time = max(1, Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000))  // reason: our own clock
        cancellation.store(time, ordering: .releasing)
    }

    /// A Boolean value that indicates whether the request has an outcome.
    var isOver: Bool { hasEnded.load(ordering: .acquiring) }

    /// Reserves the right to report the outcome; returns `false` to all but the first caller.
    func claimOutcome() -> Bool { !hasEnded.exchange(true, ordering: .acquiringAndReleasing) }
}

/// A request submitted to the engine, with the recipient of its outcome.
struct CurlSubmission: Sendable {
    typealias Outcome = Result<HTTPTransportResponse, any Error>

    /// The recipient of the response.
    enum Recipient: Sendable {
        /// Receives the whole response at once, with a single wake-up.
        case whole(CheckedContinuation<Outcome, Never>)
        /// Receives the head first and then the body in parts.
        case parts(CurlResponseStream)
    }

    let exchange: CurlExchange
    let recipient: Recipient

    /// Ends a request that was never started.
    func refuse(_ error: any Error, _ load: EngineLoad) {
        load.end()
        exchange.request.observer?(.finished(HTTPTransportMetrics(totalTime: .now - exchange.begin)))
        fail(error)
    }

    /// Reports an error, unless the request has an outcome.
    func fail(_ error: any Error) {
        guard exchange.claimOutcome() else { return }
        switch recipient {
        case .whole(let continuation): continuation.resume(returning: .failure(error))
        case .parts(let stream): stream.end(.failure(error))
        }
    }

    /// A Boolean value that indicates whether the deadline no longer applies, because the header
    /// has arrived.
    var isBeyondDeadline: Bool {
        guard exchange.limits.deadlineEndsWithHeader, case .parts(let stream) = recipient else { return false }
        return stream.hasBegun
    }
}

/// An outcome to deliver to the task that waits for it.
struct CurlDelivery {
    let continuation: CheckedContinuation<CurlSubmission.Outcome, Never>
    let outcome: CurlSubmission.Outcome
}
