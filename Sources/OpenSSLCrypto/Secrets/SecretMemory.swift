internal import COpenSSL
internal import Glibc
internal import Synchronization

/// Memory that is left out of core dumps (`MADV_DONTDUMP`), for many small secrets.
///
/// The kernel leaves out whole pages only, so secrets share pages that hold nothing else: blocks of one size are cut from a slab,
/// and used again when they are returned. Slabs are kept, as many as the most secrets at one time needed.
enum SecretMemory {
    /// The size of a slab.
    private static let slabSize = 1 << 16
    /// The smallest block, as a power of two: 32 bytes.
    private static let smallestClass = 5
    /// The largest block that is cut from a slab, as a power of two: 4096 bytes.
    private static let largestClass = 12

    /// The addresses of the blocks of each size that are not in use.
    private static let free = Mutex([[UInt]](repeating: [], count: largestClass + 1))

    /// Lends a block of memory, whose contents are undefined.
    ///
    /// - Parameter count: How many bytes are needed; at least one.
    /// - Returns: The memory, to be given to ``deallocate(_:)``.
    static func allocate(_ count: Int) -> UnsafeMutableBufferPointer<UInt8> {
        let address =
            if let sizeClass = sizeClass(of: count) {
                free.withLock { free in
                    if free[sizeClass].isEmpty {
                        let slab = pages(slabSize)
                        free[sizeClass] = stride(from: 0, to: UInt(slabSize), by: 1 << sizeClass).map { slab + $0 }
                    }
                    return free[sizeClass].removeLast()
                }
            } else {
                pages(count)
            }
        return unsafe UnsafeMutableBufferPointer(start: UnsafeMutablePointer(bitPattern: address), count: count)
    }

    /// Clears memory and takes it back.
    ///
    /// - Parameter memory: What ``allocate(_:)`` lent.
    static func deallocate(_ memory: UnsafeMutableBufferPointer<UInt8>) {
        unsafe OPENSSL_cleanse(memory.baseAddress, memory.count)
        let address = UInt(bitPattern: memory.baseAddress)
        guard let sizeClass = sizeClass(of: memory.count) else {
            unsafe munmap(memory.baseAddress, memory.count)
            return
        }
        free.withLock { $0[sizeClass].append(address) }
    }

    /// Returns the power of two that holds as many bytes, or `nil` for a block that gets separate pages.
    private static func sizeClass(of count: Int) -> Int? {
        let bits = Int.bitWidth - max(count - 1, 0).leadingZeroBitCount
        return bits <= largestClass ? max(bits, smallestClass) : nil
    }

    /// The address of new pages.
    private static func pages(_ size: Int) -> UInt {
        let pages = unsafe mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        let address = UInt(bitPattern: pages)
        // The address of a failure is -1.
        precondition(address != .max, "no memory for a secret")  // reason: as for any other allocation
        // A kernel without it dumps the pages like all others; nothing else depends on it.
        _ = unsafe madvise(pages, size, MADV_DONTDUMP)
        return address
    }
}
