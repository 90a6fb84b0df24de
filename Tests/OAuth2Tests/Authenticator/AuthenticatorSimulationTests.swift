import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestSupport
import Testing

/// Random lives of a whole authenticator, with its refreshes, its store and a server that rotates
/// refresh tokens.
///
/// The scheduler interleaves the tasks, so a seed doesn't reproduce a run; the guarantees hold in
/// any order. `AUTHENTICATOR_LIVES=1000` runs more than the default of 100 lives.
@Suite("OAuth2Authenticator: simulation", .limitedConcurrency, .serialized, .tags(.concurrency))
struct AuthenticatorSimulationTests {
    private static let parts = 0..<10
    /// What has happened in the lives of all parts, which run one after the other.
    private static let happened = Mutex<Set<String>>([])

    @Test("Random lives never violate the guarantees", arguments: parts)
    func lives(part: Int) async throws {
        let count = ProcessInfo.processInfo.environment["AUTHENTICATOR_LIVES"].flatMap { Int($0) } ?? 100
        for seed in stride(from: part, to: count, by: Self.parts.count) {
            let world = World(seed: UInt64(seed))
            await world.run(steps: 80)
            try #require(world.violations.isEmpty, "seed \(seed): \(world.violations)")
            Self.happened.withLock { $0.formUnion(world.seen) }
        }
        guard part == Self.parts.last else { return }
        let expected: Set<String> = [
            "token", "cancelled", "timedOut", "transient", "lost answer", "dead", "refused", "signed out", "signed in",
            "too late",
        ]
        let missing = Self.happened.withLock { expected.subtracting($0) }
        #expect(missing.isEmpty, "never happened: \(missing)")
    }
}

/// One life: callers get tokens, reject them, give up, and sign out and in while time passes.
private final class World: Sendable {
    private struct State {
        var violations: [String] = []
        var seen: Set<String> = []
        var tokens: [AccessToken] = []
        var waiting = 0
        /// The number of sign-outs and sign-ins, each counted at its start and its end.
        var turns = 0
        var isSignedOut = false
        /// The user who signed in last.
        var user = 0
    }

    /// A caller's view of the world at one time.
    private struct Moment {
        let now: ContinuousClock.Instant
        let turns: Int
        let isSignedOut: Bool
        let user: Int
    }

    private let time = ManualTime()
    private let server: RotatingServer
    private let store: WitnessedStore
    private let authenticator: OAuth2Authenticator
    private let state = Mutex(State())
    private let seed: UInt64

    var violations: [String] { state.withLock { $0.violations } + server.violations }
    var seen: Set<String> { state.withLock { $0.seen }.union(server.seen) }

    init(seed: UInt64) {
        self.seed = seed
        let store = WitnessedStore(time.timeSource)
        let server = RotatingServer(seed: ~seed, time: time, store: store)
        let jitter = Mutex(SplitMix(state: seed ^ 0x5555))
        self.store = store
        self.server = server
        authenticator = OAuth2Authenticator(
            client: OAuth2Client(
                server: OAuth2Fixture.server,
                clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret("s3cret-of-reports")),
                client: NetworkClient(
                    transport: MockTransport(time: time.timeSource) { try await server.answer($0) },
                    options: .init(timeSource: time.timeSource)
                ),
                timing: .init(
                    attempts: 1 + Int(seed % 2),
                    timeSource: time.timeSource,
                    random: { jitter.withLock { $0.share() } }
                )
            ),
            grant: RefreshTokenGrant(refreshToken: Secret(server.grant(user: 0))),
            resources: .everyHTTPSOrigin,
            store: store
        )
    }

    deinit {
        // Tasks that would sleep forever count as leaks.
        time.end()
    }

    func run(steps: Int) async {
        var random = SplitMix(state: seed)
        await withTaskGroup(of: Void.self) { group in
            var turn: Task<Void, Never>?
            var callers: [Task<Void, Never>] = []
            for _ in 1...steps {
                switch random.number(upTo: 20) {
                case 0..<9:
                    let patience = random.number(upTo: 3) == 0 ? Duration.seconds(1 + random.number(upTo: 40)) : nil
                    callers.append(Task { await call(patience) })
                case 9..<12:
                    await refuse(&random)
                    callers.append(Task { await call(nil) })
                case 12..<14:
                    callers.randomElement(using: &random)?.cancel()
                case 14 where random.number(upTo: 4) == 0:
                    server.revoke()
                case 15 where random.number(upTo: 3) == 0, 16:
                    // One at a time, as a user would.
                    guard state.withLock({ $0.turns.isMultiple(of: 2) }) else { break }
                    let isIn = random.number(upTo: 3) > 0
                    turn = Task { [turn] in
                        await turn?.value
                        await isIn ? signIn() : signOut()
                    }
                default: break
                }
                for _ in 0..<random.number(upTo: 40) { await Task.yield() }
                let leaps = random.number(upTo: 12) == 0
                time.advance(by: .milliseconds(random.number(upTo: leaps ? 40_000 : 1_500)))
            }
            for caller in callers { group.addTask { await caller.value } }
            group.addTask { [turn] in await turn?.value }
            // Lets all time pass, so that every waiting caller gets a result.
            let ended = Mutex(false)
            let drain = Task {
                while !ended.withLock({ $0 }) {
                    time.advanceToNextSleeper()
                    for _ in 1...20 { await Task.yield() }
                }
            }
            await group.waitForAll()
            ended.withLock { $0 = true }
            await drain.value
        }
        while time.sleeperCount > 0 {
            time.advanceToNextSleeper()
            await Task.yield()
        }
        if !state.withLock({ $0.isSignedOut }) { server.checkEnd() }
    }

    // MARK: Callers

    private func call(_ patience: Duration?) async {
        let before = moment
        do {
            let token = try await authenticator.accessToken(until: patience.map { before.now + $0 })
            note("token")
            state.withLock { $0.tokens.append(token) }
            check(token, since: before)
        } catch is CancellationError {
            if !Task.isCancelled { violate("a caller that wasn't cancelled ended as cancelled") }
            note("cancelled")
        } catch let error as NetworkError where error.code == .timedOut {
            if patience == nil { violate("a caller without a deadline timed out") }
            note("timedOut")
        } catch let error as OAuth2Error {
            check(error, since: before)
        } catch {
            violate("a caller ended with \(error)")
        }
    }

    private func check(_ token: AccessToken, since before: Moment) {
        // A token may expire before the server has issued it; then there is no better one.
        if let expiry = token.expiry, expiry - token.requested > .seconds(30), expiry <= before.now {
            violate("an expired token was returned")
        }
        let text = token.value.expose { $0 }
        if Int(text.split(separator: "-")[1])! < before.user { violate("a token of an earlier user was returned") }
        if server.hasIssuedTooLate(text) { violate("a token issued after the sign-out was returned") }
        if before.isSignedOut, moment.turns == before.turns { violate("a token was returned after the sign-out") }
    }

    private func check(_ error: OAuth2Error, since before: Moment) {
        switch error.code {
        case .serverTransient, .serverUnreachable:
            if before.isSignedOut, moment.turns == before.turns { violate("\(error.code) after a sign-out") }
        case .reauthenticationRequired:
            note("dead")
            if before.turns == 0, moment.turns == 0, !server.hasRevoked { violate("the grant ended unrevoked") }
        case .storeBusy, .storeUnavailable: note("busy")
        default: violate("a caller ended with \(error)")
        }
    }

    /// Reports to the authenticator that the API rejected one of the latest tokens.
    private func refuse(_ random: inout SplitMix) async {
        let tokens = state.withLock { $0.tokens.suffix(6) }
        guard let token = tokens.randomElement(using: &random) else { return }
        var request = HTTPRequest(url: OAuth2Fixture.api)
        request.headers["Authorization"] = token.value.expose { "Bearer \($0)" }
        let headers: HTTPHeaders = ["WWW-Authenticate": RefusedCall.invalidToken]
        let action = await authenticator.evaluateFailedRequest(
            FailedRequest(
                request,
                response: HTTPResponse(url: OAuth2Fixture.api, status: 401, headers: headers),
                error: ServerError(endpoint: "reports", errorCode: 401),
                context: InterceptorContext(retryState: Retry.State(started: time.now))
            )
        )
        if case .retry = action { note("refused") }
    }

    // MARK: Sign-out

    private func signOut() async {
        state.withLock { $0.turns += 1 }
        await WitnessedStore.$isSigningOut.withValue(true) {
            await persist { try await authenticator.signOut() }
        }
        state.withLock { state in
            state.turns += 1
            state.isSignedOut = true
        }
        note("signed out")
    }

    private func signIn() async {
        let user = state.withLock { state in
            state.turns += 1
            state.isSignedOut = false
            return state.user + 1
        }
        let token = server.grant(user: user)
        store.isSignedOut = false
        await persist { try await authenticator.signIn(with: Secret(token)) }
        state.withLock { state in
            state.turns += 1
            state.user = user
        }
        note("signed in")
    }

    /// The lock may be held for the duration of a token request, and here time runs faster than
    /// tasks do.
    private func persist(_ body: () async throws -> Void) async {
        while true {
            do { return try await body() } catch let error as OAuth2Error where error.code == .storeBusy {
                note("busy")
            } catch { return violate("signing out or in failed: \(error)") }
        }
    }

    // MARK: Records

    private var moment: Moment {
        let now = time.now
        return state.withLock { Moment(now: now, turns: $0.turns, isSignedOut: $0.isSignedOut, user: $0.user) }
    }

    private func note(_ word: String) { state.withLock { _ = $0.seen.insert(word) } }
    private func violate(_ text: String) { state.withLock { $0.violations.append(text) } }
}

/// A token endpoint that rotates refresh tokens, is slow, fails, and accepts a token again if the
/// client lost the response.
private final class RotatingServer: Sendable {
    private struct State {
        var random: SplitMix
        var violations: [String] = []
        var seen: Set<String> = []
        var active = 0
        var count = 0
        var arrivals: [ContinuousClock.Instant] = []
        /// The valid token, and the previous one, which stays valid until the new one is used.
        var current: [Int: String] = [:]
        var previous: [Int: String] = [:]
        /// The successors of each token.
        var successors: [String: [String]] = [:]
        /// The access tokens that were pending at a sign-out.
        var tooLate: Set<String> = []
        var revoked: Set<Int> = []
        var hasRevoked = false
    }

    private let state: Mutex<State>
    private let time: ManualTime
    private let store: WitnessedStore

    var violations: [String] { state.withLock { $0.violations } }
    var seen: Set<String> { state.withLock { $0.seen } }
    var hasRevoked: Bool { state.withLock { $0.hasRevoked } }

    init(seed: UInt64, time: ManualTime, store: WitnessedStore) {
        state = Mutex(State(random: SplitMix(state: seed)))
        self.time = time
        self.store = store
    }

    /// Creates the first refresh token of a new chain.
    func grant(user: Int) -> String {
        state.withLock { state in
            state.current[user] = "refresh-\(user)-0"
            return "refresh-\(user)-0"
        }
    }

    /// Revokes all existing chains.
    func revoke() {
        state.withLock { state in
            state.revoked.formUnion(state.current.keys)
            state.hasRevoked = true
        }
    }

    func answer(_ request: HTTPRequest) async throws -> HTTPTransportResponse {
        guard let body = request.bodyData(),
            let fields = FormURLEncoded.decode(String(decoding: body, as: UTF8.self)),
            let token = fields.first(where: { $0.name == "refresh_token" })?.value
        else { throw MockError(.unexpectedRequest, "not a refresh") }
        let (pause, fate) = arrive(token)
        defer { state.withLock { $0.active -= 1 } }
        // Some responses are lost after the server has processed the request.
        let early = fate < 3 ? rotate(token) : nil
        try await time.sleep(for: pause)
        switch fate {
        case 0:
            state.withLock { _ = $0.seen.insert("lost answer") }
            throw NetworkError(.connectionLost, "the connection was cut")
        case 3...5:
            state.withLock { _ = $0.seen.insert("transient") }
            return HTTPTransportResponse(status: 503)
        default:
            let response = early ?? rotate(token)
            if store.isSignedOut, let issued = try? JSONDecoder().decode(Issued.self, from: response.body) {
                state.withLock { state in
                    state.tooLate.insert(issued.token)
                    state.seen.insert("too late")
                }
            }
            return response
        }
    }

    private struct Issued: Decodable {
        let token: String

        enum CodingKeys: String, CodingKey { case token = "access_token" }
    }

    /// Returns a Boolean value that indicates whether a token was issued after its user had signed
    /// out.
    func hasIssuedTooLate(_ token: String) -> Bool { state.withLock { $0.tooLate.contains(token) } }

    /// Checks that the server accepts the last token in the store.
    func checkEnd() {
        state.withLock { state in
            guard let kept = store.refreshToken, let user = Self.user(of: kept), !state.revoked.contains(user) else {
                return
            }
            if kept != state.current[user], kept != state.previous[user] {
                state.violations.append("the refresh token was lost: \(kept) is stored instead of \(state.current)")
            }
        }
    }

    private func arrive(_ token: String) -> (pause: Duration, fate: Int) {
        let now = time.now
        let isReplaced = state.withLock { $0.successors[token] ?? [] }.contains { store.hasWritten($0) }
        return state.withLock { state in
            state.active += 1
            if state.active > 1 { state.violations.append("two token requests at once") }
            if isReplaced { state.violations.append("\(token) was sent after its successor had been stored") }
            state.arrivals.append(now)
            let window = state.arrivals.count { now - $0 <= .seconds(30) }
            if window > 45 { state.violations.append("\(window) token requests in 30 seconds") }
            let isSlow = state.random.number(upTo: 10) == 0
            return (.milliseconds(state.random.number(upTo: isSlow ? 50_000 : 3_000)), state.random.number(upTo: 20))
        }
    }

    private func rotate(_ token: String) -> HTTPTransportResponse {
        state.withLock { state in
            guard let user = Self.user(of: token), !state.revoked.contains(user) else { return .invalidGrant }
            if token != state.current[user] {
                guard token == state.previous[user] else {
                    state.violations.append("\(token) was reused")
                    return .invalidGrant
                }
            }
            state.count += 1
            let next = "refresh-\(user)-\(state.count)"
            state.successors[token, default: []].append(next)
            state.previous[user] = token
            state.current[user] = next
            let lifetime = [0, 1, 60, 180, 3_600][state.random.number(upTo: 5)]
            return .json(
                """
                {"access_token":"access-\(user)-\(state.count)","token_type":"Bearer","expires_in":\(lifetime),\
                "refresh_token":"\(next)"}
                """
            )
        }
    }

    private static func user(of token: String) -> Int? {
        let parts = token.split(separator: "-")
        return parts.count == 3 ? Int(parts[1]) : nil
    }
}

extension HTTPTransportResponse {
    fileprivate static var invalidGrant: Self {
        Self(
            status: 400,
            headers: ["Content-Type": "application/json"],
            body: Data(#"{"error":"invalid_grant"}"#.utf8)
        )
    }
}

/// A store that records every refresh token written to it.
private final class WitnessedStore: TokenStore {
    private let store: InMemoryTokenStore
    private let state = Mutex<(written: Set<String>, key: String?, isSignedOut: Bool)>(([], nil, false))

    @TaskLocal static var isSigningOut = false

    /// A Boolean value that indicates whether a sign-out has reached the store; memory is cleared
    /// by then.
    var isSignedOut: Bool {
        get { state.withLock { $0.isSignedOut } }
        set { state.withLock { $0.isSignedOut = newValue } }
    }

    init(_ timeSource: TimeSource) { store = InMemoryTokenStore(timeSource: timeSource) }

    /// The refresh token in the store.
    var refreshToken: String? {
        guard let key = state.withLock({ $0.key }) else { return nil }
        return store.load(key)?.record.refreshToken?.expose { $0 }
    }

    func hasWritten(_ token: String) -> Bool { state.withLock { $0.written.contains(token) } }

    func load(_ key: String) -> VersionedTokenRecord? { store.load(key) }

    func compareAndSwap(
        _ key: String,
        expectedVersion: TokenRecordVersion?,
        record: TokenRecord
    ) -> TokenRecordVersion? {
        guard let version = store.compareAndSwap(key, expectedVersion: expectedVersion, record: record) else {
            return nil
        }
        state.withLock { state in
            state.key = key
            if let token = record.refreshToken { state.written.insert(token.expose { $0 }) }
        }
        return version
    }

    func remove(_ key: String, ifVersion version: TokenRecordVersion) -> Bool { store.remove(key, ifVersion: version) }

    func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        if Self.isSigningOut { isSignedOut = true }
        return try await store.withExclusiveAccess(to: key, timeout: timeout, body)
    }
}
