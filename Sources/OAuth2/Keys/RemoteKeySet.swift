public import Foundation
public import Networking
internal import OpenSSLCrypto
public import TokenGeneration

/// An issuer's keys, fetched from the URL where it publishes them (`jwks_uri`).
///
/// Verifiers take a set as ``IssuerKeys/remote(_:)``. Create one for each issuer and share it. It
/// sends requests only when a caller needs keys:
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
/// The observers of the client receive an event for each fetch, with the name
/// `oauth2.keys.refreshed` or `oauth2.keys.refresh_failed`.
///
/// The URL must be `https`, except for loopback addresses. Redirects aren't followed, because they
/// would let another server choose the keys.
public final class RemoteKeySet: Sendable {
    private let options: Options
    private let cache: SingleFlightCache<String, LoadedKeys>
    private let fetch: SingleFlightCache<String, LoadedKeys>.Work

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

    package convenience init(
        discovery: AuthorizationServerDiscovery,
        client: NetworkClient = NetworkClient(),
        options: Options = Options()
    ) {
        self.init(client: client, options: options) {
            try await discovery.server().keySetURL.required("the key set")
        }
    }

    init(client: NetworkClient, options: Options, locate: @escaping @Sendable () async throws -> URL) {
        self.options = options
        let source = KeySetSource(locate: locate, client: client, options: options)
        fetch = { try await source.fetch(after: $0) }
        let (cooldown, bounds) = (max(options.cooldown, .zero), options.lifetimeBounds)
        var policy = SingleFlightCache<String, LoadedKeys>.Policy(timeout: options.timeout)
        policy.timeoutError = {
            OAuth2Error(.serverUnreachable, "the key set's server didn't respond in time", cause: $0)
        }
        policy.lifetime = { keys in
            guard let stated = keys.lifetime(at: options.timeSource.date()) else { return max(options.lifetime, .zero) }
            return min(max(stated, bounds.lowerBound), bounds.upperBound)
        }
        policy.refresh = (max(options.refreshAhead, .zero), fetch)
        policy.staleLifetime = max(options.staleIfError, .zero)
        policy.cooldown = cooldown
        // The delay grows from one second to the cooldown, unless the server requests a longer one.
        policy.pause = { error, number in
            let asked = min((error as? OAuth2Error)?.retryAfter ?? .zero, max(cooldown, .seconds(300)))
            return Retry.Backoff.doubling(.seconds(1), to: cooldown).delay(retry: number, atLeast: asked)
        }
        policy.keepsOutcomes = true
        cache = SingleFlightCache(timeSource: options.timeSource, policy: policy)
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
        let entry = cache.entry(Self.key)
        return Status(
            keys: entry?.value?.keys,
            loadCount: entry?.value?.number ?? 0,
            isStale: entry?.isStale(at: options.timeSource.now()) ?? false,
            failure: entry?.failure as? OAuth2Error
        )
    }

    // MARK: Verifiers

    private static let key = "keys"

    func current() -> LoadedKeys? { cache.kept(Self.key) }

    func loaded() async throws -> LoadedKeys { try await cache.value(for: Self.key, fetch) }

    /// Returns newer keys, or the same ones if it's too early for a request.
    func loaded(beyond keys: LoadedKeys) async throws -> LoadedKeys {
        try await cache.value(for: Self.key, unless: { $0.number <= keys.number }, fetch)
    }

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
        package let loadCount: Int
        /// A Boolean value that indicates whether the keys have exceeded their lifetime.
        public let isStale: Bool
        /// The error of the latest request; `nil` if it succeeded.
        public let failure: OAuth2Error?
    }
}

/// An event of a ``RemoteKeySet``, which observers know by its name and labels.
package enum KeySetEvent: ObservedEvent, Hashable {
    /// The issuer's keys arrived, or the issuer confirmed that they haven't changed.
    case refreshed(host: String, keyCount: Int, isChanged: Bool)
    /// A request for the keys failed. The host is `nil` if the URL isn't known.
    case refreshFailed(host: String?, OAuth2Error.Code, status: Int?)

    package var name: String {
        switch self {
        case .refreshed: "oauth2.keys.refreshed"
        case .refreshFailed: "oauth2.keys.refresh_failed"
        }
    }

    package var labels: [String: String] {
        switch self {
        case .refreshed(let host, _, let isChanged): ["server.address": host, "oauth2.keys.changed": "\(isChanged)"]
        case .refreshFailed(let host, let code, let status):
            OAuth2Event.labels(code, status: status).merging(["server.address": host ?? Self.noLabel]) { $1 }
        }
    }

    package var details: [String: String] {
        if case .refreshed(_, let count, _) = self { ["oauth2.keys.count": "\(count)"] } else { [:] }
    }

    package var severity: EventSeverity {
        switch self {
        case .refreshed(_, _, let isChanged): isChanged ? .info : .debug
        case .refreshFailed: .warning
        }
    }
}

typealias LoadedKeys = FetchedDocument<KeySetContent>

extension LoadedKeys {
    var keys: JWKSet { content.keys }
    var version: Int { content.version }
}

struct KeySetContent: Sendable {
    let keys: JWKSet
    /// The keys as sent, which compare faster than parsed keys.
    let body: Data
    /// The number of the distinct set, for reuse of values derived from it.
    let version: Int
}

private struct KeySetSource: Sendable {
    let locate: @Sendable () async throws -> URL
    let client: NetworkClient
    let options: RemoteKeySet.Options

    func fetch(after latest: LoadedKeys?) async throws -> LoadedKeys {
        var host: String?
        do {
            let url = try await locate()
            host = url.host()
            let loaded = try await fetch(url, after: latest)
            observe(
                .refreshed(
                    host: host ?? "",
                    keyCount: loaded.keys.keys.count,
                    isChanged: loaded.version == loaded.number
                )
            )
            return loaded
        } catch {
            let failure = OAuth2Error(fetching: "the key set", failure: error, at: options.timeSource.date())
            observe(.refreshFailed(host: host, failure.code, status: failure.status))
            throw failure
        }
    }

    private func fetch(_ url: URL, after latest: LoadedKeys?) async throws -> LoadedKeys {
        guard let origin = HTTPOrigin(url), origin.isConfidential else {
            throw OAuth2Error(
                .insecureTransport,
                "the key set's URL must be https; over http, an attacker could add keys"
            )
        }
        return try await client.document(
            at: url,
            accept: options.accept,
            after: latest,
            options: RequestOptions(
                redirects: .never,
                timeout: options.timeout,
                maximumBodySize: min(options.maximumSize, JSONObject.maximumSize)
            ),
            timeSource: options.timeSource
        ) { response in
            guard response.status == 200 else {
                throw OAuth2Error(
                    .protocolViolation,
                    "the key set's server responded with \(response.status) instead of 200",
                    status: response.status
                )
            }
            do {
                let keys =
                    try options.read?(response)
                    ?? JWKSet(parsing: response.body, maximumRSAKeySize: options.maximumRSAKeySize)
                // The same set keeps its prepared keys.
                if let latest, latest.content.body == response.body { return latest.content }
                return KeySetContent(keys: keys, body: response.body, version: (latest?.number ?? 0).next)
            } catch {
                throw OAuth2Error(
                    .protocolViolation,
                    "the response isn't a key set: \((error as? TokenError)?.message ?? "see the cause")",
                    status: 200,
                    cause: error
                )
            }
        }
    }

    private func observe(_ event: KeySetEvent) { client.options.observers.observe(event) }
}
