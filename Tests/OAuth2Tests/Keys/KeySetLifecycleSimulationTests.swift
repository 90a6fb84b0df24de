import Foundation
import TestSupport
import Testing
import TokenGeneration

@testable import OAuth2

/// Random callers, responses, failures and times, checked against the guarantees of a key set.
///
/// `LIVES=100000` runs more than the default of 2,000 lives.
@Suite("KeySetLifecycle: simulation", .limitedConcurrency, .tags(.concurrency))
struct KeySetLifecycleSimulationTests {
    @Test("Random lives never violate the guarantees", arguments: 0..<2)
    func lives(part: Int) throws {
        let count = ProcessInfo.processInfo.environment["LIVES"].flatMap { Int($0) } ?? 2_000
        var fetches = 0
        for seed in stride(from: part, to: count, by: 2) {
            var simulation = KeySetSimulation(seed: UInt64(seed))
            simulation.run(steps: 150)
            try #require(simulation.violations.isEmpty, "seed \(seed): \(simulation.violations)")
            fetches += simulation.fetches
        }
        #expect(fetches > count)
    }
}

private struct KeySetSimulation {
    private struct Attempt {
        let ended: ContinuousClock.Instant
        /// The lifetime of the keys that the attempt brought; `nil` if it failed.
        let lifetime: Duration?
        let retryAfter: Duration?
    }

    private(set) var violations: [String] = []
    private(set) var fetches = 0

    private let limits: KeySetLifecycle.Limits
    private var lifecycle: KeySetLifecycle
    private var now = ContinuousClock.Instant.now
    private var random: Seeded
    private var refresh: Int?
    private var latest: (keys: LoadedKeys, landed: ContinuousClock.Instant, lifetime: Duration)?
    private var attempt: Attempt?

    init(seed: UInt64) {
        random = Seeded(state: seed)
        limits = KeySetLifecycle.Limits(
            refreshAhead: .seconds(Int.random(in: 0...60, using: &random)),
            cooldown: .seconds(Int.random(in: 1...60, using: &random)),
            staleIfError: .seconds(Int.random(in: 0...600, using: &random))
        )
        lifecycle = KeySetLifecycle(limits: limits)
    }

    mutating func run(steps: Int) {
        for _ in 0..<steps {
            switch Int.random(in: 0..<10, using: &random) {
            case 0...3: now += .milliseconds(Int.random(in: 0...40_000, using: &random))
            case 4: now += .seconds(Int.random(in: 0...900, using: &random))
            case 5, 6: call()
            case 7: callWithUnknownKey()
            default: end()
            }
        }
    }

    private mutating func call() {
        let age = latest.map { now - $0.landed }
        switch lifecycle.step(at: now) {
        case .use(let keys):
            check(keys === latest?.keys, "old keys")
            check(isGood, "expired keys")
        case .useAndStart(let keys, let id):
            check(keys === latest?.keys && isGood, "expired keys")
            check(age.map { $0 >= aheadAfter } ?? false, "an early refresh")
            start(id)
        case .start(let id):
            check(!isFresh, "waits despite fresh keys")
            start(id)
        case .join(let id):
            check(!isFresh && id == refresh, "waits despite fresh keys, or for no refresh")
        case .fail(let error):
            check(!isGood, "fails despite valid keys")
            check(attempt?.lifetime == nil && error == lifecycle.failure, "fails without a failure")
        }
    }

    private mutating func callWithUnknownKey() {
        guard let latest else { return }
        let load = max(0, latest.keys.load - Int.random(in: 0...1, using: &random))
        switch lifecycle.step(at: now, beyond: load) {
        case .use(let keys):
            check(keys === latest.keys, "old keys")
            check(keys.load > load || now < (attempt?.ended ?? now) + limits.cooldown, "no fetch when one is due")
        case .useAndStart: check(false, "continues with keys that lack the token's")
        case .start(let id):
            check(load == latest.keys.load, "a fetch despite newer keys")
            start(id)
        case .join(let id): check(load == latest.keys.load && id == refresh, "waits for no refresh")
        case .fail: check(attempt?.lifetime == nil, "fails without a failure")
        }
    }

    private mutating func start(_ id: Int) {
        check(refresh == nil, "two requests at once")
        refresh = id
        fetches += 1
        guard let attempt else { return }
        let pause = now - attempt.ended
        if let lifetime = attempt.lifetime {
            let ahead = lifetime - min(limits.refreshAhead, lifetime / 2)
            check(pause >= min(limits.cooldown, ahead), "two requests within the cooldown")
        } else {
            check(pause >= .seconds(1), "no backoff from a failing server")
            check(pause >= min(attempt.retryAfter ?? .zero, .seconds(300)), "ignores Retry-After")
        }
    }

    private mutating func end() {
        guard let id = refresh else { return }
        refresh = nil
        if Bool.random(using: &random) {
            let lifetime = Duration.seconds(Int.random(in: 60...600, using: &random))
            let isSame = Bool.random(using: &random)
            let keys = lifecycle.landed(id, JWKSet(keys: []), isSame: isSame, lifetime: lifetime, at: now)
            if let latest {
                check(keys.load == latest.keys.load + 1, "loads aren't counted")
                check((keys.version == latest.keys.version) == isSame, "versions aren't distinguished")
            }
            latest = (keys, now, lifetime)
            attempt = Attempt(ended: now, lifetime: lifetime, retryAfter: nil)
        } else {
            var error = OAuth2Error(.serverTransient, "")
            error.retryAfter = Bool.random(using: &random) ? .seconds(Int.random(in: 0...600, using: &random)) : nil
            lifecycle.failed(id, error, at: now)
            attempt = Attempt(ended: now, lifetime: nil, retryAfter: error.retryAfter)
        }
        // A second result of the same refresh is ignored.
        lifecycle.failed(id, OAuth2Error(.protocolViolation, ""), at: now + .seconds(1_000))
    }

    private var isFresh: Bool { latest.map { now - $0.landed < $0.lifetime } ?? false }

    private var isGood: Bool { latest.map { now - $0.landed < $0.lifetime + limits.staleIfError } ?? false }

    private var aheadAfter: Duration {
        latest.map { $0.lifetime - min(limits.refreshAhead, $0.lifetime / 2) } ?? .zero
    }

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
