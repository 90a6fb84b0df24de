import Foundation
import TestSupport
import Testing

@testable import Networking

@Suite("ExchangeQueue", .computing, .tags(.concurrency))
struct ExchangeQueueTests {
    private let a: HTTPOrigin
    private let b: HTTPOrigin

    init() throws {
        a = try #require(URL(string: "http://a.example/").flatMap { HTTPOrigin($0) })
        b = try #require(URL(string: "http://b.example/").flatMap { HTTPOrigin($0) })
    }

    private func drain(_ queue: inout ExchangeQueue, where isWaiting: (UInt64) -> Bool = { _ in true }) -> [UInt64] {
        var identifiers: [UInt64] = []
        while let identifier = queue.next(where: isWaiting) { identifiers.append(identifier) }
        return identifiers
    }

    @Test("Starts an origin's requests in order, up to its limit")
    func perOrigin() {
        var queue = ExchangeQueue(maximumPerOrigin: 2, maximum: 10)
        for identifier in 1...4 { queue.append(UInt64(identifier), origin: a) }
        #expect(drain(&queue) == [1, 2])
        queue.release(a)
        #expect(drain(&queue) == [3])
        queue.release(a)
        queue.release(a)
        #expect(drain(&queue) == [4])
    }

    @Test("Origins take turns at the total limit")
    func turns() {
        var queue = ExchangeQueue(maximumPerOrigin: 10, maximum: 1)
        for identifier in 1...3 { queue.append(UInt64(identifier), origin: a) }
        queue.append(4, origin: b)
        #expect(drain(&queue) == [1])
        queue.release(a)
        #expect(drain(&queue) == [4])
        queue.release(b)
        #expect(drain(&queue) == [2])
    }

    @Test("Skips a request that has ended, without counting it")
    func ended() {
        var queue = ExchangeQueue(maximumPerOrigin: 1, maximum: 1)
        for identifier in 1...3 { queue.append(UInt64(identifier), origin: a) }
        #expect(drain(&queue) { $0 == 3 } == [3])
        queue.append(4, origin: b)
        queue.release(a)
        #expect(drain(&queue) == [4])
    }

    @Test("Ignores a release without a running request")
    func strayRelease() {
        var queue = ExchangeQueue(maximumPerOrigin: 1, maximum: 1)
        queue.release(a)
        queue.append(1, origin: a)
        queue.append(2, origin: a)
        #expect(drain(&queue) == [1])
    }

    @Test("Starts a request at once if there's capacity and none is waiting")
    func entering() {
        var queue = ExchangeQueue(maximumPerOrigin: 1, maximum: 2)
        #expect(enter(a, &queue))
        #expect(!enter(a, &queue))
        #expect(enter(b, &queue))
        queue.append(1, origin: a)
        queue.release(b)
        // There's capacity in total, but not for the first origin.
        #expect(!queue.hasTurn)
        #expect(enter(b, &queue))
        queue.release(a)
        // A new request doesn't overtake waiting ones.
        #expect(!enter(a, &queue))
        queue.release(b)
        #expect(queue.hasTurn)
        #expect(!enter(b, &queue))
        #expect(drain(&queue) == [1])
        #expect(enter(b, &queue))
    }

    @Test("Removes only origins without requests")
    func forgetting() throws {
        var queue = ExchangeQueue(maximumPerOrigin: 1, maximum: 10)
        #expect(enter(a, &queue))
        for number in 0..<1000 {
            let origin = try #require(URL(string: "http://h\(number).example/").flatMap { HTTPOrigin($0) })
            #expect(enter(origin, &queue))
            queue.release(origin)
        }
        #expect(queue.originCount <= 64)
        #expect(!enter(a, &queue))
        queue.release(a)
        #expect(enter(a, &queue))
    }

    private func enter(_ origin: HTTPOrigin, _ queue: inout ExchangeQueue) -> Bool { queue.enter(origin) }

    @Test("Starts thousands of waiting requests in order")
    func many() {
        var queue = ExchangeQueue(maximumPerOrigin: 1, maximum: 1)
        for identifier in 0..<5000 { queue.append(UInt64(identifier), origin: a) }
        var seen: [UInt64] = []
        while let identifier = queue.next(where: { _ in true }) {
            seen.append(identifier)
            queue.release(a)
        }
        #expect(seen == Array(0..<5000))
    }
}

@Suite("DeadlineQueue", .computing, .tags(.concurrency))
struct DeadlineQueueTests {
    private let start = Moment.now

    @Test("Returns the earliest deadline first, independent of insertion order")
    func order() {
        var queue = DeadlineQueue()
        for index in 0..<500 {
            let offset = index * 7919 % 500
            queue.insert(UInt64(offset), deadline: start + .milliseconds(offset)) { _ in true }
        }
        var expired: [UInt64] = []
        while let identifier = queue.popExpired(at: start + .milliseconds(499)) { expired.append(identifier) }
        #expect(expired == Array(0..<500))
        #expect(queue.popExpired(at: start + .seconds(10)) == nil)
    }

    @Test("A deadline expires at its time and not before")
    func boundary() {
        var queue = DeadlineQueue()
        queue.insert(1, deadline: start + .milliseconds(5)) { _ in true }
        #expect(queue.popExpired(at: start + .milliseconds(4)) == nil)
        #expect(queue.earliest == start + .milliseconds(5))
        #expect(queue.popExpired(at: start + .milliseconds(5)) == 1)
        #expect(queue.earliest == nil)
    }

    @Test("Removes the entries of ended requests in bulk")
    func ended() {
        var queue = DeadlineQueue()
        for identifier in 0..<10_000 {
            queue.insert(UInt64(identifier), deadline: start + .milliseconds(20_000 - identifier)) { $0 >= 9_990 }
        }
        #expect(queue.count < 500)
        // The last insertion has the earliest remaining deadline.
        #expect(queue.earliest == start + .milliseconds(20_000 - 9_999))
    }

    @Test("Has no deadline after all entries are removed")
    func none() {
        var queue = DeadlineQueue()
        for identifier in 0..<2000 { queue.insert(UInt64(identifier), deadline: start) { _ in true } }
        queue.removeAll()
        #expect(queue.earliest == nil)
        #expect(queue.count == 0)
    }
}

@Suite("ExchangeTiming", .computing, .tags(.concurrency))
struct ExchangeTimingTests {
    private let start = Moment.now

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

@Suite("HTTPOrigin", .computing, .tags(.concurrency))
struct HTTPOriginTests {
    @Test(
        "Normalizes the scheme, host and port",
        arguments: [
            ("http://example.org", "example.org:80"), ("https://example.org/a?b#c", "example.org:443"),
            ("HTTPS://Example.ORG:8443/", "example.org:8443"), ("http://[::1]:81/", "[::1]:81"),
            ("http://u:p@example.org/", "example.org:80"),
        ]
    )
    func normalized(_ url: String, _ description: String) throws {
        let origin = try #require(URL(string: url).flatMap { HTTPOrigin($0) })
        #expect(origin.description == description)
        #expect(origin.scheme == (url.lowercased().hasPrefix("https") ? "https" : "http"))
    }

    @Test("Rejects other URLs", arguments: ["ftp://example.org/", "file:///etc/passwd", "/path", "mailto:a@b.c"])
    func none(_ url: String) throws {
        #expect(URL(string: url).flatMap { HTTPOrigin($0) } == nil)
    }

    @Test(
        "Recognizes loopback hosts",
        arguments: [
            ("http://localhost/", true), ("http://api.localhost/", true), ("http://127.0.0.53/", true),
            ("http://[::1]/", true), ("http://127.0.0.1.example.org/", false), ("http://localhost.example.org/", false),
            ("http://10.0.0.1/", false), ("http://127.0.0.0.1/", false), ("http://127.0.0.256/", false),
            ("http://127.0.1/", false), ("http://127.0.0.1%00.evil.example/", false), ("http://127.0.0.001/", false),
        ]
    )
    func loopback(_ url: String, _ isLoopback: Bool) throws {
        #expect(URL(string: url).flatMap { HTTPOrigin($0) }?.isLoopback == isLoopback)
    }
}
