public import Synchronization

// reason for @safe: the address is that of an object which the place has retained, from when it was set until the place goes.

/// A place for an object that is set once, and looked at by many threads without a lock.
///
/// The object is lent, not handed out: an object that every thread uses for every token would otherwise have its reference
/// count changed by all of them, and processors would wait for each other.
///
/// It is public, in a module that no product offers, because the compiler inlines no member of a `package` type elsewhere.
@safe public struct SetOnce<Object: AnyObject & Sendable>: ~Copyable, Sendable {
    @usableFromInline internal let address = Atomic<UInt>(0)

    /// Makes an empty place.
    @inlinable
    package init() {}

    @inlinable
    deinit {
        unsafe Self.object(at: address.load(ordering: .acquiring))?.release()
    }

    /// Lends the object for the time of a call.
    ///
    /// - Parameter body: Uses the object.
    /// - Returns: What `body` returns, or `nil` if no object was set.
    @inlinable
    @inline(__always)
    package borrowing func withObject<Result>(_ body: (Object) -> Result) -> Result? {
        guard let object = unsafe Self.object(at: address.load(ordering: .acquiring)) else { return nil }
        return unsafe object._withUnsafeGuaranteedRef { body($0) }
    }

    /// Sets the object, unless one was set before.
    ///
    /// - Parameter object: The object.
    /// - Returns: Whether it was set.
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
