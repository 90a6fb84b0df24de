/// The default transport, which runs libcurl's multi interface on dedicated threads.
///
/// The transport supports HTTP/1.1 and, where TLS negotiates it, HTTP/2. It keeps connections for
/// later requests. It decodes the content codings gzip, deflate, br and zstd and detects truncated
/// bodies. It verifies TLS peers and their names and requires TLS 1.2 or later;
/// ``Configuration/tls`` can require more. It removes `Content-Encoding` and `Content-Length` from
/// a response whose body it decoded.
///
/// The transport adds only what the protocol needs to a request (`Host`, `Content-Length`) and,
/// unless the caller sets them, `Accept: */*` and `Accept-Encoding`. It adds no `Expect`,
/// `Content-Type`, `User-Agent`, cookies or credentials. A header field is limited to 300,000
/// bytes, and the URL and all fields to 900,000 bytes; a larger request fails with
/// ``NetworkError/Code/invalidRequest``.
///
/// Cancelling a task ends its request at once without affecting others. A deadline covers the whole
/// request, including the wait for a connection, with millisecond precision. If a peer keeps the
/// transport's thread busy, for example with certificates that are expensive to parse, deadlines,
/// cancellations and ``close(within:)`` are up to 100 ms late.
///
/// The transport sends a request up to six times in total and within its deadline, if the request
/// certainly wasn't processed: either its kept connection was dead before any of it was sent, or an
/// HTTP/2 server rejected it with `REFUSED_STREAM` or GOAWAY
/// ([RFC 9113 §8.7](https://www.rfc-editor.org/rfc/rfc9113#section-8.7)). If a kept connection dies
/// later, before the response's first byte, the transport resends only requests with an idempotent
/// method ([RFC 9110 §9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2)). Other requests
/// fail with ``NetworkError/Code/connectionLost``, as does a partly sent request whose body can't
/// be produced again. A 417 response is returned without its body, which libcurl skips.
///
/// Any number of tasks can share a transport. A request creates the first thread and its
/// descriptors. If one thread can't keep up, requests use more of them, up to
/// ``Configuration/engineCount``. A thread ends when it has been idle for
/// ``Configuration/idleTimeout``. Releasing the last reference ends the threads and closes the
/// connections; ``close(within:)`` does the same and waits. Once used, the transport doesn't
/// survive `fork()`: a child process must create another one. ``poolState`` shows the connections
/// and requests of each origin.
///
/// The system's resolver (`getaddrinfo`) looks up names, with one lookup per name at a time and at
/// most 32 at once in the whole process. A lookup can't be cancelled: one that hangs counts until
/// the system gives up, even if its request has ended. Each connection pool caches a name's
/// addresses for ``Configuration/dnsCacheLifetime``.
public final class CurlTransport: HTTPTransport {
    /// For example `libcurl/7.88.1 OpenSSL/3.0.19`.
    package let engineDescription: String

    package let hasClientIdentity: Bool

    private let engines: CurlEngines
    private let configuration: Configuration

    /// Creates a transport, whose first thread starts with its first request.
    ///
    /// - Parameter configuration: The configuration of connections and messages.
    /// - Throws: ``NetworkError`` with one of these codes:
    ///   - `invalidRequest` if a value of the configuration is invalid.
    ///   - `transportUnavailable` if libcurl is missing, older than 7.81 or lacks a feature that
    ///     the configuration needs, or if libcurl doesn't use this process's OpenSSL and so can't
    ///     enforce ``Configuration/tls``.
    public init(configuration: Configuration = Configuration()) throws(NetworkError) {
        let library = try CurlLibrary.loaded.get()
        try configuration.validate()
        var configuration = configuration
        try configuration.prepareTLS(with: library)
        self.configuration = configuration
        engines = CurlEngines(configuration: configuration)
        hasClientIdentity = configuration.tls.clientIdentity != nil
        engineDescription = "libcurl/\(library.version) \(library.tlsBackend)"
    }

    /// Sends a request and returns its response.
    ///
    /// With ``HTTPTransportLimits/streamsBody``, this method returns as soon as the header arrives.
    /// A slow reader of the body pauses only its own request: at most
    /// ``Configuration/streamBufferSize`` bytes are buffered in memory, plus the data that libcurl
    /// has just read. The request keeps running until its body is read completely, cancelled or
    /// released, even if the transport itself is no longer referenced.
    ///
    /// - Throws: ``NetworkError`` with one of these codes:
    ///   - `invalidRequest` before anything is sent, or if the request's body can't be produced or
    ///     doesn't match its length.
    ///   - `cannotResolveHost`, `cannotConnect` or `tls` before the request is sent.
    ///   - `connectionLost`, `invalidResponse` or `bodyTooLarge` while the response is received.
    ///   - `timedOut` or `closed` at any time.
    ///   - `transportUnavailable` after `fork()`, or if the process is out of descriptors or
    ///     threads.
    ///
    ///   `CancellationError` if the task is cancelled. The stream of a streamed body throws the
    ///   errors that occur after the header.
    public func send(
        _ request: HTTPRequest,
        limits: HTTPTransportLimits
    ) async throws -> HTTPTransportResponse {
        let request = try CurlRequest(request, limits: limits)
        guard !configuration.forbids(host: request.origin) else { throw NetworkError.notPublic(request.origin) }
        let engine = engines.next()
        let exchange = CurlExchange(identifier: engine.nextIdentifier(), request: request, limits: limits)
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let recipient: CurlSubmission.Recipient =
                    limits.streamsBody
                    ? .parts(CurlResponseStream(exchange.identifier, engine, head: continuation)) : .whole(continuation)
                engine.submit(CurlSubmission(exchange: exchange, recipient: recipient))
            }
        } onCancel: {
            engine.cancel(exchange)
        }.get()
    }

    /// The current state of the connections and requests, by origin.
    ///
    /// It takes microseconds to get and doesn't disturb the requests. An origin without connections
    /// and requests may be missing if the transport knows more than a thousand origins.
    public var poolState: ConnectionPoolState {
        ConnectionPoolState(origins: engines.admission.snapshot, engines: engines.runningCount)
    }

    /// Returns the state of the connections and requests at regular intervals.
    ///
    /// ```swift
    /// for await state in transport.poolStates(every: .seconds(5)) {
    ///     report(state[apiURL]?.queuedRequests ?? 0)
    /// }
    /// ```
    ///
    /// - Parameter interval: The time between two states, from a millisecond to a year. The default
    ///   is one second.
    /// - Returns: The states, starting with the current one. The sequence ends when its task is
    ///   cancelled, and doesn't keep the transport alive.
    public func poolStates(every interval: Duration = .seconds(1)) -> some AsyncSequence<ConnectionPoolState, Never> {
        ConnectionPoolStates(interval: min(max(interval, .milliseconds(1)), .seconds(31_536_000)), transport: self)
    }

    /// Closes the transport: later requests fail with ``NetworkError/Code/closed``.
    ///
    /// A request whose body is being read ends when the last byte of the body has been received.
    /// This method returns when the connections are closed and the threads have ended, or a little
    /// after `patience` if a thread is busy then. You can call it again.
    ///
    /// - Parameter patience: The maximum time to wait for running requests. After that, they fail
    ///   with ``NetworkError/Code/closed`` too. The default is zero.
    public func close(within patience: Duration = .zero) async {
        await engines.close(after: patience)
    }
}
