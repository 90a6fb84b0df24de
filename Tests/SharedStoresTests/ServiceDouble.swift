import MockNetworking
import Networking
import OAuth2
import Synchronization

@testable import SharedStores

/// The faults of a double of a store's service, and its requests.
final class ServiceDouble: Sendable {
    private struct State {
        var failure: (@Sendable (HTTPTransportRequest) throws -> HTTPTransportResponse?)?
        var isLost: (@Sendable (HTTPTransportRequest) -> Bool)?
    }

    static let key = Secret("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")

    private let state = Mutex(State())
    private let transport = RecordedTransport()

    /// The requests so far, in order.
    var requests: [MockTransport.RecordedRequest] { transport.requests }

    /// Answers requests with a closure that returns `nil` for the usual answer.
    func fail(_ failure: (@Sendable (HTTPTransportRequest) throws -> HTTPTransportResponse?)?) {
        state.withLock { $0.failure = failure }
    }

    /// Handles requests without answering them.
    func lose(_ isLost: (@Sendable (HTTPTransportRequest) -> Bool)?) {
        state.withLock { $0.isLost = isLost }
    }

    /// Returns the transport of all stores of the double.
    func transport(_ time: TimeSource = .system, _ answer: @escaping MockTransport.Handler) -> MockTransport {
        transport.shared(time) { [self] request in
            let (failure, isLost) = state.withLock { ($0.failure, $0.isLost) }
            if let response = try failure?(request) { return response }
            let response = try await answer(request)
            if isLost?(request) ?? false { throw NetworkError(.timedOut, "lost") }
            return response
        }
    }
}

extension TokenRecord {
    static let sample = TokenRecord(accessToken: Secret("an access token"), refreshToken: Secret("a refresh token"))
}
