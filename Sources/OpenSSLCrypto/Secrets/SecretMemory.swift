internal import COpenSSL
internal import Glibc
internal import Synchronization

/// Memory for many small secrets that's excluded from core dumps (`MADV_DONTDUMP`).
///
/// The kernel excludes whole pages only, so secrets share pages that hold nothing else. Blocks of
/// one size are cut from a slab and reused after deallocation. Slabs are never freed; their number
/// is determined by the peak demand.
enum SecretMemory {
    /// The size of a slab.
    private static let slabSize = 1 << 16
    /// The smallest block size, as a power of two: 32 bytes.
    private static let smallestClass = 5
    /// The largest block size that's cut from a slab, as a power of two: 4096 bytes.
    private static let largestClass = 12

    /// The addresses of the free blocks of each size.
    private static let free = Mutex([[UInt]](repeating: [], count: largestClass + 1))

    /// Allocates at least 1 byte with undefined contents, which the caller must pass to
    /// ``deallocate(_:)``.
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

    /// Clears and frees memory from ``allocate(_:)``.
    static func deallocate(_ memory: UnsafeMutableBufferPointer<UInt8>) {
        unsafe OPENSSL_cleanse(memory.baseAddress, memory.count)
        let address = UInt(bitPattern: memory.baseAddress)
        guard let sizeClass = sizeClass(of: memory.count) else {
            unsafe munmap(memory.baseAddress, memory.count)
            return
        }
        free.withLock { $0[sizeClass].append(address) }
    }

    /// Returns the power of two for a block with at least `count` bytes, or `nil` if it gets
    /// separate pages.
    private static func sizeClass(of count: Int) -> Int? {
        let bits = Int.bitWidth - max(count - 1, 0).leadingZeroBitCount
        return bits <= largestClass ? max(bits, smallestClass) : nil
    }

    /// Returns the address of new pages.
    private static func pages(_ size: Int) -> UInt {
        let pages = unsafe mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        let address = UInt(bitPattern: pages)
        // mmap returns -1 on failure.
        precondition(address != .max, "out of memory for a secret")  // reason: as for any other allocation
        // Kernels that don't support the option include the pages in core dumps. Nothing else
        // depends on it.
        _ = unsafe madvise(pages, size, MADV_DONTDUMP)
        return address
    }
}
