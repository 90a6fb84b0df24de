// reason for @safe: the unchecked variables are private to this type, and `withValue`, the only access to the value, lets nobody
// in while it is lent. The type is not Sendable.

/// A value that several holders of one reference change in turn.
///
/// Every access to a variable of a class is entered in a list by the runtime, which takes longer than most of what is done
/// here with one. A flag of the box's own keeps the same rule: an access inside of another one traps.
///
/// It is public, in a module that no product offers, because the compiler inlines no member of a `package` type elsewhere.
@safe public final class ExclusiveBox<Value> {
    @usableFromInline @exclusivity(unchecked) internal var value: Value
    @usableFromInline @exclusivity(unchecked) internal var isLent = false

    /// Puts a value into a new box.
    ///
    /// - Parameter value: The value.
    @inlinable
    package init(_ value: consuming Value) {
        unsafe self.value = value
    }

    /// Lends the value for the time of a call.
    ///
    /// - Parameter body: Reads or changes it, without coming back to the box.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    @inlinable
    @inline(__always)
    package func withValue<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        precondition(unsafe !isLent)  // reason: two who change one value at a time is a programming error
        unsafe isLent = true
        defer { unsafe isLent = false }
        return try unsafe body(&value)
    }
}
