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

    @Test("Without limits there is nothing to look for")
    func unlimited() {
        var times = times()
        times.start(at: start)
        #expect(times.nextCheck == nil)
        #expect(times.overrun(at: start + .seconds(1_000_000)) == nil)
    }

    @Test("Only the deadline counts while the exchange waits in line")
    func inLine() {
        let times = times(deadline: 10, firstByte: 1, idle: 1)
        #expect(times.nextCheck == start + .seconds(10))
        #expect(times.overrun(at: start + .seconds(9)) == nil)
        #expect(times.overrun(at: start + .seconds(10)) == .deadline)
    }

    @Test("The first-byte timeout counts from the last octet sent until the header")
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

    @Test("Whatever moves puts the idle timeout off")
    func idle() {
        var times = times(idle: 2)
        times.start(at: start)
        for second in 1...4 { times.noteReceived(at: start + .seconds(second)) }
        times.noteSent(at: start + .seconds(5))
        #expect(times.nextCheck == start + .seconds(7))
        #expect(times.overrun(at: start + .seconds(7)) == .idle)
        #expect(times.answered == start + .seconds(1))
    }

    @Test("Of several limits the one that was exceeded first is told")
    func several() {
        var times = times(deadline: 4, firstByte: 3, idle: 2)
        times.start(at: start)
        #expect(times.nextCheck == start + .seconds(2))
        #expect(times.overrun(at: start + .seconds(60)) == .idle)
    }
}
