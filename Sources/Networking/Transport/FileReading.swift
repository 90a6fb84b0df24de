import CCurl
import Foundation
import Glibc
import Synchronization

final class FileReading: Sendable {
    static let partSize = 128 << 10

    private let name: String
    private let descriptor: Int32
    private let blocks = BlockPool(blockSize: partSize)

    private init(name: String, descriptor: Int32) {
        self.name = name
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Delivers fewer bytes if the file has shrunk; throws ``NetworkError`` with the code
    /// `invalidRequest` if it can't be read.
    static func producer(_ url: URL, length: Int) -> HTTPBody.Producer {
        { deliver in
            try await offloading { try await FileReading.open(url).deliver(from: 0, to: length, deliver) }
        }
    }

    /// Must run on a thread that may block on disk I/O.
    func deliver(from start: Int, to end: Int, _ deliver: (Data) async throws -> Void) async throws {
        var position = start
        while position < end {
            let part = try read(min(Self.partSize, end - position), at: position)
            guard !part.isEmpty else { return }
            position += part.count
            try await deliver(part)
        }
    }

    /// Reads bytes that are already in memory, on any thread, and returns their number.
    ///
    /// It's 0 if reading needs the disk, the file system can't tell, or the file has ended.
    func readHeld(into buffer: UnsafeMutableRawBufferPointer, at position: Int) -> Int {
        max(0, unsafe ccurl_read_held(descriptor, buffer.baseAddress, buffer.count, Int64(position)))
    }

    /// Must run on a thread that may block on disk I/O.
    static func open(_ url: URL) throws(NetworkError) -> FileReading {
        let descriptor = unsafe Glibc.open(url.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(url.lastPathComponent) }
        return FileReading(name: url.lastPathComponent, descriptor: descriptor)
    }

    private func read(_ count: Int, at position: Int) throws(NetworkError) -> Data {
        let block = blocks.block()
        while true {
            let result = unsafe pread(descriptor, block.memory, count, off_t(position))
            if result >= 0 { return block.data(count: result) }
            if errno != EINTR { throw Self.failure(name) }
        }
    }

    private static func failure(_ name: String) -> NetworkError {
        NetworkError(.invalidRequest, "the file “\(name)” can't be read (error \(errno))")
    }
}

/// A pool of equally sized memory blocks for parts of bodies.
///
/// The system zeroes memory before handing it to a process. For a long body, that would take as
/// long as receiving it, so blocks are reused.
final class BlockPool: Sendable {
    @safe private struct Unused: @unchecked Sendable {  // reason: the memory isn't accessed while unused
        let memory: UnsafeMutableRawPointer
    }

    let blockSize: Int
    private let maximumUnused: Int
    private let unused = Mutex<[Unused]>([])

    init(blockSize: Int, maximumUnused: Int = 4) {
        self.blockSize = blockSize
        self.maximumUnused = maximumUnused
    }

    deinit {
        for block in unused.withLock(\.self) { unsafe block.memory.deallocate() }
    }

    /// The contents are arbitrary; the block is larger than ``blockSize`` if necessary.
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

    /// If the bytes fill at least half of the block, the data takes over the block without copying,
    /// and the caller must release it; otherwise they're copied, so that a few don't retain it.
    func data(count: Int) -> Data {
        guard count >= capacity / 2 else { return unsafe Data(bytes: memory, count: count) }
        return unsafe Data(
            bytesNoCopy: memory,
            count: count,
            deallocator: .custom { [self] _, _ in withExtendedLifetime(self) {} }
        )
    }
}
