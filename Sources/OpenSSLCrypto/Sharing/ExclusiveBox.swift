// reason for @safe: the unchecked variables are private to this type, and `withValue`, the only
// access to the value, traps on reentrance. The type isn't Sendable.

/// A mutable value behind a shared reference, for access by one caller at a time.
///
/// The runtime registers each access to a class's variable, which takes longer than most operations
/// here. Instead, the box's own flag enforces the same rule: overlapping access traps.
///
/// The type is public, in a module that isn't part of any product, because the compiler doesn't
/// inline members of `package` types across modules.
@safe public final class ExclusiveBox<Value> {
    @usableFromInline @exclusivity(unchecked) internal var value: Value
    @usableFromInline @exclusivity(unchecked) internal var isLent = false

    @inlinable
    package init(_ value: consuming Value) {
        unsafe self.value = value
    }

    /// Calls a closure with exclusive access to the value; the closure must not access the box
    /// again.
    @inlinable
    @inline(__always)
    package func withValue<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        precondition(unsafe !isLent)  // reason: overlapping access is a programming error
        unsafe isLent = true
        defer { unsafe isLent = false }
        return try unsafe body(&value)
    }
}
