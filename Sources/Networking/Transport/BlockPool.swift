import Foundation
import Synchronization

/// Memory for parts of bodies, in blocks of one size that are used again and again.
///
/// The system clears the memory that it gives to a process; for all parts of a long body that would take as long as to receive them.
final class BlockPool: Sendable {
    /// A block while nobody has it.
    @safe private struct Unused: @unchecked Sendable {  // reason: nobody uses what the pointer leads to
        let memory: UnsafeMutableRawPointer
    }

    /// How many octets a block has room for.
    let blockSize: Int
    private let maximumUnused: Int
    private let unused = Mutex<[Unused]>([])

    /// Makes an empty pool.
    ///
    /// - Parameters:
    ///   - blockSize: How many octets a block has room for.
    ///   - maximumUnused: How many blocks are kept while nobody needs them.
    init(blockSize: Int, maximumUnused: Int = 4) {
        self.blockSize = blockSize
        self.maximumUnused = maximumUnused
    }

    deinit {
        for block in unused.withLock(\.self) { unsafe block.memory.deallocate() }
    }

    /// Takes a block.
    ///
    /// - Parameter capacity: How many octets it must have room for, if that is more than the size of a block.
    /// - Returns: The block, whose octets are whatever was there before.
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

// reason for @unchecked: one thread at a time has a block, and nobody changes one that is data.

/// A block of memory for octets, which goes back to its pool with the last reference.
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

    /// The first octets as data.
    ///
    /// Many are not copied: the data then has the block, and whoever has the block otherwise must give it up. Of few a copy is made, so that
    /// nobody who keeps them keeps the block.
    func data(count: Int) -> Data {
        guard count >= capacity / 2 else { return unsafe Data(bytes: memory, count: count) }
        return unsafe Data(
            bytesNoCopy: memory,
            count: count,
            deallocator: .custom { [self] _, _ in withExtendedLifetime(self) {} }
        )
    }
}
