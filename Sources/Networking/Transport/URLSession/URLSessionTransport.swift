public import FoundationNetworking
import Synchronization

/// A transport on a `URLSession` of its own, for whoever brings a `URLSessionConfiguration`.
///
/// It serves custom `URLProtocol` classes (`protocolClasses`) and the settings that FoundationNetworking honors; use
/// `CurlTransport` for everything else. The configuration is copied; its cache, cookie storage and credential storage are
/// switched off, because a transport answers nothing by itself. Redirects are returned, not followed, and a 401
/// is returned with its body, whatever its challenge. The deadline and the size limit are the caller's
/// `HTTPTransportLimits`, not the configuration's timeouts.
///
/// What it can't do on Linux with Swift 6.3, and the public issue in swift-corelibs-foundation if there is one:
/// - The order and repetition of response header fields are lost: repeated ones are joined with `, `, names are
///   capitalized, and the fields come sorted by name.
/// - A body on `GET` is refused, here with ``NetworkError/Code/invalidRequest``. `POST` without a `Content-Type` gets
///   `application/x-www-form-urlencoded`. The order of request header fields is lost as well.
/// - A chunked response with trailers, or a header that is cut off after its status line, ends the process
///   ([#5285](https://github.com/swiftlang/swift-corelibs-foundation/issues/5285)).
/// - Responses with a status line without a reason, a header line without a space after its colon
///   ([#5527](https://github.com/swiftlang/swift-corelibs-foundation/issues/5527)) or an octet that is not UTF-8 fail.
/// - There is no way to trust other roots, to pin keys, to present a client certificate
///   ([#4937](https://github.com/swiftlang/swift-corelibs-foundation/issues/4937)) or to set a proxy
///   ([#5199](https://github.com/swiftlang/swift-corelibs-foundation/issues/5199)); the environment variables of
///   libcurl apply.
/// - Data is received faster than it is used ([#3204](https://github.com/swiftlang/swift-corelibs-foundation/issues/3204)):
///   an exchange that ends for its size or by cancellation may still receive some megabytes.
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
    private let lastIdentifier = Atomic<UInt64>(0)

    /// Makes a transport.
    ///
    /// - Parameter configuration: What the session is made with. `httpMaximumConnectionsPerHost` (6 by default) is also the
    ///   most exchanges that run at once with one scheme, host and port; others wait in line.
    public init(configuration: URLSessionConfiguration = .ephemeral) {
        engine = URLSessionEngine(configuration: configuration)
    }

    deinit {
        engine.close {}
    }

    /// Sends a request and returns its response.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - limits: The deadline and the size of body that the caller accepts.
    /// - Returns: The response, whatever its status.
    /// - Throws: ``NetworkError``: `invalidRequest` before anything is sent; `cannotResolveHost`, `cannotConnect`, `tls`,
    ///   `connectionLost`, `invalidResponse`, `bodyTooLarge` or `unknown` for what URLSession reports; `timedOut`,
    ///   `cancelled` or `closed` at any time.
    public func send(
        _ request: HTTPTransportRequest,
        limits: HTTPTransportLimits
    ) async throws -> HTTPTransportResponse {
        let submission = try URLSessionSubmission(
            identifier: lastIdentifier.add(1, ordering: .relaxed).newValue,
            request: request,
            limits: limits
        )
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                engine.submit(submission, continuation)
            }
        } onCancel: {
            submission.cancel()
            engine.cancel(submission.identifier)
        }.get()
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
