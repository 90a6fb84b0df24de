import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestSupport
import Testing

/// Tests of faults in every store call of a rotation, alone and in pairs, with a server that
/// revokes the whole family of refresh tokens when one is reused.
///
/// Each test runs in its own process, where the clock advances only when all tasks wait.
/// `STORE_FAULTS=all` tries every pair.
@Suite("Rotations with a failing store", .limitedConcurrency(timeLimit: .seconds(1800)), .tags(.concurrency))
struct StoreFaultTests {
    /// A rotation makes five calls, and a few more after a fault.
    private static let calls = 9

    private static let pairs: [[Int: StoreFault]] = (1...calls).flatMap { first in
        (first...calls).flatMap { second in
            StoreFault.allCases.flatMap { one in
                // The pairs of a call with itself are the single faults.
                first == second ? [[first: one]] : StoreFault.allCases.map { [first: one, second: $0] }
            }
        }
    }

    /// All pairs with `STORE_FAULTS=all`; otherwise the single faults and every 31st pair.
    private static let plans: [[Int: StoreFault]] = {
        if ProcessInfo.processInfo.environment["STORE_FAULTS"] == "all" { return pairs }
        return pairs.enumerated().filter { $0.element.count == 1 || $0.offset.isMultiple(of: 31) }.map(\.element)
    }()

    #if compiler(>=6.3)  // Swift 6.2 doesn't capture values in exit tests.
        @Test(
            "Faults of an in-memory store, alone and in pairs, cost no family",
            .shows("S1"),
            arguments: Way.allCases,
            [0, 1]
        )
        func inMemory(way: Way, rotation: Int) async {
            await #expect(processExitsWith: .success) { [way = way as Way, rotation = rotation as Int] in
                try await StoreFaultTests.play(StoreFaultTests.plans, way, after: rotation) { _, timeSource in
                    InMemoryTokenStore(timeSource: timeSource)
                }
            }
        }

        @Test("Faults of a file store, alone and in sequence, cost no family", .shows("S1"), arguments: Way.allCases)
        func inFiles(way: Way) async {
            await #expect(processExitsWith: .success) { [way = way as Way] in
                let plans = StoreFaultTests.plans.filter { plan in
                    plan.count == 1 || (plan.keys.max() ?? 0) - (plan.keys.min() ?? 0) == 1
                }
                try await withTemporaryDirectory { directory in
                    try await StoreFaultTests.play(plans, way, after: 1) { number, timeSource in
                        try FileTokenStore(directory: directory.appending(path: "\(number)"), timeSource: timeSource)
                    }
                }
            }
        }
    #endif

    /// Runs a scene for each plan, each with its own store.
    private static func play(
        _ plans: [[Int: StoreFault]],
        _ way: Way,
        after rotations: Int,
        store: (_ number: Int, TimeSource) throws -> some TokenStore
    ) async throws {
        var endings: [Ending: [[Int: StoreFault]]] = [:]
        for (number, plan) in plans.enumerated() {
            let time = ManualTime()
            let scene = Scene(try store(number, time.timeSource), time: time)
            endings[try await scene.play(plan, way, after: rotations, seed: number), default: []].append(plan)
        }
        for (ending, plans) in endings where ending != .token {
            Issue.record("\(ending), \(plans.count) in total: \(plans.prefix(5))")
        }
    }

    /// The clients that need a token, and those that need the next one.
    enum Way: String, CaseIterable, Codable {
        /// The same authenticator for both.
        case authenticator
        /// An authenticator, and at the same time another with the same store.
        case anotherAuthenticator
        /// The same uncached source for both, which calls the store in its caller's task.
        case source
    }

    /// The end of a scene.
    private enum Ending {
        /// Every client has a token, and the family isn't revoked.
        case token
        case noToken, noTokenLater, familyRevoked
        /// The planned fault is in a call that isn't made.
        case callNotReached
        /// A call of the store hangs and is never cancelled.
        case callHangsForGood
    }

    /// A family of refresh tokens, its store and the clients that use it.
    private final class Scene<Base: TokenStore>: Sendable {
        private let family = TokenFamily()
        private let time: ManualTime
        private let store: FaultyStore<Base>
        private let caller = Caller()
        private let client: NetworkClient

        init(_ base: Base, time: ManualTime) {
            self.time = time
            store = FaultyStore(base) { [caller] in caller.cancel() }
            client = NetworkClient(
                transport: MockTransport(time: time.timeSource) { [family] in family.answer($0) },
                options: .init(timeSource: time.timeSource)
            )
        }

        func play(_ plan: [Int: StoreFault], _ way: Way, after rotations: Int, seed: Int) async throws -> Ending {
            let executor = OneThreadExecutor.shared
            let ending = try await executor.run(seed: seed) {
                try await self.rotate(plan, way, after: rotations)
            } whenAllWait: { [store, time, caller] in
                // Files are read and written on other threads.
                if store.isBusy {
                    executor.waitForJob()
                    return true
                }
                // A caller that nothing else can resume gives up.
                return time.advanceToNextSleeper() != nil || caller.giveUp()
            }
            return store.isHanging ? .callHangsForGood : ending
        }

        private func rotate(_ plan: [Int: StoreFault], _ way: Way, after rotations: Int) async throws -> Ending {
            let first = source(way)
            for _ in 0..<rotations {
                _ = try await first.token(for: TokenRequirements())
                try await time.sleep(for: .seconds(3_600))
            }
            store.plan(plan)
            var token = await call(first)
            let next = way == .anotherAuthenticator ? source(way) : first
            for _ in 1...3 {
                if token == nil { token = try await callAgain(next) }
                guard token != nil, !family.isRevoked else { break }
                // Within the hour, the background task saves records that the store couldn't take.
                try await time.sleep(for: .seconds(3_600))
                token = nil
            }
            let isReached = store.callCount >= plan.keys.max() ?? 0
            // A later client that has only the store continues the chain.
            store.plan([:])
            if token == nil { token = try await callAgain(first) }
            try await time.sleep(for: .seconds(3_600))
            let last = try await callAgain(source(.authenticator))
            if family.isRevoked { return .familyRevoked }
            guard token != nil else { return .noToken }
            guard last != nil else { return .noTokenLater }
            return isReached ? .token : .callNotReached
        }

        /// Calls until there is a token, with a delay before each call. A client gets one within
        /// the time of a few requests.
        private func callAgain(_ source: any TokenSource) async throws -> AccessToken? {
            for _ in 1...12 {
                try await time.sleep(for: .seconds(5))
                if let token = await call(source) { return token }
            }
            return nil
        }

        private func call(_ source: any TokenSource) async -> AccessToken? {
            await caller.value { try await source.token(for: TokenRequirements()) }
        }

        private func source(_ way: Way) -> any TokenSource {
            let source = GrantTokenSource(
                client: OAuth2Client(
                    server: OAuth2Fixture.server,
                    clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret("s3cret")),
                    client: client,
                    timing: .init(timeSource: time.timeSource, random: { 1 })
                ),
                grant: RefreshTokenGrant(refreshToken: Secret("r0")),
                store: store
            )
            return way == .source
                ? source : CachedTokenSource(source, timing: .init(timeSource: time.timeSource, random: { 1 }))
        }
    }

    /// The task that needs a token.
    private final class Caller: Sendable {
        private let task = Mutex<Task<AccessToken, any Error>?>(nil)

        func value(_ body: @escaping @Sendable () async throws -> AccessToken) async -> AccessToken? {
            let task = Task { try await body() }
            self.task.withLock { $0 = task }
            defer { self.task.withLock { $0 = nil } }
            return try? await task.value
        }

        func cancel() { task.withLock { $0 }?.cancel() }

        /// Cancels the task once, and returns whether there was one.
        func giveUp() -> Bool {
            let task = task.withLock { $0.take() }
            task?.cancel()
            return task != nil
        }
    }
}

/// The refresh tokens of one grant: `r0`, `r1`, …, each valid for one use. All are revoked when one
/// is reused.
final class TokenFamily: Sendable {
    private let state = Mutex((current: 0, isRevoked: false))

    /// The valid token.
    var current: Secret { Secret("r\(state.withLock { $0.current })") }
    var isRevoked: Bool { state.withLock { $0.isRevoked } }

    func answer(_ request: HTTPRequest) -> HTTPTransportResponse {
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
