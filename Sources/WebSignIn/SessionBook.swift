import Foundation
import Networking
import OAuth2
import OpenSSLCrypto
import SharedStores
import TokenGeneration

/// The sessions in a store, and the marks that end them.
struct SessionBook: Sendable {
    typealias Identity = (issuer: String, subject: String, sessionID: String?)

    struct NewSession: Sendable {
        let provider: SignInProvider
        let identity: Identity
        let claims: JSONObject
        let values: JSONObject
        let idToken: Secret
        /// The versions of the logouts that came before the sign-in.
        let endings: [String]
        var userAgent: String?
        /// The session that the browser had.
        var old: SessionRecord?
    }

    private struct Access: Sendable {
        let authenticator: OAuth2Authenticator
        let client: NetworkClient
    }

    static let cookieName = "session"
    /// The tolerated difference between the clocks of hosts, in seconds.
    static let leeway = 60.0

    let store: any SessionStore
    private let coding: TokenRecordCoding
    let sealed: SealedValue
    let options: SignIn.Options
    private let providers: [SignInProvider]
    /// The authenticators of the sessions that this process serves, one for each.
    private let accesses: SingleFlightCache<String, Access>
    private let sections: ExclusiveSections

    init(
        _ store: any SessionStore,
        _ keys: RecordKeys,
        _ sealed: SealedValue,
        _ options: SignIn.Options,
        _ providers: [SignInProvider]
    ) {
        self.store = store
        self.sealed = sealed
        self.options = options
        self.providers = providers
        coding = TokenRecordCoding(cipher: keys.cipher)
        sections = ExclusiveSections(timeSource: options.timeSource)
        var policy = SingleFlightCache<String, Access>.Policy()
        policy.lifetime = { _ in options.absoluteLifetime }
        // The store has the tokens, so an authenticator can be made again.
        policy.capacity = 10_000
        accesses = SingleFlightCache(timeSource: options.timeSource, policy: policy)
    }

    var now: Double { options.timeSource.date().timeIntervalSince1970 }

    private static func seconds(_ duration: Duration) -> Double { duration / .seconds(1) }

    func storing<Value>(_ body: () async throws -> Value) async throws(SignInError) -> Value {
        do { return try await body() } catch {
            if let error = error as? SignInError { throw error }
            throw SignInError(.storeFailed, "the store of sessions failed", cause: error)
        }
    }

    // MARK: Sessions

    /// Stores a new session and its tokens, and returns its identifier.
    func create(_ new: NewSession, with tokens: IssuedTokens) async throws(SignInError) -> Secret {
        let (id, grant): (String, String)
        do {
            id = Base64URL.encode(try SecureRandom.bytes(count: 32))
            grant = try SecureRandom.bytes(count: 16).hexadecimal
        } catch { throw SignInError(.storeFailed, "random numbers aren't available", cause: error) }
        let record = SessionRecord(
            provider: new.provider.name,
            issuer: new.identity.issuer,
            subject: new.identity.subject,
            sessionID: new.identity.sessionID,
            claims: new.claims,
            values: new.values,
            idToken: new.idToken.expose { $0 },
            grant: grant,
            endings: new.endings,
            created: now,
            end: now + Self.seconds(options.absoluteLifetime),
            used: now,
            key: Self.key(of: id),
            userAgent: new.userAgent
        )
        try await list(record, replacing: new.old)
        try await storing { () async throws in
            try await access(of: record, new.provider).authenticator.signIn(with: tokens)
            guard try await write(record, over: nil) else {
                throw SignInError(.storeFailed, "the store already has a session of this identifier")
            }
        }
        return Secret(id)
    }

    /// Returns the session of an identifier, or `nil`.
    ///
    /// An unknown identifier is never written.
    func session(_ id: String) async throws(SignInError) -> UserSession? {
        guard id.utf8.count == 43 else { return nil }
        return try await session(key: Self.key(of: id))
    }

    /// Returns the session of a key of the store, or `nil`; looking at it needn't be a use.
    func session(key: String, isUse: Bool = true) async throws(SignInError) -> UserSession? {
        guard let stored = try await storing({ try await store.read(key) }),
            var record = sealed.open(stored.value, as: SessionRecord.self), record.key == key,
            let provider = providers.first(where: { $0.name == record.provider }),
            provider.hasTenants || provider.issuer.isExactly(record.issuer)
        else { return nil }
        let now = now
        let idle = Self.seconds(options.idleLifetime)
        // A clock that was set back says nothing about the time since the last use.
        guard now < record.end, now - record.used < idle, record.used - now <= Self.leeway,
            try await endings(of: (record.issuer, record.subject, record.sessionID))
                .allSatisfy({ record.endings.contains($0.version) })
        else {
            try await end(record)
            return nil
        }
        if isUse, now - record.used > idle / 10 {
            record.used = now
            let touched = record
            // Another request may have written it, or ended the session.
            _ = try await storing { try await write(touched, over: stored.version) }
        }
        let found = record
        let access = try await storing { try await self.access(of: found, provider) }
        return UserSession(
            provider: record.provider,
            issuer: record.issuer,
            subject: record.subject,
            claims: record.claims,
            values: record.values,
            authenticationTime: record.authenticationTime,
            acr: record.claims["acr"]?.string,
            expiry: Date(timeIntervalSince1970: record.end),
            authenticator: access.authenticator,
            client: access.client,
            record: record
        )
    }

    private func write(_ record: SessionRecord, over version: String?) async throws -> Bool {
        let left = min(record.end - now, Self.seconds(options.idleLifetime) * 1.1 + Self.leeway)
        let value = try sealed.seal(record)
        guard value.utf8.count <= 64 << 10 else {
            throw SignInError(.storeFailed, "the session's claims and values are over 48 KiB; keep fewer")
        }
        let lifetime = max(Duration(clampingSeconds: left), .seconds(1))
        return try await store.write(value, for: record.key, replacing: version, lifetime: lifetime) != nil
    }

    /// Ends a session: its record first, then its tokens.
    func end(_ record: SessionRecord) async throws(SignInError) {
        accesses.remove(record.grant)
        try await storing { () async throws in
            try await store.remove(record.key)
            try await store.remove("tokens-" + record.grant)
        }
    }

    private static func key(of id: String) -> String { "session-" + id.sha256 }

    // MARK: Tokens

    private func tokenStore(of record: SessionRecord) -> SessionTokenStore {
        SessionTokenStore(
            store: store,
            coding: coding,
            name: "tokens-" + record.grant,
            end: Date(timeIntervalSince1970: record.end),
            timeSource: options.timeSource,
            sections: sections
        )
    }

    private func access(of record: SessionRecord, _ provider: SignInProvider) async throws -> Access {
        try await accesses.value(for: record.grant) { [self] _ in
            let authenticator = OAuth2Authenticator(
                client: provider.client,
                grant: UserGrant(identifier: record.grant),
                // Without APIs, every request fails and says so.
                resources: provider.apis ?? [],
                store: tokenStore(of: record)
            )
            let client = NetworkClient(
                transport: provider.network.transport,
                interceptors: provider.network.interceptors + [authenticator],
                options: provider.network.options
            )
            return Access(authenticator: authenticator, client: client)
        }
    }

    func refreshToken(of record: SessionRecord) async -> Secret? {
        try? await tokenStore(of: record).load("")?.record.refreshToken
    }

    // MARK: Marks

    /// Remembers a name once, and returns `false` if it's known.
    func claim(_ name: String, lifetime: Int) async throws(SignInError) -> Bool {
        try await storing {
            try await store.write("", for: name, replacing: nil, lifetime: Duration(clampingSeconds: lifetime)) != nil
        }
    }

    func unclaim(_ name: String) async throws(SignInError) { try await storing { try await store.remove(name) } }

    func isClaimed(_ name: String) async throws(SignInError) -> Bool {
        try await storing { try await store.read(name) } != nil
    }

    /// The marks of logouts.
    ///
    /// A session ends with a mark that its sign-in hadn't seen, even if the hosts' clocks differ.
    func endings(of identity: Identity) async throws(SignInError) -> [StoredSessionValue] {
        var endings: [StoredSessionValue] = []
        for mark in LogoutMark.marks(of: identity) {
            if let found = try await storing({ try await store.read(mark.name) }) { endings.append(found) }
        }
        return endings
    }

    /// Ends all sessions that a mark names, and the sign-ins in progress that began until now.
    func end(_ mark: LogoutMark) async throws(SignInError) {
        let lifetime = options.absoluteLifetime + Duration(clampingSeconds: Attempt.lifetime)
        // A sign-in in progress may have begun on a host whose clock is ahead. For a user instead
        // of a session, that would also refuse a new sign-in.
        let tolerance = mark.isOfSession && store.isSharedByHosts ? Self.leeway : 0
        try await storing { () async throws in
            // Another logout of the same session writes the same.
            for _ in 0..<8 {
                let found = try await store.read(mark.name)
                let time = max(now + tolerance, found.flatMap { Double($0.value) } ?? 0)
                let version = found?.version
                if try await store.write(String(time), for: mark.name, replacing: version, lifetime: lifetime) != nil {
                    return
                }
            }
            throw SignInError(.storeFailed, "the end of a session couldn't be written")
        }
    }
}

/// A record that sessions of a user, or one of them, ended at a time.
///
/// The sessions don't need to be known, so that a logout reaches those of other hosts and those
/// that are about to begin, and no list of sessions has to be kept.
struct LogoutMark: Sendable {
    /// The maximum age of a logout token, in seconds.
    static let tokenAge = 600

    let name: String
    let isOfSession: Bool

    private init(_ kind: String, issuer: String, _ value: String) {
        name = "ended-" + "\(kind)\n\(issuer)\n\(value)".sha256
        isOfSession = kind == "sid"
    }

    static func session(_ sessionID: String, of issuer: String) -> Self {
        Self("sid", issuer: issuer, sessionID)
    }

    static func subject(_ subject: String, of issuer: String) -> Self { Self("sub", issuer: issuer, subject) }

    static func marks(of identity: SessionBook.Identity) -> [Self] {
        [.subject(identity.subject, of: identity.issuer)]
            + (identity.sessionID.map { [.session($0, of: identity.issuer)] } ?? [])
    }
}
