internal import COpenSSL
internal import Glibc
internal import Synchronization

/// Secret bytes: key material or a password.
///
/// The single copy in memory is excluded from core dumps and cleared when the last reference is
/// released. Two values compare in constant time, and descriptions, dumps and mirrors don't show
/// the contents.
package struct SecretBytes: Sendable, Equatable {
    private let storage: Storage

    /// Copies bytes; the caller must clear the source.
    package init(copying bytes: RawSpan) {
        storage = Storage(capacity: bytes.byteCount)
        storage.fill { output in output.append(bytes) }
    }

    /// Avoids another copy; appending more than `capacity` bytes traps.
    init<Failure: Error>(
        capacity: Int,
        initializingWith body: (inout OutputSpan<UInt8>) throws(Failure) -> Void
    ) throws(Failure) {
        storage = Storage(capacity: capacity)
        try storage.fill(body)
    }

    package var count: Int { storage.count }

    /// Takes a time that depends only on the size.
    package var isZero: Bool {
        withBytes { bytes in
            var sum: UInt8 = 0
            for offset in bytes.byteOffsets { sum |= bytes[offset] }
            return sum == 0
        }
    }

    /// Calls a closure with the bytes; the closure must not store copies that outlive this value.
    package func withBytes<Result, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.withBytes(body)
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.withBytes { leftBytes in
            right.withBytes { rightBytes in ConstantTime.areEqual(leftBytes, rightBytes) }
        }
    }

    // reason: filled once by the initializer that creates it, before it's shared; read-only
    // afterwards.
    @safe private final class Storage: @unchecked Sendable {
        private let memory: UnsafeMutableBufferPointer<UInt8>
        private(set) var count = 0

        init(capacity: Int) {
            // At least one byte, so that the address is never null. Null has another meaning in
            // some OpenSSL functions.
            unsafe memory = SecretMemory.allocate(max(capacity, 1))
        }

        deinit {
            unsafe SecretMemory.deallocate(memory)
        }

        func fill<Failure: Error>(
            _ body: (inout OutputSpan<UInt8>) throws(Failure) -> Void
        ) throws(Failure) {
            var output = unsafe OutputSpan(buffer: memory, initializedCount: 0)
            try body(&output)
            count = unsafe output.finalize(for: memory)
        }

        func withBytes<Result, Failure: Error>(
            _ body: (RawSpan) throws(Failure) -> Result
        ) throws(Failure) -> Result {
            try body(
                unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<count]))
            )
        }
    }
}

extension SecretBytes: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Reveals nothing, not even the length.
    package var description: String { "SecretBytes(redacted)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Memory for many small secrets that's excluded from core dumps (`MADV_DONTDUMP`).
///
/// The kernel excludes whole pages only, so secrets share pages that hold nothing else. Blocks of
/// one size are cut from a slab and reused after deallocation. Slabs are never freed; their number
/// is determined by the peak demand.
enum SecretMemory {
    private static let slabSize = 1 << 16
    /// The smallest block size, as a power of two: 32 bytes.
    private static let smallestClass = 5
    /// The largest block size that's cut from a slab, as a power of two: 4096 bytes.
    private static let largestClass = 12

    private static let free = Mutex([[UInt]](repeating: [], count: largestClass + 1))

    /// The contents are undefined; the caller must pass the memory to ``deallocate(_:)``.
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

    static func deallocate(_ memory: UnsafeMutableBufferPointer<UInt8>) {
        unsafe OPENSSL_cleanse(memory.baseAddress, memory.count)
        let address = UInt(bitPattern: memory.baseAddress)
        guard let sizeClass = sizeClass(of: memory.count) else {
            unsafe munmap(memory.baseAddress, memory.count)
            return
        }
        free.withLock { $0[sizeClass].append(address) }
    }

    /// Returns `nil` if a block with `count` bytes gets separate pages.
    private static func sizeClass(of count: Int) -> Int? {
        let bits = Int.bitWidth - max(count - 1, 0).leadingZeroBitCount
        return bits <= largestClass ? max(bits, smallestClass) : nil
    }

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
