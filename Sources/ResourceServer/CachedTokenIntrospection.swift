import Foundation
public import Networking
public import OAuth2
import Synchronization
import TokenGeneration

/// Asks an authorization server what tokens are, and remembers its answers for a while.
///
/// ```swift
/// let oauth = OAuth2Client(server: server, clientAuthentication: .clientSecretBasic(clientID: "api", secret: secret))
/// let introspection = CachedTokenIntrospection(oauth, lifetime: .seconds(30))
/// let verifier = AccessTokenVerifier(audience: "https://api.example", introspection: introspection)
/// ```
///
/// However many requests come with one token at the same time, the server is asked once. The cache has no tokens in it, only their
/// fingerprints, and has a bound: of the answers that are not used, the one that was used longest ago makes room. Tokens that are
/// not active have a cache of their own, so that made-up ones can't push the good ones out. A failure is not remembered.
public final class CachedTokenIntrospection: Sendable {
    private struct State {
        var active: [[UInt8]: Entry] = [:]
        var inactive: [[UInt8]: Entry] = [:]
        var tasks: [[UInt8]: (id: UInt64, task: SharedTask<IntrospectedToken>)] = [:]
        /// Counts the questions.
        var uses: UInt64 = 0
    }

    private enum Step {
        case use(IntrospectedToken)
        case join(SharedTask<IntrospectedToken>)
    }

    /// The most answers that are remembered about good tokens, and about others.
    public let capacity: Int
    /// How long an answer is used; that is how long a token may still be accepted after it was revoked.
    public let lifetime: Duration

    private let client: OAuth2Client
    private let timeSource: TimeSource
    private let timeout: Duration
    private let state = Mutex(State())

    /// Makes a cache.
    ///
    /// - Parameters:
    ///   - client: What asks the server.
    ///   - capacity: The most answers that are remembered about good tokens, and about others; 1000 of each by default.
    ///   - lifetime: How long an answer is used, though never beyond the token's expiry; a minute by default, zero for not at all.
    ///   - timeout: How long an answer may take to come, whatever the client's own limit; 30 seconds by default.
    ///   - timeSource: Where time comes from; the client should have the same.
    public init(
        _ client: OAuth2Client,
        capacity: Int = 1_000,
        lifetime: Duration = .seconds(60),
        timeout: Duration = .seconds(30),
        timeSource: TimeSource = .system
    ) {
        self.client = client
        self.capacity = max(capacity, 0)
        self.lifetime = max(lifetime, .zero)
        self.timeout = timeout
        self.timeSource = timeSource
    }

    /// The server that is asked.
    var issuer: String { client.server.issuer }

    /// How many answers are remembered.
    public var count: Int { state.withLock { $0.active.count + $0.inactive.count } }

    /// Says what a token is.
    ///
    /// - Parameter token: The token.
    /// - Returns: What the server says of it, or said a while ago.
    /// - Throws: As `OAuth2Client.introspect(_:kind:)` does; `OAuth2Error` with the code `serverUnreachable` if no answer comes
    ///   in time; `CancellationError` if the caller is cancelled while it waits.
    public func answer(about token: Secret) async throws -> IntrospectedToken {
        let key = token.fingerprint
        let now = timeSource.now()
        switch state.withLock({ step(&$0, key, at: now, token) }) {
        case .use(let answer): return answer
        case .join(let task):
            do { return try await task.value() } catch let error as NetworkError where error.code == .timedOut {
                throw OAuth2Error(.serverUnreachable, "the introspection endpoint did not answer in time", cause: error)
            }
        }
    }

    /// Forgets what is known of a token, such as one that was just revoked here.
    ///
    /// - Parameter token: The token.
    public func forget(_ token: Secret) {
        let key = token.fingerprint
        state.withLock { state in
            state.active[key] = nil
            state.inactive[key] = nil
            // An answer that is on its way is for those who have asked before.
            state.tasks[key] = nil
        }
    }

    // MARK: The state

    private func step(
        _ state: inout State,
        _ key: [UInt8],
        at now: ContinuousClock.Instant,
        _ token: Secret
    ) -> Step {
        state.uses += 1
        let id = state.uses
        for cache in [\State.active, \State.inactive] {
            guard let entry = state[keyPath: cache][key] else { continue }
            guard now < entry.goodUntil else {
                state[keyPath: cache][key] = nil
                continue
            }
            state[keyPath: cache][key]?.used = id
            return .use(entry.answer)
        }
        if let running = state.tasks[key], !running.task.isOver { return .join(running.task) }
        let task = SharedTask(timeout: timeout, timeSource: timeSource) { [self] in
            do {
                let answer = try await client.introspect(token, kind: .accessToken)
                land(key, id, answer)
                return answer
            } catch {
                end(key, id)
                throw error
            }
        }
        state.tasks[key] = (id, task)
        return .join(task)
    }

    private func land(_ key: [UInt8], _ id: UInt64, _ answer: IntrospectedToken) {
        let now = timeSource.now()
        let left = answer.expiration.map { Duration.seconds($0.timeIntervalSince(timeSource.date())) }
        let goodUntil = now + min(lifetime, left ?? lifetime)
        state.withLock { state in
            guard state.tasks[key]?.id == id else { return }
            state.tasks[key] = nil
            guard now < goodUntil, capacity > 0 else { return }
            let entry = Entry(answer: answer, goodUntil: goodUntil, used: state.uses)
            if answer.isActive {
                state.active.remember(entry, for: key, capacity: capacity, at: now)
            } else {
                state.inactive.remember(entry, for: key, capacity: capacity, at: now)
            }
        }
    }

    private func end(_ key: [UInt8], _ id: UInt64) {
        state.withLock { state in
            if state.tasks[key]?.id == id { state.tasks[key] = nil }
        }
    }
}

/// An answer, and how long it may be used.
private struct Entry {
    let answer: IntrospectedToken
    let goodUntil: ContinuousClock.Instant
    /// The number of the latest use.
    var used: UInt64
}

extension [[UInt8]: Entry] {
    /// Keeps an entry; if there is no room, one that is over goes, or else the one that was used longest ago.
    fileprivate mutating func remember(
        _ entry: Entry,
        for key: [UInt8],
        capacity: Int,
        at now: ContinuousClock.Instant
    ) {
        if count >= capacity, self[key] == nil {
            let oldest = self.min { left, right in
                (left.value.goodUntil > now ? left.value.used : 0)
                    < (right.value.goodUntil > now ? right.value.used : 0)
            }
            if let oldest { self[oldest.key] = nil }
        }
        self[key] = entry
    }
}
