import Foundation
import Synchronization

/// A pool of equally sized memory blocks for parts of bodies.
///
/// The system zeroes memory before handing it to a process. For a long body, that would take as
/// long as receiving it, so blocks are reused.
final class BlockPool: Sendable {
    @safe private struct Unused: @unchecked Sendable {  // reason: the memory isn't accessed while unused
        let memory: UnsafeMutableRawPointer
    }

    /// The size of a block in bytes.
    let blockSize: Int
    private let maximumUnused: Int
    private let unused = Mutex<[Unused]>([])

    /// Creates an empty pool that keeps up to `maximumUnused` blocks.
    init(blockSize: Int, maximumUnused: Int = 4) {
        self.blockSize = blockSize
        self.maximumUnused = maximumUnused
    }

    deinit {
        for block in unused.withLock(\.self) { unsafe block.memory.deallocate() }
    }

    /// Takes a block with arbitrary contents, which is larger than ``blockSize`` if necessary.
    func block(capacity: Int = 0) -> OctetBlock {
        let size = max(blockSize, capacity)
        let block = size == blockSize ? unused.withLock { $0.popLast() } : nil
        let memory = unsafe block?.memory ?? .allocate(byteCount: size, alignment: 16)
        return unsafe OctetBlock(memory, capacity: size, of: self)
    }

    fileprivate func takeBack(_ memory: UnsafeMutableRawPointer, capacity: Int) {
        let block = unsafe Unused(memory: memory)
        let isKept = unused.withLock { unused in
            guard capacity == blockSize, unused.count < maximumUnused else { return false }
            unused.append(block)
            return true
        }
        if !isKept { unsafe memory.deallocate() }
    }
}

// reason for @unchecked: only one thread at a time has a block, and data is never modified.

/// A block of memory that returns to its pool with the last reference.
@safe final class OctetBlock: @unchecked Sendable {
    let memory: UnsafeMutableRawPointer
    let capacity: Int
    private let pool: BlockPool

    fileprivate init(_ memory: UnsafeMutableRawPointer, capacity: Int, of pool: BlockPool) {
        unsafe self.memory = memory
        self.capacity = capacity
        self.pool = pool
    }

    deinit {
        unsafe pool.takeBack(memory, capacity: capacity)
    }

    /// Returns the first bytes of the block as data.
    ///
    /// If they fill at least half of the block, the data takes over the block without copying and
    /// the caller must release it. Otherwise they're copied, so that a few bytes don't retain it.
    func data(count: Int) -> Data {
        guard count >= capacity / 2 else { return unsafe Data(bytes: memory, count: count) }
        return unsafe Data(
            bytesNoCopy: memory,
            count: count,
            deallocator: .custom { [self] _, _ in withExtendedLifetime(self) {} }
        )
    }
}
