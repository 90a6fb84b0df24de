import MockNetworking
import Networking
import Synchronization

/// The transport of a double's stores, and its requests.
///
/// The transport's handler keeps the double. Therefore the double doesn't keep the transport.
final class RecordedTransport: Sendable {
    private struct State {
        weak var transport: MockTransport?
        var earlier: [MockTransport.RecordedRequest] = []
        var requests: [MockTransport.RecordedRequest] = []
    }

    private let state = Mutex(State())

    /// The requests so far, in order.
    var requests: [MockTransport.RecordedRequest] { state.withLock { $0.earlier + $0.requests } }

    /// Returns the transport that a store uses, or creates one with the store's clock.
    func shared(_ time: TimeSource = .system, _ handler: @escaping MockTransport.Handler) -> MockTransport {
        state.withLock { state in
            if let transport = state.transport { return transport }
            let transport = MockTransport(time: time) { [self] request in
                note()
                return try await handler(request)
            }
            (state.transport, state.earlier, state.requests) = (transport, state.earlier + state.requests, [])
            return transport
        }
    }

    private func note() {
        state.withLock { state in
            if let transport = state.transport { state.requests = transport.requests }
        }
    }
}
