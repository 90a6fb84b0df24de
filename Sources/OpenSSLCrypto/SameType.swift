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
package func sameType<Source, Target>(_ value: Source, _ type: Target.Type) -> Target? {
    guard Source.self == type else { return nil }
    return unsafe unsafeBitCast(value, to: type)  // reason: the two types have just been found to be one
}
