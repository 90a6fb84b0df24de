import MockNetworking
import Networking
import OAuth2
import Synchronization

@testable import SharedStores

/// The faults of a double of a store's service, and its requests.
final class ServiceDouble: Sendable {
    private struct State {
        var failure: (@Sendable (HTTPRequest) throws -> HTTPTransportResponse?)?
        var isLost: (@Sendable (HTTPRequest) -> Bool)?
    }

    static let key = Secret("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")

    private let state = Mutex(State())
    private let transport = RecordedTransport()

    /// The requests so far, in order.
    var requests: [MockTransport.RecordedRequest] { transport.requests }

    /// Answers requests with a closure that returns `nil` for the usual answer.
    func fail(_ failure: (@Sendable (HTTPRequest) throws -> HTTPTransportResponse?)?) {
        state.withLock { $0.failure = failure }
    }

    /// Handles requests without answering them.
    func lose(_ isLost: (@Sendable (HTTPRequest) -> Bool)?) {
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

/// Returns the code of the error that a closure throws; `nil` if it throws none.
func code(_ body: () async throws -> Void) async -> OAuth2Error.Code? {
    do {
        try await body()
        return nil
    } catch { return (error as? OAuth2Error)?.code }
}

extension TokenStore {
    /// Writes a record for the key `k`, and returns its version.
    func write(
        _ record: TokenRecord = .sample,
        over version: TokenRecordVersion? = nil
    ) async throws -> TokenRecordVersion? {
        try await compareAndSwap("k", expectedVersion: version, record: record)
    }

    /// Returns the code of the error with which the write of a record fails.
    func writeCode(
        _ record: TokenRecord = .sample,
        over version: TokenRecordVersion? = nil
    ) async -> OAuth2Error.Code? {
        await code { _ = try await write(record, over: version) }
    }

    /// Returns the code of the error with which the reading of the record fails.
    func loadCode() async -> OAuth2Error.Code? { await code { _ = try await load("k") } }

    /// Returns the code of the error with which the removal of the record fails.
    func removalCode(_ version: TokenRecordVersion) async -> OAuth2Error.Code? {
        await code { _ = try await remove("k", ifVersion: version) }
    }
}
