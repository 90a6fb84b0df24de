public import Foundation
public import Networking
import Synchronization
public import TokenGeneration

/// An issuer's keys, fetched from the URL where it publishes them (`jwks_uri`), for a
/// ``RemoteJWTVerifier`` and other verifiers.
///
/// Create one key set for each issuer and share it. It sends requests only when a caller needs
/// keys:
///
/// - The keys have the lifetime from the server's `Cache-Control` or, without a `max-age` there,
///   its `Expires`, within ``Options/lifetimeBounds``. Shortly before it ends, the set refreshes
///   the keys while callers still use the old ones.
/// - If the server sends an `ETag` or a `Last-Modified`, refreshes are conditional requests. A 304
///   response renews the lifetime of the same keys
///   ([RFC 9110 §13](https://www.rfc-editor.org/rfc/rfc9110#section-13)).
/// - A token with an unknown key causes a refresh, at most once per ``Options/cooldown``. A
///   thousand tokens with invented key IDs cost one request.
/// - Concurrent callers share one request. A cancelled caller stops waiting at once.
/// - While the server fails, the last valid keys stay in use for ``Options/staleIfError``. The set
///   retries after delays that grow to the cooldown. A response that isn't a key set never replaces
///   one.
///
/// The observers of the client receive a ``KeySetEvent`` for each fetch.
///
/// The URL must be `https`, except for loopback addresses. Redirects aren't followed, because they
/// would let another server choose the keys.
public final class RemoteKeySet: Sendable {
    private struct State {
        var lifecycle: KeySetLifecycle
        /// The keys with their validators, for conditional requests.
        var copy: KeySetCopy?
        /// The latest keys as sent, which compare faster than parsed keys.
        var document: Data?
    }

    private enum Step {
        case use(LoadedKeys)
        case join(SharedTask<LoadedKeys>, id: Int)
        case fail(OAuth2Error)
    }

    private let source: KeySetSource
    private let options: Options
    private let state: Mutex<State>
    /// The pending refreshes by number; the lifecycle holds the keys.
    private let refreshes: SingleFlightCache<Int, LoadedKeys>

    /// Creates a key set for a URL, without fetching anything yet.
    ///
    /// - Parameters:
    ///   - url: The URL of the keys, an issuer's `jwks_uri`.
    ///   - client: The client for requests of the keys.
    ///   - options: The lifetime of the keys and the limits of requests.
    public convenience init(
        url: URL,
        client: NetworkClient = NetworkClient(),
        options: Options = Options()
    ) {
        self.init(client: client, options: options) { url }
    }

    /// Creates a key set for a URL that is determined for each fetch.
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

    /// Returns the valid keys, and fetches them if necessary.
    ///
    /// - Returns: The keys.
    /// - Throws: ``OAuth2Error`` with the code `insecureTransport`, `serverUnreachable`,
    ///   `serverTransient` or `protocolViolation` if keys aren't available; `CancellationError` if
    ///   the caller is cancelled while it waits.
    public func keys() async throws -> JWKSet {
        try await loaded().keys
    }

    /// Returns the issuer's key to encrypt with, such as that for an authorization request.
    ///
    /// If no key matches, the set fetches its keys again, within ``Options/cooldown``.
    ///
    /// - Parameters:
    ///   - algorithm: The algorithm to encrypt with.
    ///   - keyID: The key's ID. The default, `nil`, is for issuers with one matching key.
    /// - Returns: The key, with its ID.
    /// - Throws: `TokenError` as `JWKSet.encryptionKey(for:keyID:)` does; ``OAuth2Error`` as
    ///   ``keys()`` does; `CancellationError`.
    public func encryptionKey(for algorithm: JWEAlgorithm, keyID: String? = nil) async throws -> EncryptionKey {
        try await key { keys throws(TokenError) in try keys.encryptionKey(for: algorithm, keyID: keyID) }
    }

    /// Returns the issuer's key with an ID, to verify signatures that aren't part of a token.
    ///
    /// If no key has the ID, the set fetches its keys again, within ``Options/cooldown``.
    ///
    /// - Parameters:
    ///   - keyID: The key's ID.
    ///   - selection: The rules of key selection.
    /// - Returns: The key.
    /// - Throws: `TokenError` as `JWKSet.verificationKey(withID:selection:)` does; ``OAuth2Error``
    ///   as ``keys()`` does; `CancellationError`.
    public func verificationKey(
        withID keyID: String,
        selection: KeySelection = KeySelection()
    ) async throws -> VerificationKey {
        try await key { keys throws(TokenError) in try keys.verificationKey(withID: keyID, selection: selection) }
    }

    /// Calls a closure again with newer keys if the key is unknown.
    package func key<Key>(_ find: (JWKSet) throws(TokenError) -> Key) async throws -> Key {
        let loaded = try await loaded()
        do {
            return try find(loaded.keys)
        } catch {
            guard error.code == .unknownKey else { throw error }
            let newer = try await self.loaded(beyond: loaded)
            guard newer.version != loaded.version else { throw error }
            return try find(newer.keys)
        }
    }

    /// The current status.
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

    // MARK: Verifiers

    func current() -> LoadedKeys? {
        if case .use(let keys) = step() { keys } else { nil }
    }

    func loaded() async throws -> LoadedKeys {
        switch step() {
        case .use(let keys): return keys
        case .fail(let error): throw error
        case .join(let task, let id):
            do { return try await result(of: task, id: id) } catch let error as OAuth2Error {
                // Keys that were valid before the attempt are still valid.
                if case .use(let keys) = step() { return keys }
                throw error
            }
        }
    }

    /// Returns newer keys, or the same ones if it's too early for a request.
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
            // The refresh timed out before the client did.
            let failure = OAuth2Error(.serverUnreachable, "the key set's server didn't respond in time", cause: error)
            fail(id, failure)
            throw failure
        }
    }

    // MARK: Refresh

    /// The caller holds the lifecycle's lock, so a pending refresh can't end meanwhile.
    private func refresh(_ id: Int, unlike copy: KeySetCopy?) -> SharedTask<LoadedKeys> {
        refreshes.task(for: id) { [self] in
            var host: String?
            do {
                let url = try await source.locate()
                host = url.host()
                return land(id, try await source.fetch(url, unlike: copy), from: host ?? "")
            } catch {
                let failure = OAuth2Error(fetching: "the key set", failure: error, at: options.timeSource.date())
                fail(id, failure, host: host)
                throw failure
            }
        }
    }

    private func land(_ id: Int, _ response: KeySetSource.Response, from host: String) -> LoadedKeys {
        let now = options.timeSource.now()
        // Compared outside the lock; there is only one refresh at a time.
        let latest = state.withLock { $0.document }
        let isSame = response.document == nil || response.document == latest
        let (keys, isCurrent) = state.withLock { state in
            let isCurrent = state.lifecycle.refresh == id
            if isCurrent {
                state.copy = response.copy
                if let document = response.document { state.document = document }
            }
            let keys = state.lifecycle.landed(
                id,
                response.keys,
                isSame: isSame,
                lifetime: response.lifetime,
                at: now
            )
            return (keys, isCurrent)
        }
        if isCurrent {
            observers.observe(KeySetEvent.refreshed(host: host, keyCount: keys.keys.keys.count, isChanged: !isSame))
        }
        return keys
    }

    private func fail(_ id: Int, _ error: OAuth2Error, host: String? = nil) {
        let now = options.timeSource.now()
        guard state.withLock({ $0.lifecycle.failed(id, error, at: now) }) else { return }
        observers.observe(KeySetEvent.refreshFailed(host: host, error.code, status: error.status))
    }

    private var observers: [any ClientObserver] { source.client.options.observers }

    /// The lifetime of the keys and the limits of requests.
    public struct Options: Sendable {
        /// The lifetime of the keys if the server doesn't state one.
        ///
        /// The default is 5 minutes.
        public var lifetime: Duration
        /// The bounds of the lifetime that a server can set with `Cache-Control` or `Expires`.
        ///
        /// The default is 1 minute to 1 hour.
        ///
        /// A withdrawn key is accepted until the lifetime ends.
        public var lifetimeBounds: ClosedRange<Duration>
        /// The time before the end of the lifetime when the keys are refreshed, at most half the
        /// lifetime.
        ///
        /// The default is 30 seconds.
        public var refreshAhead: Duration
        /// The minimum time between two requests caused by tokens with unknown keys.
        ///
        /// The default is 30 seconds.
        public var cooldown: Duration
        /// The time that the last valid keys stay in use after their lifetime while the server
        /// fails.
        ///
        /// The default is 1 hour.
        public var staleIfError: Duration
        /// The timeout of a request.
        ///
        /// The default is 5 seconds.
        public var timeout: Duration
        /// The maximum size of a key set in bytes.
        ///
        /// The default is 256 KiB, the maximum 1 MiB.
        public var maximumSize: Int
        /// The maximum size of a key's RSA modulus in bits.
        ///
        /// The default is 4096, the maximum 8192.
        public var maximumRSAKeySize: Int
        /// The source of time, which should be the client's.
        public var timeSource: TimeSource
        package var accept = "application/jwk-set+json, application/json"
        /// A closure that reads the keys in a response; `nil` for JSON of the type of a key set.
        package var read: (@Sendable (HTTPResponse) throws -> JWKSet)?

        /// Creates options.
        public init(
            lifetime: Duration = .seconds(300),
            lifetimeBounds: ClosedRange<Duration> = .seconds(60) ... .seconds(3600),
            refreshAhead: Duration = .seconds(30),
            cooldown: Duration = .seconds(30),
            staleIfError: Duration = .seconds(3600),
            timeout: Duration = .seconds(5),
            maximumSize: Int = 256 << 10,
            maximumRSAKeySize: Int = 4_096,
            timeSource: TimeSource = .system
        ) {
            self.lifetime = lifetime
            self.lifetimeBounds = lifetimeBounds
            self.refreshAhead = refreshAhead
            self.cooldown = cooldown
            self.staleIfError = staleIfError
            self.timeout = timeout
            self.maximumSize = maximumSize
            self.maximumRSAKeySize = maximumRSAKeySize
            self.timeSource = timeSource
        }
    }

    /// The status of a remote key set, for a health check.
    public struct Status: Sendable {
        /// The latest keys, regardless of their age; `nil` before the first fetch.
        ///
        /// Use `unusableKeys(_:)` and `rejections` of the set to find keys that can't be used.
        public let keys: JWKSet?
        /// The number of successful fetches.
        public let loadCount: Int
        /// A Boolean value that indicates whether the keys have exceeded their lifetime.
        public let isStale: Bool
        /// The error of the latest request; `nil` if it succeeded.
        public let failure: OAuth2Error?
    }
}

/// An event of a ``RemoteKeySet``, for logs and metrics.
///
/// The observers of the key set's client receive it.
@nonexhaustive
public enum KeySetEvent: ObservedEvent, Hashable {
    /// The issuer's keys arrived, or the issuer confirmed that they haven't changed.
    case refreshed(host: String, keyCount: Int, isChanged: Bool)
    /// A request for the keys failed. The host is `nil` if the URL isn't known.
    case refreshFailed(host: String?, OAuth2Error.Code, status: Int?)

    /// `oauth2.keys.refreshed` or `oauth2.keys.refresh_failed`.
    public var name: String {
        switch self {
        case .refreshed: "oauth2.keys.refreshed"
        case .refreshFailed: "oauth2.keys.refresh_failed"
        }
    }

    /// `server.address`; `oauth2.keys.changed`, or `error.type` and `http.response.status_code`.
    public var labels: [String: String] {
        switch self {
        case .refreshed(let host, _, let isChanged): ["server.address": host, "oauth2.keys.changed": "\(isChanged)"]
        case .refreshFailed(let host, let code, let status):
            OAuth2Event.labels(code, status: status).merging(["server.address": host ?? Self.noLabel]) { $1 }
        }
    }

    /// The number of keys, as `oauth2.keys.count`.
    public var details: [String: String] {
        if case .refreshed(_, let count, _) = self { ["oauth2.keys.count": "\(count)"] } else { [:] }
    }

    /// `debug` for unchanged keys, `info` for changed keys and `warning` for failures.
    public var severity: EventSeverity {
        switch self {
        case .refreshed(_, _, let isChanged): isChanged ? .info : .debug
        case .refreshFailed: .warning
        }
    }
}
