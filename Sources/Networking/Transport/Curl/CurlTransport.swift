import Synchronization

/// The default transport: libcurl's multi interface, driven by one thread of its own.
///
/// It speaks HTTP/1.1 and, where TLS negotiates it, HTTP/2; keeps connections for later requests; decodes all content
/// codings that libcurl has; and verifies TLS peers and their names, with TLS 1.2 as the oldest version. `Content-Encoding`
/// and `Content-Length` are removed from a response whose body was decoded.
///
/// Nothing is added to a request but what the protocol needs (`Host`, `Content-Length`) and, unless the caller gives
/// them, `Accept: */*` and `Accept-Encoding`: no `Expect`, no `Content-Type`, no `User-Agent`, no cookies, no credentials.
///
/// Cancelling a task ends its exchange at once and leaves the others alone. A deadline covers the whole exchange,
/// waiting for a connection included, and is kept to the millisecond.
///
/// If a connection taken from the pool turns out to be dead before a byte of the response came, libcurl sends the request
/// again on a new connection, but only if its method is idempotent
/// ([RFC 9110 §9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2)); others fail with
/// ``NetworkError/Code/connectionLost``.
///
/// One transport may be used by any number of tasks. Dropping the last reference ends the thread and closes the
/// connections; ``close()`` does the same and waits for it. It does not survive `fork()`: a child process must make its
/// own.
///
/// - Note: With a libcurl before 7.87, cancelling an exchange while its host's name is being resolved waits for the
///   resolver, and the other exchanges with it. Before 7.80, methods that are not idempotent use a new connection for each
///   request.
public final class CurlTransport: HTTPTransport {
    /// libcurl's version and the TLS library it uses, for example `libcurl/7.88.1 OpenSSL/3.0.19`.
    public let engineDescription: String

    private let mailbox: CurlMailbox
    private let thread: EngineThread
    private let lastIdentifier = Atomic<UInt64>(0)

    /// Makes a transport and starts its thread.
    ///
    /// - Parameter configuration: How it treats connections.
    /// - Throws: ``NetworkError`` with the code `transportUnavailable` if libcurl is missing or older than 7.68, or if the
    ///   process has no descriptor or thread left.
    public init(configuration: Configuration = Configuration()) throws(NetworkError) {
        let library = try CurlLibrary.load()
        let mailbox = CurlMailbox(poller: try EventPoller())
        self.mailbox = mailbox
        thread = try EngineThread {
            CurlLoop(mailbox: mailbox, configuration: configuration).run()
        }
        engineDescription = "libcurl/\(library.version) \(library.tlsBackend)"
    }

    deinit {
        mailbox.close()
    }

    /// Sends a request and returns its response.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - limits: The deadline and the size of body that the caller accepts.
    /// - Returns: The final response, whatever its status.
    /// - Throws: ``NetworkError``: `invalidRequest` before anything is sent; `cannotResolveHost`, `cannotConnect` or `tls`
    ///   before the request is sent; `connectionLost`, `invalidResponse` or `bodyTooLarge` while the response is received;
    ///   `timedOut`, `cancelled` or `closed` at any time.
    public func send(
        _ request: HTTPTransportRequest,
        limits: HTTPTransportLimits
    ) async throws -> HTTPTransportResponse {
        let exchange = CurlExchange(
            identifier: lastIdentifier.add(1, ordering: .relaxed).newValue,
            request: try CurlRequest(request),
            limits: limits
        )
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                mailbox.submit(CurlSubmission(exchange: exchange, continuation: continuation))
            }
        } onCancel: {
            exchange.cancel()
            mailbox.cancel(exchange.identifier)
        }.get()
    }

    /// Ends the transport: running exchanges fail with ``NetworkError/Code/closed``, and so does every later one.
    ///
    /// It returns when the connections are closed and the thread has ended. Calling it again is harmless.
    public func close() async {
        await withCheckedContinuation { continuation in
            mailbox.close(continuation)
        }
        thread.join()
    }
}
