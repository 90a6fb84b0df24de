public import Foundation
public import Networking
import Synchronization
public import TokenGeneration

/// The keys of an issuer, fetched from the address where it publishes them (`jwks_uri`).
///
/// ```swift
/// let keys = RemoteKeySet(url: jwksURL)
/// let verifier = RemoteJWTVerifier(keys: keys, policy: .plain(issuer: "https://id.example", audience: "orders"))
/// let token = try await verifier.verify(text)
/// ```
///
/// Make one for each issuer and share it. It fetches when it is asked, never by itself:
///
/// - Keys are used for as long as the server's `Cache-Control` says, or without a `max-age` there its `Expires`, within
///   ``Options/lifetimeBounds``. Shortly before that time is over, they are fetched anew while callers go on with the old ones.
/// - A server that sends an `ETag` or a `Last-Modified` is asked for other keys only; its 304 means the same ones for another time
///   ([RFC 9110 §13](https://www.rfc-editor.org/rfc/rfc9110#section-13)).
/// - A token of a key that is not among them makes them be fetched anew, but not more often than ``Options/cooldown`` allows: a
///   thousand tokens with made-up key IDs cost one request.
/// - However many callers need the keys, there is one request. A caller that is cancelled stops waiting at once.
/// - While the server fails, the last good keys stay in use for ``Options/staleIfError``; a failing server is asked again after
///   pauses that grow to the cooldown. What is no key set never replaces one.
///
/// The address must be `https`, loopback addresses excepted; redirects are not followed, for they would let another server
/// choose the keys.
public final class RemoteKeySet: Sendable {
    private struct State {
        var lifecycle: KeySetLifecycle
        /// The keys as they came, for the server to say whether they are still the ones.
        var copy: KeySetCopy?
        /// The latest keys as they were sent.
        ///
        /// Equal bytes mean the same keys. Comparing the keys themselves takes longer.
        var document: Data?
    }

    /// What a caller does after a look at the state.
    private enum Step {
        case use(LoadedKeys)
        case join(SharedTask<LoadedKeys>, id: Int)
        case fail(OAuth2Error)
    }

    private let source: KeySetSource
    private let options: Options
    private let state: Mutex<State>
    /// The refreshes under way, by number; the lifecycle keeps the keys.
    private let refreshes: SingleFlightCache<Int, LoadedKeys>

    /// Makes a set of the keys at an address; nothing is fetched yet.
    ///
    /// - Parameters:
    ///   - url: The address, an issuer's `jwks_uri`.
    ///   - client: What sends the requests.
    ///   - options: How long keys are used, and how often they are fetched.
    public convenience init(
        url: URL,
        client: NetworkClient = NetworkClient(),
        options: Options = Options()
    ) {
        self.init(client: client, options: options) { url }
    }

    /// Makes a set of the keys at an address that is yet to be found out.
    init(client: NetworkClient, options: Options, locate: @escaping @Sendable () async throws -> URL) {
        source = KeySetSource(locate: locate, client: client, options: options)
        self.options = options
        let limits = KeySetLifecycle.Limits(
            refreshAhead: max(options.refreshAhead, .zero),
            cooldown: max(options.cooldown, .zero),
            staleIfError: max(options.staleIfError, .zero)
        )
        state = Mutex(State(lifecycle: KeySetLifecycle(limits: limits)))
        refreshes = SingleFlightCache(timeSource: options.timeSource, policy: .init(timeout: options.timeout))
    }

    /// The keys: those at hand, or fetched now if there are none that are good.
    ///
    /// - Returns: The keys.
    /// - Throws: ``OAuth2Error`` with the code `insecureTransport`, `serverUnreachable`, `serverTransient` or
    ///   `protocolViolation` if there are none; `CancellationError` if the caller is cancelled while it waits.
    public func keys() async throws -> JWKSet {
        try await loaded().keys
    }

    /// How the keys are.
    public var status: Status {
        let now = options.timeSource.now()
        return state.withLock { state in
            Status(
                keys: state.lifecycle.keys?.keys,
                loadCount: state.lifecycle.keys?.load ?? 0,
                isStale: state.lifecycle.isStale(at: now),
                failure: state.lifecycle.failure
            )
        }
    }

    // MARK: For verifiers

    /// The keys that are good now, if nobody needs to wait for them.
    func current() -> LoadedKeys? {
        if case .use(let keys) = step() { keys } else { nil }
    }

    /// The keys that are good now.
    func loaded() async throws -> LoadedKeys {
        switch step() {
        case .use(let keys): return keys
        case .fail(let error): throw error
        case .join(let task, let id):
            do { return try await result(of: task, id: id) } catch let error as OAuth2Error {
                // Keys that were good before the attempt are good after it.
                if case .use(let keys) = step() { return keys }
                throw error
            }
        }
    }

    /// Keys that are newer than some that lack a token's key; the same if it is too early for others.
    func loaded(beyond keys: LoadedKeys) async throws -> LoadedKeys {
        switch step({ $0.step(at: $1, beyond: keys.load) }) {
        case .use(let keys): return keys
        case .fail(let error): throw error
        case .join(let task, let id): return try await result(of: task, id: id)
        }
    }

    private func step(
        _ decide: (inout KeySetLifecycle, ContinuousClock.Instant) -> KeySetLifecycle.Step = { $0.step(at: $1) }
    ) -> Step {
        let now = options.timeSource.now()
        return state.withLock { state in
            switch decide(&state.lifecycle, now) {
            case .use(let keys):
                return .use(keys)
            case .useAndStart(let keys, let id):
                _ = refresh(id, unlike: state.copy)
                return .use(keys)
            case .start(let id), .join(let id):
                return .join(refresh(id, unlike: state.copy), id: id)
            case .fail(let error):
                return .fail(error)
            }
        }
    }

    private func result(of task: SharedTask<LoadedKeys>, id: Int) async throws -> LoadedKeys {
        do {
            return try await task.value()
        } catch let error as NetworkError {
            // The refresh's own: its time was up before the client's.
            let failure = OAuth2Error(.serverUnreachable, "the key set did not come in time", cause: error)
            fail(id, failure)
            throw failure
        }
    }

    // MARK: The refresh

    /// Joins a refresh or starts it, within the lifecycle's lock: a refresh that is under way for it can't end meanwhile.
    private func refresh(_ id: Int, unlike copy: KeySetCopy?) -> SharedTask<LoadedKeys> {
        refreshes.task(for: id) { [self] in
            do {
                return land(id, try await source.fetch(unlike: copy))
            } catch {
                let failure = OAuth2Error(keySetFailure: error, at: options.timeSource.date())
                fail(id, failure)
                throw failure
            }
        }
    }

    private func land(_ id: Int, _ response: KeySetSource.Response) -> LoadedKeys {
        let now = options.timeSource.now()
        // Compared before the lock is taken: there is one refresh at a time.
        let latest = state.withLock { $0.document }
        let isSame = response.document == nil || response.document == latest
        return state.withLock { state in
            if state.lifecycle.refresh == id {
                state.copy = response.copy
                if let document = response.document { state.document = document }
            }
            return state.lifecycle.landed(id, response.keys, isSame: isSame, lifetime: response.lifetime, at: now)
        }
    }

    private func fail(_ id: Int, _ error: OAuth2Error) {
        let now = options.timeSource.now()
        state.withLock { $0.lifecycle.failed(id, error, at: now) }
    }
}
