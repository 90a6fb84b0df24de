/// The value itself if its type is the one that is asked for; else `nil`.
///
/// What `as?` does between concrete types, at the cost of comparing two addresses. It is here because this is the module
/// that may use what the compiler can't check.
///
/// - Parameters:
///   - value: A value of a generic type.
///   - type: The type that it may have.
/// - Returns: The value, if `Source` and `Target` are the same type.
@inlinable
@inline(__always)
package func sameType<Source, Target>(_ value: Source, _ type: Target.Type) -> Target? {
    guard Source.self == type else { return nil }
    return unsafe unsafeBitCast(value, to: type)  // reason: the two types have just been found to be one
}

/// The value itself as one of the type that it is known to have.
///
/// For a generic `Target`, of which an optional would have to be looked up by the runtime first.
///
/// - Parameters:
///   - value: A value.
///   - type: Its type; another one is a programming error and traps.
/// - Returns: The value.
@inlinable
@inline(__always)
package func knownType<Source, Target>(_ value: Source, _ type: Target.Type) -> Target {
    precondition(Source.self == type)  // reason: the caller has compared the types
    return unsafe unsafeBitCast(value, to: type)  // reason: the types have just been found to be one
}
