public import Foundation
public import Networking
public import OAuth2
import OpenSSLCrypto
import Synchronization
public import TokenGeneration

/// The signing keys of a service, which its hosts share and replace by themselves.
///
/// ```swift
/// let keys = try RecordKeys(sealing: Secret(key))
/// let ring = try SigningKeyRing(EtcdTokenStore(cluster, prefix: "/keys/", keys: keys))
///
/// let token = try await ring.sign(claims)
/// let document = try await ring.document()   // for /.well-known/jwks.json
/// ```
///
/// The ring has a key that signs and the next one, whose public part is in the document long before
/// it signs. A replaced key stays in the document until its last token has expired. Any host makes
/// the next key when it's due; of several that do so at once, one succeeds and the others use its
/// key. No verifier meets a key that it can't know, as long as ``Options`` describes the hosts and
/// verifiers correctly.
///
/// The keys are encrypted before they leave the process. A host reads them when it signs or returns
/// the document, at most once in the poll interval, shared by all callers and ahead of need.
/// Nothing runs in the background without a caller.
///
/// While the store is out of reach, hosts use the keys that they have, as long as these may sign.
/// They never use a key that isn't in the store. A host that finds the store empty puts back the
/// keys that it has, and rejects a set that is older than the one it knows.
public final class SigningKeyRing: Sendable {
    /// The JWK Set of a ring, for verifiers
    /// ([RFC 7517 §5](https://www.rfc-editor.org/rfc/rfc7517#section-5)).
    public struct Document: Sendable {
        /// The JSON text with the public keys.
        public let body: Data
        /// The header fields: `Content-Type`, `Cache-Control` and `ETag`.
        public let headers: HTTPHeaders
    }

    /// The status of a ring in this process, for a health check.
    public struct Status: Sendable {
        /// The ID of the key that signed last; `nil` before the first signature.
        public let keyID: String?
        /// The time until which this process can sign without the store; `nil` before the first
        /// signature.
        public let signsUntil: Date?
        /// A Boolean value that indicates whether the keys were read within the poll interval.
        ///
        /// If only some hosts can't read them, don't let these return the document: it may lack the
        /// next key.
        public let isFresh: Bool
        /// The error of the latest attempt to read or replace the keys; `nil` if it succeeded.
        public let failure: OAuth2Error?
    }

    /// The number of attempts to change a set that other hosts change, too.
    private static let rounds = 4
    /// The timeout of a refresh: a reading and a change, whose outcome may be unknown.
    private static let timeout = Duration.seconds(30)

    /// Internal for tests, which wait until no refresh is running.
    let state: Mutex<KeyRingLifecycle>

    private let store: KeyRingStore
    private let rules: KeyRingRules
    private let timeSource: TimeSource
    private let initialKey: SigningKey?
    private let random: @Sendable () -> Double
    /// The share of the delay with which this process replaces keys.
    private let share: Double
    /// The running refresh by its number.
    private let refreshes: SingleFlightCache<Int, Void>

    init(
        _ storage: any ConditionalStorage,
        keys: RecordKeys,
        name: String = "default",
        options: Options,
        initialKey: SigningKey? = nil,
        timeSource: TimeSource,
        random: @escaping @Sendable () -> Double = SecureRandom.uniform
    ) throws(OAuth2Error) {
        guard initialKey?.algorithm.isSymmetric != true else {
            throw OAuth2Error(.storeFailed, "a ring's first key must have a public key")
        }
        rules = try KeyRingRules(options)
        store = KeyRingStore(storage, cipher: keys.cipher, name: name)
        self.timeSource = timeSource
        self.initialKey = initialKey
        self.random = random
        share = random()
        state = Mutex(KeyRingLifecycle(rules: rules))
        refreshes = SingleFlightCache(timeSource: timeSource, policy: .init(timeout: Self.timeout))
    }

    // MARK: Signing

    /// Signs claims as a JWT, with the current key and its ID in the header.
    ///
    /// - Parameters:
    ///   - claims: The claims, which must encode as a JSON object. Dates are encoded as seconds
    ///     since 1970.
    ///   - header: Members of the header in addition to `alg` and `kid`. The default `typ` is
    ///     `JWT`.
    /// - Returns: The token.
    /// - Throws: The errors of ``signingKey()``; `TokenError` as `JWTGenerator.token()` does, or
    ///   with the code `lifetimeTooLong` if the token expires later than ``Options/tokenLifetime``
    ///   from now.
    public func sign(_ claims: some Encodable, header: JSONObject = [:]) async throws -> String {
        let payload = try JSONObject(encoding: claims)
        let limit = timeSource.date().timeIntervalSince1970 + rules.tokenLifetime + rules.clock
        if let expiration = payload["exp"]?.number?.double, expiration > limit {
            throw TokenError(
                .lifetimeTooLong,
                "the token would outlive its key; set the ring's tokenLifetime to that of the longest-lived token"
            )
        }
        let key = try await signingKey()
        return try JWTGenerator(header: header, payload: payload, signingService: key).token()
    }

    /// Returns the key that signs now, for use with another signer.
    ///
    /// Get it for each token. Tokens must not live longer than ``Options/tokenLifetime``.
    ///
    /// - Returns: The key, with its ID.
    /// - Throws: `OAuth2Error` with the code `storeUnavailable`, `storeFailed`, `storeBusy`,
    ///   `storeDamaged` or `storeTooNew` if there's no key in memory that may sign;
    ///   `CancellationError` if the caller is cancelled while it waits.
    public func signingKey() async throws -> SigningKey {
        try await prepare()
        do throws(OAuth2Error) { return try signer() } catch {
            // The running refresh may bring one.
            try await prepare(isUrgent: true)
            return try signer()
        }
    }

    private func signer() throws(OAuth2Error) -> SigningKey {
        let (date, now) = (timeSource.date(), timeSource.now())
        return try state.withLock { state throws(OAuth2Error) in try state.signer(at: date, now) }.key
    }

    /// Returns the public keys for verifiers.
    ///
    /// Respond with it to requests for the `jwks_uri`.
    ///
    /// - Returns: The document. All hosts return the same one.
    /// - Throws: `OAuth2Error` as ``signingKey()`` does if the keys were never read;
    ///   `CancellationError`.
    public func document() async throws -> Document {
        try await prepare()
        let (date, now) = (timeSource.date(), timeSource.now())
        let (keys, isFresh) = state.withLock { ($0.set?.keys ?? [], $0.isFresh(at: now)) }
        let body = JWKSet(
            keys: keys.filter { rules.isPublic($0, at: date) }.map { entry in
                var key = entry.key.verificationKey.jwk
                key.members["alg"] = .string(entry.key.algorithm.rawValue)
                key.members["use"] = "sig"
                return key
            }
        )
        .serialized()
        // Another host may have added a key meanwhile, so verifiers ask again soon.
        let age = isFresh ? rules.maximumAge : min(rules.maximumAge, 60)
        return Document(
            body: Data(body.utf8),
            headers: [
                "Content-Type": "application/jwk-set+json",
                "Cache-Control": "public, max-age=\(age)",
                "ETag": "\"\(Secret(body).fingerprint.hexadecimal)\"",
            ]
        )
    }

    /// The current status.
    public var status: Status {
        let now = timeSource.now()
        return state.withLock { state in
            Status(
                keyID: state.current,
                signsUntil: state.signsUntil,
                isFresh: state.isFresh(at: now),
                failure: state.failure
            )
        }
    }

    /// Removes a key that has leaked, at once, and lets the next key sign.
    ///
    /// Other hosts stop signing with it when they read the keys again, within
    /// ``Options/pollInterval``. Verifiers reject its tokens, also those that the service has
    /// signed, when they fetch the document again: within five minutes if they heed `max-age`, or
    /// ``Options/cacheLifetime``. A host that can't reach the store goes on signing with it.
    ///
    /// - Parameter keyID: The key's ID, the `kid` of its tokens.
    /// - Returns: `true` if the key was removed; `false` if the ring has no key with this ID.
    /// - Throws: `OAuth2Error` with the code `storeUnavailable`, `storeFailed`, `storeBusy`,
    ///   `storeDamaged` or `storeTooNew`. Call it again: the key may have been removed.
    public func retire(_ keyID: String) async throws -> Bool {
        try await change { keys in
            let date = timeSource.date()
            guard let kept = rules.retired(keyID, from: keys, at: date) else { return nil }
            return try rules.maintained(kept, at: date, share: 0) { try generate() } ?? kept
        }
    }

    // MARK: Refresh

    /// Reads the keys, unless those in memory can be used without waiting.
    private func prepare(isUrgent: Bool = false) async throws {
        let now = timeSource.now()
        let step = state.withLock { state in
            let step = state.step(at: now, isUrgent: isUrgent)
            switch step {
            case .use, .fail: return (step, task: SharedTask<Void>?.none)
            case .useAndStart(let id), .wait(let id, _): return (step, refresh(id))
            }
        }
        switch (step.0, step.task) {
        case (.fail(let error), _): throw error
        case (.wait(let id, let deadline), let task?):
            do { try await task.value(until: deadline) } catch {
                guard !Task.isCancelled else { throw error }
                // Unless it's over, only the caller's patience has ended.
                let failure = task.isOver ? fail(id, error) : Self.failure(error)
                guard state.withLock({ $0.set != nil }) else { throw failure }
            }
        default: return
        }
    }

    /// The caller holds the lock, so a running refresh can't end meanwhile.
    private func refresh(_ id: Int) -> SharedTask<Void> {
        refreshes.task(for: id) { [self] _ in
            let started = timeSource.now()
            do {
                _ = try await change { keys in
                    var first = keys.isEmpty ? initialKey : nil
                    return try rules.maintained(keys, at: timeSource.date(), share: share) {
                        defer { first = nil }
                        return try first ?? generate()
                    }
                }
                state.withLock { $0.landed(id, nil) }
            } catch {
                // The keys are usable if they were read, even if a change has failed.
                let failure = Self.failure(error)
                let isRead = state.withLock { state in
                    guard let readAt = state.readAt, readAt >= started else { return false }
                    state.landed(id, failure)
                    return true
                }
                if !isRead { throw fail(id, failure) }
            }
        }
    }

    private func fail(_ id: Int, _ error: any Error) -> OAuth2Error {
        let failure = Self.failure(error)
        let now = timeSource.now()
        state.withLock { $0.failed(id, failure, random: random(), at: now) }
        return failure
    }

    private static func failure(_ error: any Error) -> OAuth2Error {
        error as? OAuth2Error
            ?? OAuth2Error(.storeUnavailable, "the store of the signing keys didn't respond in time", cause: error)
    }

    private func generate() throws(OAuth2Error) -> SigningKey {
        do { return try SigningKey.generate(rules.algorithm) } catch {
            throw OAuth2Error(.storeFailed, "a signing key can't be generated", cause: error)
        }
    }

    // MARK: Changes

    // Returns `true` if the closure's keys were written. If the store is empty although this
    // process knows keys, they are put back. If other hosts always write first, it throws
    // `storeBusy`.
    private func change(_ change: ([RingKey]) throws -> [RingKey]?) async throws -> Bool {
        for _ in 1...Self.rounds {
            let known = state.withLock(\.set)
            let started = timeSource.now()
            let found = try await store.read(after: known)
            if let found { adopt(found.set, asOf: started) }
            let base = found?.set ?? known
            let changed = try change(base?.keys ?? [])
            let isRewritten = found?.set.needsSealing ?? true && !state.withLock(\.hasSealed) || found == nil
            guard let keys = changed ?? (isRewritten ? base?.keys : nil) else { return false }
            let next = KeyRingSet(
                generation: (base?.generation ?? 0).next,
                attempt: try StoreRandom.bytes(count: 16).hexadecimal,
                keys: keys
            )
            let writing = timeSource.now()
            if let written = try await store.write(next, over: found?.version) {
                adopt(written, asOf: writing)
                state.withLock { $0.hasSealed = true }
                return changed != nil
            }
        }
        throw OAuth2Error(.storeBusy, "other hosts keep changing the signing keys; compare their versions and options")
    }

    private func adopt(_ set: KeyRingSet, asOf time: ContinuousClock.Instant) {
        let now = timeSource.now()
        state.withLock { $0.adopt(set, asOf: time, at: now) }
    }

    /// The life of the keys, and the properties of hosts and verifiers that it depends on.
    ///
    /// All hosts that share a ring need the same options. A changed option applies to keys that are
    /// made later.
    public struct Options: Sendable {
        /// The algorithm of new keys, which must have a public key.
        ///
        /// The default is ES256.
        public var algorithm: JWSAlgorithm
        /// The time for which each key is the newest one that signs.
        ///
        /// The default is 30 days. A key may sign for another quarter of it, for hosts that can't
        /// rely on the next key yet.
        public var rotationInterval: Duration
        /// The longest lifetime of a token.
        ///
        /// The default is 1 hour. ``SigningKeyRing/sign(_:header:)`` rejects a longer one.
        public var tokenLifetime: Duration
        /// The longest time for which a verifier uses a document before it fetches the next one.
        ///
        /// The default is 1 hour, the bound of a `RemoteKeySet`. Documents have a `max-age` of five
        /// minutes at most, for verifiers that heed it.
        public var cacheLifetime: Duration
        /// The longest time for which a verifier accepts a token that has expired.
        ///
        /// The default is 5 minutes.
        public var leeway: Duration
        /// The longest time for which a host uses the set of keys before it reads the set again.
        ///
        /// The default is 1 minute.
        public var pollInterval: Duration
        /// The largest difference between the clocks of two hosts.
        ///
        /// The default is 1 minute.
        public var clockDifference: Duration

        /// Creates options.
        public init(
            algorithm: JWSAlgorithm = .es256,
            rotationInterval: Duration = .seconds(30 * 86_400),
            tokenLifetime: Duration = .seconds(3_600),
            cacheLifetime: Duration = .seconds(3_600),
            leeway: Duration = .seconds(300),
            pollInterval: Duration = .seconds(60),
            clockDifference: Duration = .seconds(60)
        ) {
            self.algorithm = algorithm
            self.rotationInterval = rotationInterval
            self.tokenLifetime = tokenLifetime
            self.cacheLifetime = cacheLifetime
            self.leeway = leeway
            self.pollInterval = pollInterval
            self.clockDifference = clockDifference
        }
    }
}
