internal import Glibc
internal import Synchronization

/// A pool of reusable OpenSSL contexts for one key.
///
/// Copying a prepared context costs a dozen memory allocations, and as many changes of reference
/// counts that all threads using the key share. With the pool, a thread usually finds the context
/// that it returned last, in a slot that no other thread touches. The number of slots is fixed;
/// surplus contexts are freed.
// reason: each slot is an atomic, and the thread that swaps a pointer out of it is its only owner.
@safe final class ContextPool: @unchecked Sendable {
    private static let size = 16
    private let places: InlineArray<16, Place>
    private let free: @Sendable (OpaquePointer) -> Void

    init(free: @escaping @Sendable (OpaquePointer) -> Void) {
        places = InlineArray { _ in Place() }
        unsafe self.free = unsafe free
    }

    deinit {
        for index in 0..<Self.size {
            if let context = unsafe places[index].exchange(nil) { unsafe free(context) }
        }
    }

    func take() -> OpaquePointer? {
        let index = Self.threadIndex
        if let context = unsafe places[index].exchange(nil) { return unsafe context }
        return unsafe places[index ^ 1].exchange(nil)
    }

    /// The context must be ready for the next operation.
    func give(_ context: OpaquePointer) {
        let index = Self.threadIndex
        guard let other = unsafe places[index].exchange(context) else { return }
        if let surplus = unsafe places[index ^ 1].exchange(other) { unsafe free(surplus) }
    }

    /// A number below ``size`` that rarely coincides for two threads.
    private static var threadIndex: Int {
        // The addresses of threads differ in their middle bits. The product's highest bits depend
        // on all of them.
        Int(truncatingIfNeeded: (UInt64(pthread_self()) &* 0x9E37_79B9_7F4A_7C15) >> 60)
    }

    /// A slot for one context, as large as a cache line to prevent false sharing.
    private struct Place: ~Copyable {
        private let address = Atomic<UInt>(0)
        private let padding = (0, 0, 0, 0, 0, 0, 0)

        borrowing func exchange(_ context: OpaquePointer?) -> OpaquePointer? {
            unsafe OpaquePointer(
                bitPattern: address.exchange(UInt(bitPattern: context), ordering: .acquiringAndReleasing)
            )
        }
    }
}
