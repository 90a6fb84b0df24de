import Synchronization

/// One exchange as the caller's task and the engine both know it.
final class CurlExchange: Sendable {
    let identifier: UInt64
    let request: CurlRequest
    let limits: HTTPTransportLimits
    private let cancellation = Atomic<Bool>(false)

    init(identifier: UInt64, request: CurlRequest, limits: HTTPTransportLimits) {
        self.identifier = identifier
        self.request = request
        self.limits = limits
    }

    /// Whether the task was cancelled, which the engine may learn before it knows the exchange.
    var isCancelled: Bool { cancellation.load(ordering: .acquiring) }

    func cancel() {
        cancellation.store(true, ordering: .releasing)
    }
}

/// An exchange handed to the engine, and who waits for its outcome.
struct CurlSubmission: Sendable {
    typealias Outcome = Result<HTTPTransportResponse, NetworkError>

    let exchange: CurlExchange
    let continuation: CheckedContinuation<Outcome, Never>

    /// Reports the outcome; to be called exactly once.
    func end(_ outcome: Outcome) {
        continuation.resume(returning: outcome)
    }
}
