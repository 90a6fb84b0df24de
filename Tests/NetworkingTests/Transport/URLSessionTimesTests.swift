import Testing

@testable import Networking

@Suite("URLSessionTimes")
struct URLSessionTimesTests {
    private let start = ContinuousClock.now

    private func times(deadline: Int? = nil, firstByte: Int? = nil, idle: Int? = nil) -> URLSessionTimes {
        let limits = HTTPTransportLimits(
            deadline: deadline.map { start + .seconds($0) },
            firstByteTimeout: firstByte.map { .seconds($0) },
            idleTimeout: idle.map { .seconds($0) }
        )
        return URLSessionTimes(limits: limits, submitted: start)
    }

    @Test("Schedules no check without limits")
    func unlimited() {
        var times = times()
        times.start(at: start)
        #expect(times.nextCheck == nil)
        #expect(times.overrun(at: start + .seconds(1_000_000)) == nil)
    }

    @Test("Applies only the deadline while the request is queued")
    func inLine() {
        let times = times(deadline: 10, firstByte: 1, idle: 1)
        #expect(times.nextCheck == start + .seconds(10))
        #expect(times.overrun(at: start + .seconds(9)) == nil)
        #expect(times.overrun(at: start + .seconds(10)) == .deadline)
    }

    @Test("Counts the first-byte timeout from the last byte sent until the header arrives")
    func firstByte() {
        var times = times(firstByte: 5)
        times.start(at: start)
        #expect(times.overrun(at: start + .seconds(5)) == .firstByte)
        times.noteSent(at: start + .seconds(4))
        #expect(times.nextCheck == start + .seconds(9))
        #expect(times.overrun(at: start + .seconds(8)) == nil)
        times.noteReceived(at: start + .seconds(8))
        #expect(times.nextCheck == nil)
        #expect(times.answered == start + .seconds(8))
    }

    @Test("Postpones the idle timeout on any activity")
    func idle() {
        var times = times(idle: 2)
        times.start(at: start)
        for second in 1...4 { times.noteReceived(at: start + .seconds(second)) }
        times.noteSent(at: start + .seconds(5))
        #expect(times.nextCheck == start + .seconds(7))
        #expect(times.overrun(at: start + .seconds(7)) == .idle)
        #expect(times.answered == start + .seconds(1))
    }

    @Test("Reports the limit that was exceeded first")
    func several() {
        var times = times(deadline: 4, firstByte: 3, idle: 2)
        times.start(at: start)
        #expect(times.nextCheck == start + .seconds(2))
        #expect(times.overrun(at: start + .seconds(60)) == .idle)
    }
}
