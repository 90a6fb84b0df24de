import Testing

@testable import Networking

@Suite("ExchangeTiming")
struct ExchangeTimingTests {
    private let start = ContinuousClock.now

    private struct Check: Equatable {
        var expired: NetworkError.Timeout.Limit?
        var next: Duration?
    }

    private func check(
        _ timing: ExchangeTiming,
        after seconds: Int,
        firstByte: Int? = nil,
        idle: Int? = nil,
        deadline: Int? = nil,
        isCallersTurn: Bool = false
    ) -> Check {
        let limits = HTTPTransportLimits(
            firstByteTimeout: firstByte.map { .seconds($0) },
            idleTimeout: idle.map { .seconds($0) }
        )
        let (expired, next) = timing.check(
            at: start + .seconds(seconds),
            limits: limits,
            deadline: deadline.map { start + .seconds($0) },
            isCallersTurn: isCallersTurn
        )
        return Check(expired: expired, next: next.map { $0 - start })
    }

    @Test("Schedules no check without limits")
    func unlimited() {
        var timing = ExchangeTiming()
        timing.begin(at: start, isWhole: true)
        #expect(check(timing, after: 1_000_000) == Check())
    }

    @Test("Applies only the deadline while the request is queued")
    func queued() {
        #expect(check(ExchangeTiming(), after: 9, firstByte: 1, idle: 1) == Check())
        #expect(check(ExchangeTiming(), after: 9, firstByte: 1, idle: 1, deadline: 10) == Check(next: .seconds(10)))
        #expect(check(ExchangeTiming(), after: 10, firstByte: 1, idle: 1, deadline: 10) == Check(expired: .deadline))
    }

    @Test("Reports the limit that was exceeded first")
    func several() {
        var timing = ExchangeTiming()
        timing.begin(at: start, isWhole: true)
        #expect(check(timing, after: 1, firstByte: 3, idle: 2, deadline: 4) == Check(next: .seconds(2)))
        #expect(check(timing, after: 60, firstByte: 3, idle: 2, deadline: 4) == Check(expired: .idle))
        #expect(check(timing, after: 60, firstByte: 2, idle: 3, deadline: 4) == Check(expired: .firstByte))
        #expect(check(timing, after: 60, firstByte: 3, idle: 4, deadline: 2) == Check(expired: .deadline))
    }

    @Test("Starts the idle timeout when the caller has taken the body")
    func callersTurn() {
        var timing = ExchangeTiming()
        timing.begin(at: start, isWhole: true)
        #expect(check(timing, after: 9, idle: 2, isCallersTurn: true) == Check(next: .seconds(11)))
        #expect(check(timing, after: 9, idle: 2) == Check(expired: .idle))
    }

    @Test("Counts the first-byte timeout from the end of the request until the header arrives")
    func firstByte() {
        var timing = ExchangeTiming()
        timing.begin(at: start, isWhole: false)
        #expect(check(timing, after: 5, firstByte: 5) == Check())
        timing.requestSent = start + .seconds(4)
        #expect(check(timing, after: 8, firstByte: 5) == Check(next: .seconds(9)))
        #expect(check(timing, after: 9, firstByte: 5) == Check(expired: .firstByte))
        timing.receive(at: start + .seconds(8))
        #expect(check(timing, after: 9, firstByte: 5) == Check())
        #expect(timing.firstByte == start + .seconds(8))
    }

    @Test("Postpones the idle timeout on any activity")
    func idle() {
        var timing = ExchangeTiming()
        timing.begin(at: start, isWhole: true)
        for second in 1...4 { timing.receive(at: start + .seconds(second)) }
        timing.move(at: start + .seconds(5))
        #expect(check(timing, after: 6, idle: 2) == Check(next: .seconds(7)))
        #expect(check(timing, after: 7, idle: 2) == Check(expired: .idle))
        #expect(timing.firstByte == start + .seconds(1))
    }
}
