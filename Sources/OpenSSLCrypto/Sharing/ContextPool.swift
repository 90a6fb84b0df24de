internal import Glibc
internal import Synchronization

/// OpenSSL contexts of one key that are ready to be used again.
///
/// A copy of a prepared context costs a dozen memory allocations, and as many changes of reference counts that all threads
/// using the key share. Here a thread mostly finds the context that it gave back the last time, in a place that no other
/// thread touches. There are never more contexts than places; what does not fit is freed.
// reason: each place is an atomic, and whoever exchanges a pointer out of it is its only owner.
@safe final class ContextPool: @unchecked Sendable {
    private static let size = 16
    private let places: InlineArray<16, Place>
    private let free: @Sendable (OpaquePointer) -> Void

    /// - Parameter free: Frees a context.
    init(free: @escaping @Sendable (OpaquePointer) -> Void) {
        places = InlineArray { _ in Place() }
        unsafe self.free = unsafe free
    }

    deinit {
        for index in 0..<Self.size {
            if let context = unsafe places[index].exchange(nil) { unsafe free(context) }
        }
    }

    /// A context that nobody else uses, or `nil` if there is none at hand.
    func take() -> OpaquePointer? {
        let index = Self.threadIndex
        if let context = unsafe places[index].exchange(nil) { return unsafe context }
        return unsafe places[index ^ 1].exchange(nil)
    }

    /// Keeps a context that is ready for the next one.
    func give(_ context: OpaquePointer) {
        let index = Self.threadIndex
        guard let other = unsafe places[index].exchange(context) else { return }
        if let surplus = unsafe places[index ^ 1].exchange(other) { unsafe free(surplus) }
    }

    /// A number below ``size`` that two threads seldom have in common.
    private static var threadIndex: Int {
        // Addresses of threads differ in their middle bits; the product's highest ones depend on all of them.
        Int(truncatingIfNeeded: (UInt64(pthread_self()) &* 0x9E37_79B9_7F4A_7C15) >> 60)
    }

    /// Room for one context, as large as a cache line so that threads don't wait for each other's.
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
