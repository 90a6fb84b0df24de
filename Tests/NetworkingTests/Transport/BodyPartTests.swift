import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Networking

/// Parts of bodies that pass from one thread to another.
@Suite("Parts of bodies", .limitedConcurrency)
struct BodyPartTests {
    private func append(_ count: Int, _ octet: UInt8, to buffer: inout PartBuffer) -> Bool {
        unsafe [UInt8](repeating: octet, count: count).withUnsafeBufferPointer { unsafe buffer.append($0) }
    }

    @Test("Accepts parts up to the buffer's capacity and returns all bytes in order")
    func buffer() {
        var buffer = PartBuffer(pool: BlockPool(blockSize: 1000))
        #expect(append(400, 1, to: &buffer) && append(600, 2, to: &buffer))
        #expect(!append(1, 3, to: &buffer))
        #expect(buffer.count == 1000)
        #expect(buffer.take() == Data(repeating: 1, count: 400) + Data(repeating: 2, count: 600))
        #expect(buffer.count == 0 && buffer.take().isEmpty)
        // A part larger than a block must be the only one in the buffer.
        #expect(append(5000, 4, to: &buffer))
        #expect(!append(1, 5, to: &buffer))
        #expect(buffer.take() == Data(repeating: 4, count: 5000))
        #expect(append(0, 0, to: &buffer) && append(10, 6, to: &buffer))
        buffer.removeAll()
        #expect(buffer.count == 0 && buffer.take().isEmpty)
    }

    @Test("Keeps a part's bytes when memory is reused", arguments: [1, 14, 15, 499, 500, 1000])
    func independence(count: Int) {
        let pool = BlockPool(blockSize: 1000)
        var buffer = PartBuffer(pool: pool)
        var parts: [Data] = []
        for octet in 0..<20 as Range<UInt8> {
            #expect(append(count, octet, to: &buffer))
            parts.append(buffer.take())
            if octet == 9 { parts.removeFirst(5) }
        }
        #expect(parts == (5..<20).map { Data(repeating: $0, count: count) })
        // Changing a copy doesn't affect any part.
        var other = parts[14]
        other.append(contentsOf: [1, 2, 3])
        other[0] = 77
        #expect(parts[14] == Data(repeating: 19, count: count))
        #expect(other.count == count + 3 && other.first == 77)
    }

    @Test("Reuses memory and keeps only the specified number of blocks")
    func reuse() {
        let pool = BlockPool(blockSize: 1 << 16, maximumUnused: 2)
        func address(_ block: OctetBlock) -> UInt { unsafe UInt(bitPattern: block.memory) }
        let first = address(pool.block())
        for _ in 0..<10 { #expect(address(pool.block()) == first) }
        var blocks = (0..<3).map { _ in pool.block() }
        let data = blocks[0].data(count: 1 << 16)
        let addresses = blocks.map(address)
        #expect(Set(addresses).count == 3)
        blocks = []
        // The data still holds its block.
        #expect(Set([address(pool.block()), address(pool.block())]).isSubset(of: addresses[1...]))
        #expect(data.count == 1 << 16)
    }

    @Test("Returns queued parts in pieces of any size", arguments: [1, 3, 7, 64, 1000])
    func queue(step: Int) {
        var queue = PartQueue()
        let parts = (0..<200).map { Data((0..<($0 % 13)).map { UInt8(truncatingIfNeeded: $0 &* 7) }) }
        var expected = Data()
        var taken = Data()
        for (index, part) in parts.enumerated() {
            queue.append(index.isMultiple(of: 2) ? part : (Data([1, 2]) + part).dropFirst(2))
            expected += part
            if index.isMultiple(of: 5) {
                for piece in queue.take(min(step, queue.count)) { taken += piece }
                #expect(queue.count == expected.count - taken.count)
            }
        }
        while queue.count > 0 {
            for piece in queue.take(min(step, queue.count)) { taken += piece }
        }
        #expect(taken == expected)
        #expect(queue.take(10).isEmpty)
    }

    @Test("Work that blocks on disk I/O doesn't block the threads of tasks", .timeLimit(.minutes(20)))
    func offloaded() async throws {
        let count = ProcessInfo.processInfo.activeProcessorCount * 2
        let waiting = Waiting()
        let tasks = (0..<count).map { _ in
            Task.detached {
                try await offloading {
                    // The work must stay offloaded even after it has awaited a task.
                    await Task.detached { await Task.yield() }.value
                    waiting.count.add(1, ordering: .relaxed)
                    waiting.block()
                }
            }
        }
        while waiting.count.load(ordering: .relaxed) < count { try await Task.sleep(for: .milliseconds(1)) }
        for _ in tasks { waiting.gate.signal() }
        for task in tasks { try await task.value }
    }

    /// Work that blocks its threads, as disk I/O does.
    private final class Waiting: Sendable {
        let count = Atomic<Int>(0)
        let gate = DispatchSemaphore(value: 0)

        func block() { gate.wait() }
    }

    @Test("Passes on the results and errors of offloaded work")
    func offloadedOutcome() async throws {
        #expect(try await offloading { 42 } == 42)
        await #expect(throws: NetworkError.self) {
            try await offloading { throw NetworkError(.cannotUseFile, "no") }
        }
    }
}
