/// A message of another thread to the engine's.
enum CurlMessage: Sendable {
    case submit(CurlSubmission)
    /// The caller gives up an exchange, which may have ended already or come later.
    case cancel(UInt64)
    /// An exchange can go on: its reader made room, or the next part of its body is there.
    case resume(UInt64)
    /// The resolver's answer for an exchange that waits for the addresses of a name.
    case answer(UInt64, NameResolver.Answer)
    /// The engine stops when all exchanges have ended, at last at a time; the continuation is resumed when it has.
    case close(at: ContinuousClock.Instant, CheckedContinuation<Void, Never>?)
}

extension NetworkError {
    static var transportClosed: Self { Self(.closed, "the transport was closed") }
}
