/// What is particular about the requests of an operation; interceptors see it in their ``InterceptorContext``.
public struct RequestTraits: Sendable, Hashable {
    /// The statuses that are not an error; 200…299 by default.
    public var acceptedStatuses: AcceptedStatuses
    /// Whether sending the request twice has the effect of sending it once; `nil`, the default, for what its method says.
    public var isIdempotent: Bool?

    /// Makes traits.
    ///
    /// - Parameters:
    ///   - acceptedStatuses: The statuses that are not an error.
    ///   - isIdempotent: Whether sending the request twice has the effect of sending it once; `nil` for what its method says.
    public init(acceptedStatuses: AcceptedStatuses = .successful, isIdempotent: Bool? = nil) {
        self.acceptedStatuses = acceptedStatuses
        self.isIdempotent = isIdempotent
    }
}
