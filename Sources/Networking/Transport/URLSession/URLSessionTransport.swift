public import FoundationNetworking
import Synchronization

/// A transport on its own `URLSession`, for callers that bring a `URLSessionConfiguration`.
///
/// - Warning: On Linux, a server can crash the process: some responses, such as a chunked one with trailers or a header that ends after
///   its status line, are a fatal error in Foundation. Its sockets are also inherited by the programs that the process starts. Use it for
///   servers that you trust; a client uses it only if you ask for it.
///
/// It serves custom `URLProtocol` classes (`protocolClasses`) and the settings that FoundationNetworking honors; use
/// `CurlTransport` for everything else. The configuration is copied; its cache, cookie storage and credential storage are
/// switched off, because a transport answers nothing by itself. Redirects are returned, not followed, and a 401
/// is returned with its body, whatever its challenge. The deadline, the timeouts and the size limit are the caller's
/// `HTTPTransportLimits`, not the configuration's. A malformed field among `httpAdditionalHeaders` fails every request with
/// ``NetworkError/Code/invalidRequest``.
///
/// What it can't do on Linux with Swift 6.3, and the public issue in swift-corelibs-foundation where one was found:
/// - The order and repetition of response header fields are lost: repeated ones are joined with `, `, names are
///   capitalized, and the fields come sorted by name.
/// - A body on `GET` is refused, here with ``NetworkError/Code/invalidRequest``. `POST` without a `Content-Type` gets
///   `application/x-www-form-urlencoded`, and a request without `User-Agent` or `Accept-Language` gets Foundation's. The
///   order of request header fields is lost as well.
/// - Bodies from files and streams are read into memory, up to a limit, before anything is sent: an upload from a file that
///   is cancelled, or answered early, while the file is read ends the process, and a body stream blocks every session while
///   it waits. What is sent has a `Content-Length`, never the chunked coding.
/// - A chunked response with trailers, or a header that is cut off after its status line, ends the process
///   ([#5285](https://github.com/swiftlang/swift-corelibs-foundation/issues/5285)).
/// - Responses with a status line without a reason, a header line without a space after its colon
///   ([#5527](https://github.com/swiftlang/swift-corelibs-foundation/issues/5527)) or an octet that is not UTF-8 fail.
/// - There is no way to trust other roots, to pin keys, to present a client certificate
///   ([#4937](https://github.com/swiftlang/swift-corelibs-foundation/issues/4937)) or to set a proxy
///   ([#5199](https://github.com/swiftlang/swift-corelibs-foundation/issues/5199)); the environment variables of
///   libcurl apply.
/// - Data is received faster than it is used ([#3204](https://github.com/swiftlang/swift-corelibs-foundation/issues/3204)):
///   a streamed body that is read slowly is held in memory up to the caller's `maximumBodySize`, and an exchange that ends for
///   its size or by cancellation may still receive some megabytes.
/// - Trailers are not known. A redirect is reported when its body has ended, and without the body if it has no `Location`
///   ([#2752](https://github.com/swiftlang/swift-corelibs-foundation/pull/2752)).
/// - Nothing is known of connections ([#4988](https://github.com/swiftlang/swift-corelibs-foundation/issues/4988)): no event and
///   no metric tells of names, connections or handshakes, octets received are counted after content decoding, and the
///   first-byte timeout of a request without a body counts from when URLSession gets it, connecting included.
/// - If a kept connection turns out to be dead, libcurl sends a request without a body again, whatever its method. One with a
///   body, which FoundationNetworking could not begin anew, fails with ``NetworkError/Code/connectionLost``.
/// - What a server sends on a connection that is idle is taken for the response to the next request, with a libcurl that does
///   not look before it uses a connection again (7.88 is one), and neither contradictory `Content-Length` fields nor a compressed
///   body that is cut short in a whole message are noticed.
/// - All sessions of the process share one thread
///   ([#5016](https://github.com/swiftlang/swift-corelibs-foundation/pull/5016)), which bounds it to some thousand
///   exchanges per second, and memory grows by about a hundred octets with each exchange.
/// - The protocol's version is not known; ``HTTPTransportResponse/version`` is empty.
///
/// The asynchronous functions of `URLSession`, which can block every session of the process when a task is cancelled
/// ([#5412](https://github.com/swiftlang/swift-corelibs-foundation/issues/5412)) and never end after a `Basic` challenge
/// ([#5456](https://github.com/swiftlang/swift-corelibs-foundation/issues/5456)), are not used, and neither is the
/// cache, with which cancelling can end the process
/// ([#3296](https://github.com/swiftlang/swift-corelibs-foundation/issues/3296)).
public final class URLSessionTransport: HTTPTransport {
    private let engine: URLSessionEngine
    /// The error for a header field that no request may have, if the configuration has one.
    private let defect: NetworkError?
    private let maximumRequestBodySize: Int
    private let lastIdentifier = Atomic<UInt64>(0)

    /// Makes a transport.
    ///
    /// - Parameters:
    ///   - configuration: What the session is made with. `httpMaximumConnectionsPerHost` (6 by default) is also the
    ///     most exchanges that run at once with one scheme, host and port; others wait in line.
    ///   - maximumRequestBodySize: The most octets of a file or of parts that are brought into memory to be sent; 64 MiB by
    ///     default. A larger body is refused with ``NetworkError/Code/invalidRequest``.
    public init(configuration: URLSessionConfiguration = .ephemeral, maximumRequestBodySize: Int = 64 << 20) {
        engine = URLSessionEngine(configuration: configuration)
        defect = Self.defect(of: configuration)
        self.maximumRequestBodySize = maximumRequestBodySize
    }

    deinit {
        engine.close {}
    }

    /// Sends a request and returns its response.
    ///
    /// With ``HTTPTransportLimits/streamsBody`` it returns as soon as URLSession reports the header; of a redirect, when all of it is
    /// there. URLSession can't be told to wait: what is received before it is read is held in memory, up to
    /// ``HTTPTransportLimits/maximumBodySize``, and then the exchange fails with ``NetworkError/Code/bodyTooLarge``. A body
    /// that is being received keeps the transport.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - limits: The deadline, the timeouts and the size of body that the caller accepts; they hold until the body's end.
    /// - Returns: The response, whatever its status.
    /// - Throws: ``NetworkError``: `invalidRequest` before anything is sent; `cannotResolveHost`, `cannotConnect`, `tls`,
    ///   `connectionLost`, `invalidResponse`, `bodyTooLarge` or `unknown` for what URLSession reports; `timedOut`,
    ///   `cancelled` or `closed` at any time. What happens after the header of a streamed body is thrown by its stream.
    public func send(
        _ request: HTTPTransportRequest,
        limits: HTTPTransportLimits
    ) async throws -> HTTPTransportResponse {
        if let defect { throw defect }
        let submission = try await URLSessionSubmission(
            identifier: lastIdentifier.add(1, ordering: .relaxed).newValue,
            request: request,
            limits: limits,
            maximumRequestBodySize: maximumRequestBodySize
        )
        // The body of a stream holds this, and with it the transport.
        let giveUp: @Sendable () -> Void = { [self] in engine.cancel(submission.identifier) }
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                engine.submit(submission, continuation, givingUp: limits.streamsBody ? giveUp : nil)
            }
        } onCancel: {
            submission.cancel()
            giveUp()
        }.get()
    }

    /// Looks for header fields that would change the request on the wire.
    private static func defect(of configuration: URLSessionConfiguration) -> NetworkError? {
        for (name, value) in configuration.httpAdditionalHeaders ?? [:] {
            do throws(NetworkError) {
                try HTTPHeaders.Field(name: "\(name)", value: "\(value)").validate()
            } catch {
                return error
            }
        }
        return nil
    }

    /// Ends the transport: running exchanges fail with ``NetworkError/Code/closed``, and so does every later one.
    ///
    /// It returns when all of them have their outcome. Calling it again is harmless.
    public func close() async {
        await withCheckedContinuation { continuation in
            engine.close { continuation.resume() }
        }
    }
}
