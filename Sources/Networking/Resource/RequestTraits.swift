/// The properties of an operation's requests, which interceptors find in their
/// ``InterceptorContext``.
public struct RequestTraits: Sendable, Hashable {
    /// The status codes that aren't errors; the default is 200…299.
    public var acceptedStatuses: AcceptedStatuses
    /// A Boolean value that indicates whether sending the request twice has the same effect as
    /// sending it once; with `nil`, the default, the method decides.
    public var isIdempotent: Bool?

    /// Creates traits.
    ///
    /// - Parameters:
    ///   - acceptedStatuses: The status codes that aren't errors. The default is 200…299.
    ///   - isIdempotent: Whether sending the request twice has the same effect as sending it once.
    ///     With `nil`, the default, the method decides.
    public init(acceptedStatuses: AcceptedStatuses = .successful, isIdempotent: Bool? = nil) {
        self.acceptedStatuses = acceptedStatuses
        self.isIdempotent = isIdempotent
    }
}
