import Foundation
import Networking
import TestSupport
import Testing

private typealias Cache = SingleFlightCache<Int, Int>

/// The decisions of a cache about one key.
@Suite("SingleFlightCache.Entry", .computing, .tags(.concurrency))
struct SingleFlightEntryTests {
    private struct Failure: Error {}

    /// Values live for 100 s and may be used for 50 s more; failures are followed by pauses of 10
    /// s.
    private func policy(waits: Bool = false, keeps: Bool = true) -> Cache.Policy {
        var policy = Cache.Policy()
        policy.staleLifetime = .seconds(50)
        policy.pause = { _, _ in .seconds(10) }
        policy.cooldown = .seconds(30)
        policy.keepsOutcomes = keeps
        if !waits { policy.refresh = (.seconds(20), { _ in 0 }) }
        return policy
    }

    private func entry(
        _ success: Int?,
        _ failure: Int?,
        _ start: ContinuousClock.Instant,
        _ policy: Cache.Policy
    ) -> Cache.Entry {
        var entry = Cache.Entry(at: start)
        if let success { entry = Cache.Entry(7, lifetime: .seconds(100), at: start + .seconds(success), policy) }
        if let failure { entry.fail(Failure(), at: start + .seconds(failure), policy) }
        return entry
    }

    private func name(_ step: Cache.Entry.Step) -> String {
        switch step {
        case .use(let value): value == 7 ? "use" : "another value"
        case .useAndStart(let value): value == 7 ? "use and start" : "another value"
        case .wait: "wait"
        case .fail(let error): error is Failure ? "fail" : "another error"
        }
    }

    @Test(
        "Decides for a caller by the latest outcome, its age and the running work",
        arguments: [
            (nil, nil, 0, "wait", "wait"),
            (nil, 0, 9, "fail", "wait"), (nil, 0, 10, "wait", "wait"),
            (0, nil, 0, "use", "use"), (0, nil, 79, "use", "use"), (0, nil, 80, "use and start", "use"),
            (0, nil, 99, "use and start", "use"), (0, nil, 100, "wait", "wait"), (0, nil, 149, "wait", "wait"),
            (0, nil, 150, "wait", "wait"),
            (0, 80, 89, "use", "use"), (0, 80, 90, "use and start", "use"), (0, 80, 100, "use and start", "use"),
            (0, 100, 109, "use", "use"), (0, 100, 110, "use and start", "use"), (0, 100, 149, "use and start", "use"),
            (0, 100, 150, "wait", "wait"),
            (0, 145, 149, "use", "use"), (0, 145, 150, "fail", "wait"), (0, 145, 155, "wait", "wait"),
        ] as [(Int?, Int?, Int, String, String)]
    )
    func background(success: Int?, failure: Int?, seconds: Int, idle: String, running: String) {
        let (start, policy) = (ContinuousClock.Instant.now, policy())
        let entry = entry(success, failure, start, policy)
        #expect(name(entry.step(at: start + .seconds(seconds), isRunning: false, policy)) == idle)
        #expect(name(entry.step(at: start + .seconds(seconds), isRunning: true, policy)) == running)
    }

    @Test(
        "Without work in the background, callers wait from the end of the lifetime, except in a pause",
        arguments: [
            (0, nil, 99, "use"), (0, nil, 100, "wait"), (0, 100, 109, "use"), (0, 100, 110, "wait"),
            (0, 145, 149, "use"), (0, 145, 150, "fail"), (nil, 0, 9, "fail"),
        ] as [(Int?, Int?, Int, String)]
    )
    func waiting(success: Int?, failure: Int?, seconds: Int, step: String) {
        let (start, policy) = (ContinuousClock.Instant.now, policy(waits: true))
        let entry = entry(success, failure, start, policy)
        #expect(name(entry.step(at: start + .seconds(seconds), isRunning: false, policy)) == step)
    }

    @Test(
        "If outcomes aren't kept, a failure delays only callers with a value",
        arguments: [(0, 100, 109, "use"), (0, 145, 150, "wait"), (nil, 0, 5, "wait")] as [(Int?, Int?, Int, String)]
    )
    func forgetting(success: Int?, failure: Int?, seconds: Int, step: String) {
        let (start, policy) = (ContinuousClock.Instant.now, policy(waits: true, keeps: false))
        let entry = entry(success, failure, start, policy)
        #expect(name(entry.step(at: start + .seconds(seconds), isRunning: false, policy)) == step)
    }

    @Test(
        "A caller that needs another value waits for work after the cooldown or the pause",
        arguments: [
            (nil, nil, 0, "wait", "wait"), (nil, 0, 9, "fail", "wait"), (nil, 0, 10, "wait", "wait"),
            (0, nil, 29, "use", "wait"), (0, nil, 30, "wait", "wait"), (0, 40, 49, "fail", "wait"),
            (0, 40, 50, "wait", "wait"),
        ] as [(Int?, Int?, Int, String, String)]
    )
    func another(success: Int?, failure: Int?, seconds: Int, idle: String, running: String) {
        let (start, policy) = (ContinuousClock.Instant.now, policy())
        let (entry, now) = (entry(success, failure, start, policy), start + .seconds(seconds))
        #expect(name(entry.step(at: now, isRunning: false, unless: { _ in true })) == idle)
        #expect(name(entry.step(at: now, isRunning: true, unless: { _ in true })) == running)
        guard success != nil else { return }
        #expect(name(entry.step(at: now, isRunning: true, unless: { _ in false })) == "use")
    }

    @Test("A failure without a pause ends the one before")
    func reportedFailure() {
        var policy = policy()
        let start = ContinuousClock.Instant.now
        var entry = entry(0, 100, start, policy)
        #expect(entry.failure != nil)
        policy.pause = { _, _ in nil }
        entry.fail(Failure(), at: start + .seconds(110), policy)
        #expect(entry.failure == nil)
        #expect(name(entry.step(at: start + .seconds(110), isRunning: false, policy)) == "wait")
    }

    /// `LIVES=100000` runs more than the default of 2,000 lives.
    @Test("Random callers, values, failures and times never violate the guarantees", arguments: 0..<2)
    func lives(part: Int) throws {
        let count = ProcessInfo.processInfo.environment["LIVES"].flatMap { Int($0) } ?? 2_000
        var runs = 0
        for seed in stride(from: part, to: count, by: 2) {
            var simulation = EntrySimulation(seed: UInt64(seed))
            simulation.run(steps: 150)
            try #require(simulation.violations.isEmpty, "seed \(seed): \(simulation.violations)")
            runs += simulation.runs
        }
        #expect(runs > count)
    }
}

/// An entry with the policy of a set of keys.
private struct EntrySimulation {
    private struct Failure: Error {
        let retryAfter: Duration?
    }

    private struct Attempt {
        let ended: ContinuousClock.Instant
        /// The lifetime of the value that the attempt brought; `nil` if it failed.
        let lifetime: Duration?
        let retryAfter: Duration?
    }

    private(set) var violations: [String] = []
    private(set) var runs = 0

    private var policy = Cache.Policy()
    private let ahead: Duration
    private var entry: Cache.Entry
    private var now = ContinuousClock.Instant.now
    private var random: Seeded
    private var isRunning = false
    private var latest: (value: Int, landed: ContinuousClock.Instant, lifetime: Duration)?
    private var attempt: Attempt?

    init(seed: UInt64) {
        random = Seeded(state: seed)
        ahead = .seconds(Int.random(in: 0...60, using: &random))
        let cooldown = Duration.seconds(Int.random(in: 1...60, using: &random))
        policy.refresh = (ahead, { _ in 0 })
        policy.cooldown = cooldown
        policy.staleLifetime = .seconds(Int.random(in: 0...600, using: &random))
        policy.pause = { error, number in
            let asked = min((error as? Failure)?.retryAfter ?? .zero, .seconds(300))
            return Retry.Backoff.doubling(.seconds(1), to: cooldown).delay(retry: number, atLeast: asked)
        }
        policy.keepsOutcomes = true
        entry = Cache.Entry(at: now)
    }

    mutating func run(steps: Int) {
        for _ in 0..<steps {
            switch Int.random(in: 0..<10, using: &random) {
            case 0...3: now += .milliseconds(Int.random(in: 0...40_000, using: &random))
            case 4: now += .seconds(Int.random(in: 0...900, using: &random))
            case 5, 6: call()
            case 7: callForAnother()
            default: end()
            }
        }
    }

    private mutating func call() {
        switch entry.step(at: now, isRunning: isRunning, policy) {
        case .use(let value):
            check(value == latest?.value, "an old value")
            check(isGood, "an expired value")
        case .useAndStart(let value):
            check(value == latest?.value && isGood, "an expired value")
            check(latest.map { now - $0.landed >= $0.lifetime - min(ahead, $0.lifetime / 2) } ?? false, "early work")
            check(!isRunning, "work twice at once")
            start()
        case .wait:
            check(!isFresh, "waits despite a fresh value")
            check(!isGood || attempt?.lifetime != nil, "waits for a failing server despite a valid value")
            if !isRunning { start() }
        case .fail:
            check(!isGood, "fails despite a valid value")
            check(!isRunning && attempt?.lifetime == nil, "fails without a failure")
        }
    }

    private mutating func callForAnother() {
        guard let latest else { return }
        let seen = max(0, latest.value - Int.random(in: 0...1, using: &random))
        switch entry.step(at: now, isRunning: isRunning, unless: { $0 <= seen }) {
        case .use(let value):
            check(value == latest.value, "an old value")
            check(value > seen || now < (attempt?.ended ?? now) + policy.cooldown, "no work when it's due")
        case .useAndStart: check(false, "continues with a value that doesn't help")
        case .wait:
            check(seen == latest.value, "waits despite a newer value")
            if !isRunning { start() }
        case .fail: check(!isRunning && attempt?.lifetime == nil, "fails without a failure")
        }
    }

    private mutating func start() {
        isRunning = true
        runs += 1
        guard let attempt else { return }
        let pause = now - attempt.ended
        if let lifetime = attempt.lifetime {
            check(pause >= min(policy.cooldown, lifetime - min(ahead, lifetime / 2)), "work twice within the cooldown")
        } else {
            check(pause >= .seconds(1), "no backoff from a failing server")
            check(pause >= min(attempt.retryAfter ?? .zero, .seconds(300)), "ignores the server's delay")
        }
    }

    private mutating func end() {
        guard isRunning else { return }
        isRunning = false
        if Bool.random(using: &random) {
            let lifetime = Duration.seconds(Int.random(in: 60...600, using: &random))
            let value = (latest?.value ?? 0) + 1
            entry = Cache.Entry(value, lifetime: lifetime, at: now, policy)
            latest = (value, now, lifetime)
            attempt = Attempt(ended: now, lifetime: lifetime, retryAfter: nil)
        } else {
            let delay = Bool.random(using: &random) ? Duration.seconds(Int.random(in: 0...600, using: &random)) : nil
            entry.fail(Failure(retryAfter: delay), at: now, policy)
            attempt = Attempt(ended: now, lifetime: nil, retryAfter: delay)
        }
    }

    private var isFresh: Bool { latest.map { now - $0.landed < $0.lifetime } ?? false }

    private var isGood: Bool { latest.map { now - $0.landed < $0.lifetime + policy.staleLifetime } ?? false }

    private mutating func check(_ isKept: Bool, _ promise: String) {
        if !isKept { violations.append(promise) }
    }

    /// SplitMix64.
    private struct Seeded: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var value = state
            value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
            return value ^ (value >> 31)
        }
    }
}
