import Foundation
import FoundationNetworking
public import Networking
import Synchronization

/// Finds out where a server's endpoints are, and keeps that up to date: from the metadata that it publishes
/// ([RFC 8414](https://www.rfc-editor.org/rfc/rfc8414),
/// [OpenID Connect Discovery 1.0](https://openid.net/specs/openid-connect-discovery-1_0.html)).
///
/// ```swift
/// let discovery = AuthorizationServerDiscovery(issuer: "https://id.example")
/// let server = try await discovery.server()
/// ```
///
/// The server is asked when the first caller needs it and when its answer has become old, once for all callers. While it can't be
/// asked, or answers something else, the old answer is good for some time more. Share one discovery for each server.
public final class AuthorizationServerDiscovery: Sendable {
    /// How metadata are looked up and kept.
    public struct Options: Sendable {
        /// Where to look, in this order: the next place is tried where the one before has no document.
        public var documents: [WellKnownDocument] = [.openID, .oauth2]
        /// How long metadata are used if the server does not say; an hour by default.
        public var lifetime: Duration = .seconds(3_600)
        /// How long metadata are used whatever the server says, at least; a minute by default.
        public var minimumLifetime: Duration = .seconds(60)
        /// How long metadata are used whatever the server says, at most; a day by default.
        public var maximumLifetime: Duration = .seconds(86_400)
        /// How long after that they are used while the server can't be asked; a day by default, zero for not at all.
        public var staleLifetime: Duration = .seconds(86_400)
        /// How long nobody asks again after that has failed and old metadata did; 30 seconds by default.
        public var retryInterval: Duration = .seconds(30)
        /// How the server is asked: in 10 seconds at most, twice, by default.
        public var exchange = OAuth2Client.Options(timeout: .seconds(10), attempts: 2)

        /// Makes options.
        public init() {}
    }

    private struct State {
        var copy: (server: AuthorizationServer, freshUntil: ContinuousClock.Instant)?
        var task: SharedTask<AuthorizationServer>?
        var nextAttempt: ContinuousClock.Instant?
    }

    private enum Step {
        case use(AuthorizationServer)
        case join(SharedTask<AuthorizationServer>)
    }

    /// The server's issuer identifier.
    public let issuer: String
    private let client: NetworkClient
    private let options: Options
    private let hints: DPoPServerState
    private let state = Mutex(State())

    /// Makes a discovery; nothing is asked yet.
    ///
    /// - Parameters:
    ///   - issuer: The server's issuer identifier, exactly as the server writes it.
    ///   - client: What asks.
    ///   - options: How metadata are looked up and kept.
    public init(issuer: String, client: NetworkClient = NetworkClient(), options: Options = Options()) {
        self.issuer = issuer
        self.client = client
        self.options = options
        hints = DPoPServerState(timeSource: options.exchange.timeSource, journal: TokenJournal())
    }

    /// The server, as it says it is.
    ///
    /// - Returns: The server.
    /// - Throws: ``OAuth2Error``: `invalidIssuer`, `insecureTransport`, `issuerMismatch`, `serverTransient`, `serverUnreachable`, or
    ///   `protocolViolation` for what is no metadata document; `CancellationError` if the caller is cancelled while it waits.
    public func server() async throws -> AuthorizationServer {
        switch step() {
        case .use(let server): return server
        case .join(let task):
            do {
                return try await task.value()
            } catch let error as NetworkError where error.code == .timedOut {
                throw OAuth2Error(.serverUnreachable, "the server metadata did not come in time", cause: error)
            }
        }
    }

    /// Makes the next caller ask the server, such as after it has moved an endpoint; until it answers, the old metadata are kept for
    /// the time of an outage.
    public func expire() {
        let now = options.exchange.timeSource.now()
        state.withLock { state in
            state.nextAttempt = nil
            if let copy = state.copy { state.copy?.freshUntil = min(copy.freshUntil, now) }
        }
    }

    private func step() -> Step {
        let now = options.exchange.timeSource.now()
        return state.withLock { state in
            if let copy = state.copy, now < copy.freshUntil || isUsable(copy.freshUntil, state.nextAttempt, at: now) {
                return .use(copy.server)
            }
            if let task = state.task, !task.isOver { return .join(task) }
            // Each look-up has its own limit; this is for those that ignore it.
            let limit = options.exchange.timeout * (options.documents.count + 1)
            let task = SharedTask(timeout: limit, timeSource: options.exchange.timeSource) { [self] in
                try await refresh()
            }
            state.task = task
            return .join(task)
        }
    }

    /// Whether old metadata are used without asking: the server has just failed.
    private func isUsable(
        _ freshUntil: ContinuousClock.Instant,
        _ nextAttempt: ContinuousClock.Instant?,
        at now: ContinuousClock.Instant
    ) -> Bool {
        now < freshUntil + options.staleLifetime && nextAttempt.map { now < $0 } ?? false
    }

    private func refresh() async throws -> AuthorizationServer {
        do {
            let (server, lifetime) = try await lookUp()
            let now = options.exchange.timeSource.now()
            state.withLock { state in
                state.copy = (server, now + lifetime)
                state.nextAttempt = nil
            }
            return server
        } catch let error as OAuth2Error where error.isOutage {
            let now = options.exchange.timeSource.now()
            let old = state.withLock { state -> AuthorizationServer? in
                guard let copy = state.copy, now < copy.freshUntil + options.staleLifetime else { return nil }
                state.nextAttempt = now + options.retryInterval
                return copy.server
            }
            guard let old else { throw error }
            return old
        }
    }

    private func lookUp() async throws -> (AuthorizationServer, lifetime: Duration) {
        var failure = OAuth2Error(.endpointMissing, "no place is given where the server publishes its metadata")
        for document in options.documents {
            do { return try await read(try document.url(issuer: issuer)) } catch let error as OAuth2Error {
                failure = error
                // Only where there is nothing may the document be elsewhere.
                guard let status = error.status, [400, 403, 404, 405, 410].contains(status) else { throw error }
            }
        }
        throw failure
    }

    private func read(_ url: URL) async throws -> (AuthorizationServer, lifetime: Duration) {
        let place = "the server metadata's URL"
        let exchange = EndpointExchange(
            place: place,
            url: url,
            client: client,
            options: options.exchange,
            hints: hints
        )
        return try await exchange.value { _ in
            var request = URLRequest(url: url)
            request.setValue("application/json", forHTTPHeaderField: "Accept")
            return (request, .none)
        } read: { response, secrets in
            let metadata = try response.jsonObject(from: place, hiding: secrets)
            let server = try AuthorizationServer(metadata: metadata, issuer: issuer)
            let lifetime =
                CacheLifetime.read(response.headers, at: options.exchange.timeSource.date()) ?? options.lifetime
            return (server, min(max(lifetime, options.minimumLifetime), options.maximumLifetime))
        }
    }
}

extension OAuth2Error {
    /// Whether a server that said something else before can be taken to be out of order.
    ///
    /// One that names another issuer, or wants to be asked without TLS, is not.
    fileprivate var isOutage: Bool { [.serverTransient, .serverUnreachable, .protocolViolation].contains(code) }
}
