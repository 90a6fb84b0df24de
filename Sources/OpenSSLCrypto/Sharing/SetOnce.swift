public import Synchronization

// reason for @safe: the address belongs to an object that the holder retains until its
// deinitialization.

/// A holder for an object that's set once and then read by many threads without a lock.
///
/// The object is only accessible inside a closure: if every thread retained it for every token, the
/// processors would contend for its reference count.
///
/// The type is public, in a module that isn't part of any product, because the compiler doesn't
/// inline members of `package` types across modules.
@safe public struct SetOnce<Object: AnyObject & Sendable>: ~Copyable, Sendable {
    @usableFromInline internal let address = Atomic<UInt>(0)

    @inlinable
    package init() {}

    @inlinable
    deinit {
        unsafe Self.object(at: address.load(ordering: .acquiring))?.release()
    }

    /// Returns the result of a closure with the object, or `nil` if the object isn't set.
    @inlinable
    @inline(__always)
    package borrowing func withObject<Result>(_ body: (Object) -> Result) -> Result? {
        guard let object = unsafe Self.object(at: address.load(ordering: .acquiring)) else { return nil }
        return unsafe object._withUnsafeGuaranteedRef { body($0) }
    }

    /// Sets the object and returns `true`, unless it's already set.
    @inlinable
    package borrowing func set(_ object: Object) -> Bool {
        let retained = unsafe Unmanaged.passRetained(object)
        let new = unsafe UInt(bitPattern: retained.toOpaque())
        guard address.compareExchange(expected: 0, desired: new, ordering: .acquiringAndReleasing).exchanged else {
            unsafe retained.release()
            return false
        }
        return true
    }

    @inlinable
    @inline(__always)
    internal static func object(at address: UInt) -> Unmanaged<Object>? {
        unsafe UnsafeRawPointer(bitPattern: address).map { unsafe Unmanaged<Object>.fromOpaque($0) }
    }
}
