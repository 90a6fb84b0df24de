/// A message from another thread to the engine's thread.
enum CurlMessage: Sendable {
    case submit(CurlSubmission)
    /// Starts a waiting request, which may have ended; another engine has counted it as running.
    case admit(UInt64, HTTPOrigin)
    /// Cancels a request, which may have ended already or not have arrived yet.
    case cancel(UInt64)
    /// Resumes a request whose reader has taken data or whose next body part is available.
    case resume(UInt64)
    /// Delivers the resolver's answer to a request that's waiting for it.
    case answer(UInt64, NameResolver.Answer)
    /// Stops the engine when all requests have ended, or at a time, then resumes the caller.
    case close(at: ContinuousClock.Instant, CurlCloser?)
}
