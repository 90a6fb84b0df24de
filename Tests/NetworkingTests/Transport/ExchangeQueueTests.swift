import Foundation
import Testing

@testable import Networking

@Suite("ExchangeQueue")
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

    @Test("A busy origin doesn't block another origin")
    func otherOrigin() {
        var queue = ExchangeQueue(maximumPerOrigin: 1, maximum: 10)
        queue.append(1, origin: a)
        queue.append(2, origin: a)
        queue.append(3, origin: b)
        #expect(drain(&queue) == [1, 3])
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
