/// An error of an authenticator that knows whether its cause is temporary.
package protocol RetryableError: Error {
    /// A Boolean value that indicates whether the same request may succeed later, unchanged.
    var isRetryable: Bool { get }
}
