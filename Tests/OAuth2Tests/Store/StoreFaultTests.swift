import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestTurns
import Testing

/// Every call of the store that a rotation makes goes wrong in every way, alone and in pairs, at a server that revokes the whole family of
/// refresh tokens when one comes a second time.
///
/// `STORE_FAULTS=all` tries every pair of them.
@Suite("Rotations with a store that fails", .timeLimit(.minutes(30)), .turns)
struct StoreFaultTests {
    /// A rotation makes five calls; one that something went wrong with makes a few more.
    private static let calls = 9

    private static let pairs: [[Int: StoreFault]] = (1...calls).flatMap { first in
        (first...calls).flatMap { second in
            StoreFault.allCases.flatMap { one in
                // The pairs of a call with itself are the single faults.
                first == second ? [[first: one]] : StoreFault.allCases.map { [first: one, second: $0] }
            }
        }
    }

    /// All of them with `STORE_FAULTS=all`; otherwise the single ones, and every seventeenth pair.
    private static let plans: [[Int: StoreFault]] = {
        if ProcessInfo.processInfo.environment["STORE_FAULTS"] == "all" { return pairs }
        return pairs.enumerated().filter { $0.element.count == 1 || $0.offset.isMultiple(of: 17) }.map(\.element)
    }()

    @Test("In memory: faults of every call, alone and in pairs, cost no family", arguments: Way.allCases, [0, 1])
    func inMemory(way: Way, rotation: Int) async throws {
        var lost: [[Int: StoreFault]] = []
        var unreached = 0
        for plan in Self.plans {
            let time = ManualTime()
            let scene = Scene(InMemoryTokenStore(timeSource: time.timeSource), time: time)
            if try await !scene.survives(plan, way, after: rotation) { lost.append(plan) }
            if scene.reached < plan.keys.max() ?? 0 { unreached += 1 }
        }
        #expect(lost.isEmpty, "\(lost.count) of \(Self.plans.count) families: \(lost.prefix(5))")
        // The table is about calls that are made.
        #expect(unreached == 0)
    }

    @Test("In files: every fault, and every two in sequence, cost no family", arguments: Way.allCases)
    func inFiles(way: Way) async throws {
        let plans = Self.plans.filter { plan in plan.count == 1 || (plan.keys.max() ?? 0) - (plan.keys.min() ?? 0) == 1
        }
        try await withTemporaryDirectory { directory in
            var lost: [[Int: StoreFault]] = []
            for (number, plan) in plans.enumerated() {
                let time = ManualTime()
                let store = try FileTokenStore(
                    directory: directory.appending(path: "\(number)"),
                    timeSource: time.timeSource
                )
                if try await !Scene(store, time: time).survives(plan, way, after: 1) { lost.append(plan) }
            }
            #expect(lost.isEmpty, "\(lost.count) of \(plans.count) families: \(lost.prefix(5))")
        }
    }

    /// Who needs a token, and who needs the next one.
    enum Way: CaseIterable {
        /// An authenticator, and the same again.
        case authenticator
        /// An authenticator, and another that has the same store, at once.
        case anotherAuthenticator
        /// A source without a cache, in whose task the store is called; and the same again.
        case source
    }

    /// A family of refresh tokens, a store of theirs, and those who use it.
    private final class Scene<Base: TokenStore>: Sendable {
        private let family = TokenFamily()
        private let time: ManualTime
        private let store: FaultyStore<Base>
        private let caller = CallerBox()
        private let endpoint: MockTransport

        init(_ base: Base, time: ManualTime) {
            self.time = time
            store = FaultyStore(base) { [caller] in caller.cancel() }
            endpoint = MockTransport { [family] in family.answer($0) }
        }

        /// How many calls the store got since its plan was made, before anybody else used it.
        var reached: Int { caller.reached }

        /// Whether everybody has a token in the end, and the family lives.
        func survives(_ plan: [Int: StoreFault], _ way: Way, after rotations: Int) async throws -> Bool {
            let first = source(way, store: store)
            for _ in 0..<rotations {
                _ = try await first.token(for: TokenNeed())
                time.advance(by: .seconds(3_600))
            }
            store.plan(plan)
            var token = await call { try await first.token(for: TokenNeed()) }
            let next = way == .anotherAuthenticator ? source(way, store: store) : first
            for _ in 1...6 {
                // Nobody waits for another token longer than for the time of some flights.
                for _ in 1...12 where token == nil { token = await again { try await next.token(for: TokenNeed()) } }
                guard token != nil, !family.isRevoked else { break }
                try await passAnHour()
                token = nil
            }
            caller.reached = store.callCount
            // Somebody who comes later, and has nothing but the store, goes on with the chain.
            store.plan([:])
            for _ in 1...12 where token == nil { token = await again { try await first.token(for: TokenNeed()) } }
            let later = source(.authenticator, store: store.base)
            try await passAnHour()
            var last: AccessToken?
            for _ in 1...12 where last == nil { last = await again { try await later.token(for: TokenNeed()) } }
            while time.sleeperCount > 0 {
                _ = time.advanceToNextSleeper()
                await Task.yield()
            }
            if family.isRevoked { Issue.record("a family was revoked: \(plan)") }
            return token != nil && last != nil && !family.isRevoked
        }

        /// Makes a call, a while after one that has failed: by then nobody is left alone any more.
        private func again(_ body: @escaping @Sendable () async throws -> AccessToken) async -> AccessToken? {
            time.advance(by: .seconds(5))
            return await call(body)
        }

        /// Lets time pass for everybody: what the store has not taken is brought to it before the hour is over.
        private func passAnHour() async throws {
            for _ in 1...600 {
                let stored = try await store.base.load(store.key ?? "")?.record.refreshToken
                if stored == nil || stored == family.current { break }
                time.advance(by: .seconds(1))
                try await Task.sleep(for: .milliseconds(3))
            }
            time.advance(by: .seconds(3_600))
        }

        /// Makes a call, and lets time pass while everybody only waits.
        private func call(_ body: @escaping @Sendable () async throws -> AccessToken) async -> AccessToken? {
            let task = Task { try await body() }
            caller.set(task)
            let isOver = Mutex(false)
            let watch = Task {
                _ = await task.result
                isOver.withLock { $0 = true }
            }
            while !isOver.withLock({ $0 }) {
                for _ in 1...40 where !isOver.withLock({ $0 }) { await Task.yield() }
                // Whoever has something to do gets a moment for it before time goes on.
                if !isOver.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(3)) }
                guard !isOver.withLock({ $0 }), !store.isBusy else { continue }
                if time.advanceToNextSleeper() == nil, store.isHanging { task.cancel() }
            }
            await watch.value
            return try? await task.value
        }

        private func source(_ way: Way, store: some TokenStore) -> any TokenSource {
            let source = GrantTokenSource(
                server: Realm.server,
                clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret("s3cret")),
                grant: RefreshTokenGrant(refreshToken: Secret("r0")),
                store: store,
                // On a clock of its own: what is lost here is the store's doing, not a slow answer's.
                client: NetworkClient(transport: endpoint),
                options: .init(timeSource: time.timeSource, random: { 1 })
            )
            return way == .source
                ? source : CachedTokenSource(source, options: .init(timeSource: time.timeSource, random: { 1 }))
        }
    }

    /// The task of whoever needs a token.
    private final class CallerBox: Sendable {
        private let state = Mutex<(task: Task<AccessToken, any Error>?, reached: Int)>((nil, 0))

        var reached: Int {
            get { state.withLock { $0.reached } }
            set { state.withLock { $0.reached = newValue } }
        }

        func set(_ task: Task<AccessToken, any Error>) { state.withLock { $0.task = task } }
        func cancel() { state.withLock { $0.task }?.cancel() }
    }
}

/// The refresh tokens that come of one grant: `r0`, `r1`, …, each good for one use, and all revoked when one is used twice.
final class TokenFamily: Sendable {
    private let state = Mutex((current: 0, isRevoked: false))

    /// The token that is good now.
    var current: Secret { Secret("r\(state.withLock { $0.current })") }
    var isRevoked: Bool { state.withLock { $0.isRevoked } }

    func answer(_ request: HTTPTransportRequest) -> HTTPTransportResponse {
        let form = FormURLEncoded.decode(String(decoding: request.bodyData() ?? Data(), as: UTF8.self)) ?? []
        let token = form.first { $0.name == "refresh_token" }?.value
        let number: Int? = state.withLock { state in
            guard token == "r\(state.current)", !state.isRevoked else {
                state.isRevoked = true
                return nil
            }
            state.current += 1
            return state.current
        }
        guard let number else {
            return HTTPTransportResponse(status: 400, body: Data(#"{"error":"invalid_grant"}"#.utf8))
        }
        return .json(
            #"{"access_token":"a\#(number)","token_type":"Bearer","expires_in":3600,"refresh_token":"r\#(number)"}"#
        )
    }
}
