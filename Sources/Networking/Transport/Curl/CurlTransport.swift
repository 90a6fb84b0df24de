/// The default transport: libcurl's multi interface, driven by one thread of its own.
///
/// It speaks HTTP/1.1 and, where TLS negotiates it, HTTP/2; keeps connections for later requests; decodes the content
/// codings gzip, deflate, br and zstd, and notices when one of them is cut short; and verifies TLS peers and their names, with TLS 1.2 as the oldest version; ``Configuration/tls`` can demand more. `Content-Encoding`
/// and `Content-Length` are removed from a response whose body was decoded.
///
/// Nothing is added to a request but what the protocol needs (`Host`, `Content-Length`) and, unless the caller gives
/// them, `Accept: */*` and `Accept-Encoding`: no `Expect`, no `Content-Type`, no `User-Agent`, no cookies, no credentials. The URL and
/// the header fields may have 900 000 octets together; more fails with ``NetworkError/Code/invalidRequest``.
///
/// Cancelling a task ends its exchange at once and leaves the others alone. A deadline covers the whole exchange,
/// waiting for a connection included, and is kept to the millisecond.
///
/// A request is sent again, at most six times in all and before its deadline, if it certainly was not processed: it found its kept
/// connection dead before any of it was sent, or an HTTP/2 server said so with `REFUSED_STREAM` or GOAWAY
/// ([RFC 9113 §8.7](https://www.rfc-editor.org/rfc/rfc9113#section-8.7)). If a kept connection dies later and before a byte of the
/// response came, only a request with an idempotent method is
/// ([RFC 9110 §9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2)); others fail with
/// ``NetworkError/Code/connectionLost``. So does one whose body can't be made again, if some of it was sent. A 417 is returned like
/// any other status, but without its body, which libcurl skips.
///
/// One transport may be used by any number of tasks. Dropping the last reference ends the thread and closes the
/// connections; ``close()`` does the same and waits for it. The thread and its descriptors exist from the first exchange on; from then
/// on the transport doesn't survive `fork()`: a child process must make its own.
///
/// Names are looked up by the system's resolver (`getaddrinfo`), one lookup per name at a time and at most 32 at once in the whole
/// process. A lookup can't be cancelled: one that hangs counts until the system gives up, even if its exchange has ended. Each pool of
/// connections keeps a name's addresses for 60 seconds.
///
/// - Note: With a libcurl before 7.80, methods that are not idempotent use a new connection for each request.
public final class CurlTransport: HTTPTransport {
    /// libcurl's version and the TLS library it uses, for example `libcurl/7.88.1 OpenSSL/3.0.19`.
    public let engineDescription: String

    /// Whether servers that ask for a client certificate are shown one.
    package let hasClientIdentity: Bool

    private let engine: CurlEngine

    /// Makes a transport, whose thread starts with its first exchange.
    ///
    /// - Parameter configuration: How it treats connections and messages.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if a value of the configuration makes no sense; `transportUnavailable` if
    ///   libcurl is missing, older than 7.75 or without what the configuration asks for, or if ``Configuration/tls`` can't be held to
    ///   because libcurl does not use the OpenSSL that this process uses.
    public init(configuration: Configuration = Configuration()) throws(NetworkError) {
        let library = try CurlLibrary.load()
        try configuration.validate()
        var configuration = configuration
        try configuration.prepareTLS(with: library)
        engine = CurlEngine(configuration: configuration)
        hasClientIdentity = configuration.tls.clientIdentity != nil
        engineDescription = "libcurl/\(library.version) \(library.tlsBackend)"
    }

    /// Sends a request and returns its response.
    ///
    /// With ``HTTPTransportLimits/streamsBody`` it returns as soon as the header is there. A reader of the body that falls behind stops
    /// its own exchange only: at most ``Configuration/streamBufferSize`` octets wait in memory, beside what libcurl has just read. The
    /// exchange runs on until its body is read to its end, given up or dropped, even when the transport itself is no longer referred to.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - limits: The deadline and the size of body that the caller accepts; both hold until the body's end.
    /// - Returns: The final response, whatever its status.
    /// - Throws: ``NetworkError``: `invalidRequest` before anything is sent, or if the request's body can't be made or is not as long
    ///   as it said; `cannotResolveHost`, `cannotConnect` or `tls` before the request is sent; `connectionLost`,
    ///   `invalidResponse` or `bodyTooLarge` while the response is received; `timedOut`, `cancelled` or `closed` at any
    ///   time; `transportUnavailable` after `fork()`, or if the process has no descriptor or thread left. What goes wrong after the
    ///   header of a streamed body is thrown by its stream.
    public func send(
        _ request: HTTPTransportRequest,
        limits: HTTPTransportLimits
    ) async throws -> HTTPTransportResponse {
        try engine.start()
        let exchange = CurlExchange(
            identifier: engine.nextIdentifier(),
            request: try CurlRequest(request),
            limits: limits
        )
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let recipient: CurlSubmission.Recipient =
                    limits.streamsBody
                    ? .parts(CurlResponseStream(exchange.identifier, engine, head: continuation)) : .whole(continuation)
                engine.submit(CurlSubmission(exchange: exchange, recipient: recipient))
            }
        } onCancel: {
            exchange.cancel()
            engine.cancel(exchange.identifier)
        }.get()
    }

    /// Ends the transport: running exchanges fail with ``NetworkError/Code/closed``, and so does every later one.
    ///
    /// It returns when the connections are closed and the thread has ended. Calling it again is harmless.
    public func close() async {
        await engine.close(after: .zero)
    }

    /// Ends the transport when its exchanges have ended; later ones fail with ``NetworkError/Code/closed``.
    ///
    /// An exchange whose body is being read has ended when the body's last octet was received. It returns when the connections are
    /// closed and the thread has ended.
    ///
    /// - Parameter patience: How long exchanges may still run; then they fail with ``NetworkError/Code/closed``, too.
    public func shutdown(within patience: Duration) async {
        await engine.close(after: patience)
    }
}
