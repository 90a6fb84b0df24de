import Foundation

/// Octets on their way to a reader, who takes all that are there as one part.
struct PartBuffer {
    private let pool: BlockPool
    private var block: OctetBlock?
    private(set) var count = 0

    init(pool: BlockPool) {
        self.pool = pool
    }

    /// Adds octets; false if there is no room for them beside those that are there.
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

    /// Takes all octets.
    mutating func take() -> Data {
        defer { removeAll() }
        return block?.data(count: count) ?? Data()
    }

    /// Throws all octets away.
    mutating func removeAll() {
        block = nil
        count = 0
    }
}
