import Synchronization

/// One exchange as the caller's task and the engine both know it.
final class CurlExchange: Sendable {
    let identifier: UInt64
    let request: CurlRequest
    let limits: HTTPTransportLimits
    /// When the transport was asked.
    let begin = ContinuousClock.now
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

    /// Who gets the response.
    enum Recipient: Sendable {
        /// All of it, once; there is nothing in between that could cost a wake-up.
        case whole(CheckedContinuation<Outcome, Never>)
        /// First the head, then the body in parts.
        case parts(CurlResponseStream)
    }

    let exchange: CurlExchange
    let recipient: Recipient

    /// Ends an exchange that never began.
    func refuse(_ error: NetworkError) {
        exchange.request.observer?(.finished(HTTPTransportMetrics(totalTime: .now - exchange.begin)))
        fail(error)
    }

    /// Reports a failure; no other outcome may have been reported.
    func fail(_ error: NetworkError) {
        switch recipient {
        case .whole(let continuation): continuation.resume(returning: .failure(error))
        case .parts(let stream): stream.end(.failure(error))
        }
    }
}

/// An outcome on its way to the task that waits for it.
struct CurlDelivery {
    let continuation: CheckedContinuation<CurlSubmission.Outcome, Never>
    let outcome: CurlSubmission.Outcome
}
