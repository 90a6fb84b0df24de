import Foundation

/// A buffer of bytes that a reader takes as a single part.
struct PartBuffer {
    private let pool: BlockPool
    private var block: OctetBlock?
    private(set) var count = 0

    init(pool: BlockPool) {
        self.pool = pool
    }

    /// Appends bytes, or returns `false` if the buffer doesn't have the capacity.
    mutating func append(_ octets: UnsafeBufferPointer<UInt8>) -> Bool {
        let block = block ?? pool.block(capacity: octets.count)
        guard octets.count <= block.capacity - count else { return false }
        if let start = octets.baseAddress {
            unsafe (block.memory + count).copyMemory(from: start, byteCount: octets.count)
        }
        self.block = block
        count += octets.count
        return true
    }

    mutating func take() -> Data {
        defer { removeAll() }
        return block?.data(count: count) ?? Data()
    }

    mutating func removeAll() {
        block = nil
        count = 0
    }
}
