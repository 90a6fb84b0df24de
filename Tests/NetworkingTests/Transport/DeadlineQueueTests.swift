import Testing

@testable import Networking

@Suite("DeadlineQueue")
struct DeadlineQueueTests {
    private let start = ContinuousClock.now

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
