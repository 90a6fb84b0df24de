import Synchronization

/// A request that the caller's task and the engine share.
final class CurlExchange: Sendable {
    let identifier: UInt64
    let request: CurlRequest
    let limits: HTTPTransportLimits
    /// The time of the call to the transport.
    let begin = ContinuousClock.now
    private let cancellation = Atomic<Bool>(false)

    init(identifier: UInt64, request: CurlRequest, limits: HTTPTransportLimits) {
        self.identifier = identifier
        self.request = request
        self.limits = limits
    }

    /// A Boolean value that indicates whether the task was cancelled, possibly before the engine
    /// received the request.
    var isCancelled: Bool { cancellation.load(ordering: .acquiring) }

    func cancel() {
        cancellation.store(true, ordering: .releasing)
    }
}

/// A request submitted to the engine, with the recipient of its outcome.
struct CurlSubmission: Sendable {
    typealias Outcome = Result<HTTPTransportResponse, NetworkError>

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
    func refuse(_ error: NetworkError, _ load: EngineLoad) {
        load.end()
        exchange.request.observer?(.finished(HTTPTransportMetrics(totalTime: .now - exchange.begin)))
        fail(error)
    }

    /// Reports an error; no other outcome may have been reported.
    func fail(_ error: NetworkError) {
        switch recipient {
        case .whole(let continuation): continuation.resume(returning: .failure(error))
        case .parts(let stream): stream.end(.failure(error))
        }
    }
}

/// An outcome to deliver to the task that waits for it.
struct CurlDelivery {
    let continuation: CheckedContinuation<CurlSubmission.Outcome, Never>
    let outcome: CurlSubmission.Outcome
}
