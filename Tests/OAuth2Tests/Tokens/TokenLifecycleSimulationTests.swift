import Foundation
import Networking
import TestSupport
import Testing

@testable import OAuth2

/// Random interleavings of callers, rejections, failures, sign-outs and time, with a server that
/// rotates refresh tokens.
///
/// `LIVES=10000` runs more than the default of 1,200 lives.
@Suite("TokenLifecycle: simulation", .limitedConcurrency, .tags(.concurrency))
struct TokenLifecycleSimulationTests {
    @Test("Random lives never violate the guarantees", arguments: 0..<3)
    func lives(part: Int) throws {
        let count = ProcessInfo.processInfo.environment["LIVES"].flatMap { Int($0) } ?? 1_200
        for seed in stride(from: part, to: count, by: 3) {
            var simulation = Simulation(seed: UInt64(seed))
            simulation.run(steps: 120)
            try #require(simulation.violations.isEmpty, "seed \(seed): \(simulation.violations)")
        }
    }

    @Test("The simulation covers every case")
    func coverage() {
        var seen: Set<String> = []
        for seed in 0..<200 {
            var simulation = Simulation(seed: UInt64(seed))
            simulation.run(steps: 120)
            seen.formUnion(simulation.seen)
        }
        let expected: Set<String> = [
            "issued", "found", "waited", "joined", "background", "paused", "cancelled", "overdue", "late", "transient",
            "lost answer", "dead", "signed out", "superseded", "rejected", "storm", "fresh rejected",
        ]
        #expect(expected.subtracting(seen).isEmpty, "never happened: \(expected.subtracting(seen))")
    }
}

/// A world around one lifecycle: waiting callers, refreshes that take time, a store and a server.
private struct Simulation {
    private enum Stage { case waitingForSection, asking(token: Int) }

    private struct Flight {
        let id: TokenLifecycle.RefreshID
        var stage: Stage
        /// The time of the next step.
        var next: ContinuousClock.Instant
        var isLive = true
    }

    private struct Waiter {
        let flight: TokenLifecycle.RefreshID
        let deadline: ContinuousClock.Instant
    }

    private(set) var violations: [String] = []
    private(set) var seen: Set<String> = []
    private var life = TokenLifecycle()
    private var random: SplitMix
    private var now = ContinuousClock.now
    private var flights: [Flight] = []
    private var waiters: [Int: Waiter] = [:]
    private var served = 0
    private var asked = 0
    private var cancelled = 0
    private var starts: [ContinuousClock.Instant] = []
    /// The refresh that holds the store's lock.
    private var section: Int?
    /// The contents of the store: the number of the refresh token, and the access token issued with
    /// it.
    private var stored: (refresh: Int, access: AccessToken?)
    private var current = 0
    private var usedTokens: Set<Int> = []
    private var lastToken = 0
    private var epochOfToken: [Secret: Int] = [:]
    private var sentTokens: [Secret] = []
    private var isSignedOut = false
    /// A Boolean value that indicates whether the grant was revoked at the server.
    private var isRevoked = false

    private let isHectic: Bool
    private var pace: Int { isHectic ? 300 : 2_000 }

    init(seed: UInt64) {
        random = SplitMix(state: seed)
        isHectic = seed.isMultiple(of: 2)
        stored = (0, nil)
    }

    mutating func run(steps: Int) {
        for _ in 1...steps {
            // Some worlds are hectic, and in all of them time sometimes leaps ahead.
            now += .milliseconds(
                Int64(random.number(upTo: random.number(upTo: isHectic ? 60 : 8) == 0 ? 40_000 : pace))
            )
            land()
            leave()
            switch random.number(upTo: 20) {
            case 0..<10: acquire()
            case 10..<14: refuse()
            case 14..<16: cancelOne()
            case 16 where random.number(upTo: 6) == 0: signOut()
            case 17: if isSignedOut { signIn() }
            default: break
            }
            check()
        }
        drain()
    }

    // MARK: Callers

    private mutating func acquire() {
        asked += 1
        switch life.acquire(at: now) {
        case .use(let token): serve(token)
        case .useAndStart(let token, let id):
            seen.insert("background")
            start(id)
            serve(token)
        case .start(let id):
            seen.insert("waited")
            start(id)
            wait(for: id)
        case .join(let id):
            seen.insert("joined")
            wait(for: id)
        case .pause(let until, _):
            seen.insert("paused")
            if until <= now { violations.append("a backoff that ends in the past") }
            served += 1
        case .fail: served += 1
        }
    }

    private mutating func serve(_ token: AccessToken) {
        served += 1
        if epochOfToken[token.value] != life.epoch { violations.append("a token of another epoch was returned") }
        sentTokens.append(token.value)
        if sentTokens.count > 12 { sentTokens.removeFirst() }
    }

    private mutating func wait(for id: TokenLifecycle.RefreshID) {
        waiters[asked] = Waiter(flight: id, deadline: now + .seconds(Int64(1 + random.number(upTo: 60))))
    }

    private mutating func refuse() {
        guard let token = sentTokens.randomElement(using: &random) else { return }
        let errors = Array(repeating: ServerError(endpoint: nil, errorCode: 401), count: random.number(upTo: 3))
        let state = Retry.State(authenticationErrors: errors, started: now - .seconds(Int64(random.number(upTo: 3))))
        let before = life.held?.isRejected
        let request = TokenLifecycle.RefusedRequest(
            token.fingerprint,
            origin: "api",
            earlier: errors.count,
            state: state
        )
        let isCurrent = life.held?.token.value == token
        switch life.refused(request, at: now) {
        case .retry:
            if !isCurrent, before == false, life.held?.isRejected == true {
                violations.append("an older token's rejection affected the current one")
            }
            seen.insert(isCurrent ? "rejected" : "superseded")
        case .noRetry(.custom(let error as OAuth2Error)):
            if error.code == .excessiveRefresh { seen.insert("storm") }
            if error.code == .freshTokenRejected { seen.insert("fresh rejected") }
        default: break
        }
    }

    private mutating func cancelOne() {
        guard let waiter = waiters.keys.sorted().randomElement(using: &random) else { return }
        waiters[waiter] = nil
        cancelled += 1
        seen.insert("cancelled")
    }

    /// Removes the waiters whose deadline, or whose refresh's deadline, has passed.
    private mutating func leave() {
        for (waiter, state) in waiters where now >= state.deadline || now >= state.flight.deadline {
            waiters[waiter] = nil
            served += 1
        }
    }

    private mutating func signOut() {
        life.signedOut(with: .signedOut)
        isSignedOut = true
        seen.insert("signed out")
        for (waiter, _) in waiters {
            waiters[waiter] = nil
            served += 1
        }
    }

    private mutating func signIn() {
        // A sign-in waits for the lock, because it replaces what the current holder writes.
        guard section == nil else { return }
        life.signedIn()
        isSignedOut = false
        isRevoked = false
        lastToken += 1
        stored = (lastToken, nil)
        current = lastToken
    }

    // MARK: Refresh

    private mutating func start(_ id: TokenLifecycle.RefreshID) {
        let live = flights.filter { $0.isLive && $0.id.epoch == id.epoch && now < $0.id.deadline }
        if !live.isEmpty { violations.append("two concurrent refreshes, replacing \(id.replacing)") }
        if id.replacing != life.generation { violations.append("a refresh for an earlier generation") }
        flights.append(Flight(id: id, stage: .waitingForSection, next: now))
        starts.append(now)
    }

    /// Advances every refresh as far as the time allows.
    private mutating func land() {
        for index in flights.indices where flights[index].isLive && now >= flights[index].next {
            switch flights[index].stage {
            case .waitingForSection:
                guard section == nil else { continue }
                section = flights[index].id.number
                enter(index)
            case .asking(let token):
                answer(index, token)
                section = nil
            }
        }
        flights.removeAll { !$0.isLive }
    }

    private mutating func enter(_ index: Int) {
        if let access = stored.access, !life.isKnown(access.value.fingerprint), flights[index].id.epoch == life.epoch,
            access.expiry.map({ now < $0 }) ?? true
        {
            seen.insert("found")
            var token = access
            token.isFound = true
            epochOfToken[token.value] = flights[index].id.epoch
            section = nil
            finish(index, .success(token))
            return
        }
        flights[index].stage = .asking(token: stored.refresh)
        let slow = random.number(upTo: 12) == 0
        flights[index].next = now + .milliseconds(Int64(random.number(upTo: slow ? 70_000 : pace)))
    }

    private mutating func answer(_ index: Int, _ token: Int) {
        let outcome = random.number(upTo: 20)
        guard outcome >= 4 else {
            seen.insert("transient")
            finish(index, .failure(OAuth2Error(.serverTransient, "overloaded")))
            return
        }
        guard token == current else {
            seen.insert("dead")
            finish(index, .failure(OAuth2Error(.reauthenticationRequired, "ended")))
            return
        }
        guard outcome >= 5 else {
            // The server accepts the token again after a lost response.
            seen.insert("lost answer")
            finish(index, .failure(OAuth2Error(.serverUnreachable, "cut")))
            return
        }
        if outcome == 19 {
            // The grant is revoked.
            isRevoked = true
            lastToken += 1
            current = lastToken
            finish(index, .failure(OAuth2Error(.reauthenticationRequired, "ended")))
            seen.insert("dead")
            return
        }
        if !usedTokens.insert(token).inserted { violations.append("the refresh token \(token) was used twice") }
        lastToken += 1
        current = lastToken
        let lifetimes = [0, 1, 59, 180, 3_600]
        let lifetime = lifetimes[random.number(upTo: lifetimes.count)]
        let access = AccessToken(
            value: Secret("access-\(lastToken)"),
            expiry: now + .seconds(Int64(lifetime)),
            requested: now
        )
        epochOfToken[access.value] = flights[index].id.epoch
        // Written before any caller gets it, regardless of the state of the refresh.
        if flights[index].id.epoch == life.epoch || stored.refresh == token { stored = (lastToken, access) }
        seen.insert("issued")
        finish(index, .success(access))
    }

    private mutating func finish(_ index: Int, _ result: Result<AccessToken, OAuth2Error>) {
        let id = flights[index].id
        flights[index].isLive = false
        let epoch = life.epoch
        let isOverdue = now >= id.deadline
        if isOverdue { seen.insert("overdue") }
        switch result {
        case .success(let token):
            let generation = life.generation
            let isTaken = life.landed(id, with: token, at: now, jitter: random.share())
            if isTaken, id.epoch != epoch { violations.append("a token was published after the sign-out") }
            if isTaken, life.generation != generation + 1 { violations.append("a generation was skipped") }
            if !isTaken { seen.insert("late") }
        case .failure(let error):
            life.failed(id, with: error, at: now, jitter: random.share())
        }
        for (waiter, state) in waiters where state.flight == id {
            waiters[waiter] = nil
            served += 1
        }
    }

    // MARK: Guarantees

    private mutating func check() {
        let window = starts.filter { now - $0 <= .seconds(30) }
        // At most one a second while tokens arrive, plus those that the backoff's jitter allows.
        if window.count > 45 { violations.append("\(window.count) refreshes in 30 seconds") }
        if isSignedOut, life.isUsable(at: now) { violations.append("a token is usable after the sign-out") }
        for waiter in waiters.values where !flights.contains(where: { $0.id == waiter.flight }) {
            violations.append("a waiter of a refresh that doesn't exist")
        }
    }

    /// Lets all time pass, so that every waiting caller gets a result.
    private mutating func drain() {
        for _ in 1...50 {
            now += .seconds(10)
            land()
            leave()
        }
        if !waiters.isEmpty { violations.append("\(waiters.count) waiters were forgotten") }
        if served + cancelled != asked { violations.append("\(asked) asked, \(served) served, \(cancelled) cancelled") }
        if !isRevoked, stored.refresh != current { violations.append("the refresh token was lost") }
    }
}
