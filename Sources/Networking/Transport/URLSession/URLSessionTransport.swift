import Foundation
public import FoundationNetworking
import Synchronization

/// A transport on a dedicated `URLSession`, for callers that need a `URLSessionConfiguration`.
///
/// - Warning: On Linux, a server can crash the process: some responses, such as a chunked response
///   with trailers or a header that ends after its status line, are a fatal error in Foundation
///   ([#5285](https://github.com/swiftlang/swift-corelibs-foundation/issues/5285)). Programs that
///   the process starts also inherit its sockets. Use this transport only with servers that you
///   trust. A client uses it only if you configure it.
///
/// It supports custom `URLProtocol` classes (`protocolClasses`) and the settings that
/// FoundationNetworking honors. Use `CurlTransport` for everything else. The transport copies the
/// configuration and disables its cache, cookie storage and credential storage, because a transport
/// must not answer requests or challenges itself. Redirects are returned, not followed, and a 401
/// response is returned with its body, whatever its challenge. The deadline, timeouts and size
/// limit come from the caller's `HTTPTransportLimits`, not from the configuration. If
/// `httpAdditionalHeaders` contains a malformed field, every request fails with
/// ``NetworkError/Code/invalidRequest``.
///
/// The transport has these limitations on Linux with Swift 6.3, with links to public issues in
/// swift-corelibs-foundation where they exist:
/// - The order and repetition of response header fields are lost: repeated fields are joined with
///   `, `, names are capitalized and fields are sorted by name.
/// - A `GET` request with a body fails with ``NetworkError/Code/invalidRequest``. `POST` without a
///   `Content-Type` gets `application/x-www-form-urlencoded`, and a request without `User-Agent` or
///   `Accept-Language` gets Foundation's. The order of request header fields is lost too.
/// - Bodies from files and streams are read into memory, up to a limit, before anything is sent. In
///   FoundationNetworking, a file upload that is cancelled or answered early while the file is
///   being read crashes the process, and a body stream blocks every session while it waits.
///   Requests have a `Content-Length` and never use the chunked coding.
/// - A response fails if its status line has no reason, a header line has no space after the colon
///   ([#5527](https://github.com/swiftlang/swift-corelibs-foundation/issues/5527)) or a byte isn't
///   UTF-8.
/// - Custom roots, key pinning, client certificates
///   ([#4937](https://github.com/swiftlang/swift-corelibs-foundation/issues/4937)) and proxy
///   settings ([#5199](https://github.com/swiftlang/swift-corelibs-foundation/issues/5199)) aren't
///   supported. libcurl's environment variables apply.
/// - Data is received faster than it's read
///   ([#3204](https://github.com/swiftlang/swift-corelibs-foundation/issues/3204)). A streamed body
///   that's read slowly is buffered in memory up to the caller's `maximumBodySize`, and a request
///   that ends because of its size or cancellation may still receive several megabytes.
/// - Trailers aren't available. A redirect is reported when its body has ended, and without the
///   body if it has no `Location`
///   ([#2752](https://github.com/swiftlang/swift-corelibs-foundation/pull/2752)).
/// - Connections aren't observable
///   ([#4988](https://github.com/swiftlang/swift-corelibs-foundation/issues/4988)). No event or
///   metric covers names, connections or handshakes, and received bytes are counted after content
///   decoding. The first-byte timeout of a request without a body starts when URLSession receives
///   the request, so it includes connecting.
/// - If a kept connection turns out to be dead, libcurl resends a request without a body, whatever
///   its method. A request with a body, which FoundationNetworking can't restart, fails with
///   ``NetworkError/Code/connectionLost``.
/// - Data that a server sends on an idle connection is taken for the response to the next request
///   if libcurl doesn't check a connection before reusing it (7.88 doesn't). Contradictory
///   `Content-Length` fields, and a compressed body that's truncated within a complete message, go
///   unnoticed.
/// - All sessions of the process share one thread
///   ([#5016](https://github.com/swiftlang/swift-corelibs-foundation/pull/5016)), which limits
///   throughput to a few thousand requests per second. Memory grows by about 100 bytes per request.
/// - The protocol version isn't available; ``HTTPTransportResponse/version`` is empty.
public final class URLSessionTransport: HTTPTransport {
    private let engine: URLSessionEngine
    private let defect: NetworkError?
    private let maximumRequestBodySize: Int
    private let lastIdentifier = Atomic<UInt64>(0)

    /// Creates a transport.
    ///
    /// - Parameters:
    ///   - configuration: The configuration of the session. The default is `.ephemeral`. Its
    ///     `httpMaximumConnectionsPerHost` (6 by default) also limits the requests that run at once
    ///     per scheme, host and port; others wait.
    ///   - maximumRequestBodySize: The maximum size in bytes of a file or stream that's read into
    ///     memory to be sent. The default is 64 MiB. A larger body fails with
    ///     ``NetworkError/Code/invalidRequest``.
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
    /// With ``HTTPTransportLimits/streamsBody``, this method returns as soon as URLSession reports
    /// the header or, for a redirect, when the whole response has arrived. URLSession has no back
    /// pressure: unread data is buffered in memory up to ``HTTPTransportLimits/maximumBodySize``,
    /// and then the request fails with ``NetworkError/Code/bodyTooLarge``. A body that's being
    /// received keeps the transport alive.
    ///
    /// - Throws: ``NetworkError`` with the code `invalidRequest` before anything is sent,
    ///   `cannotResolveHost`, `cannotConnect`, `tls`, `connectionLost`, `invalidResponse`,
    ///   `bodyTooLarge` or `unknown` for failures that URLSession reports, and `timedOut` or
    ///   `closed` at any time. `CancellationError` if the task is cancelled. The stream of a
    ///   streamed body throws the errors that occur after the header.
    public func send(
        _ request: HTTPRequest,
        limits: HTTPTransportLimits
    ) async throws -> HTTPTransportResponse {
        if let defect { throw defect }
        try NetworkError.require(
            !limits.hasRates,
            "URLSession can't limit the bandwidth; remove maximumDownloadRate and maximumUploadRate, or use CurlTransport"
        )
        let submission = try await URLSessionSubmission(
            identifier: lastIdentifier.add(1, ordering: .relaxed).newValue,
            request: request,
            limits: limits,
            maximumRequestBodySize: maximumRequestBodySize
        )
        // The stream's body holds this closure, and therefore the transport.
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

    /// Closes the transport: running and later requests fail with ``NetworkError/Code/closed``.
    ///
    /// Returns when all running requests have ended. Calling it again has no effect.
    public func close() async {
        await withCheckedContinuation { continuation in
            engine.close { continuation.resume() }
        }
    }
}

/// A failure of a URLSession task, translated to a ``NetworkError``.
///
/// FoundationNetworking reports most failures as "unknown". Only libcurl's message, which it passes
/// on, distinguishes them.
struct URLSessionFailure {
    private let code: URLError.Code
    private let text: String
    private let origin: HTTPOrigin

    init(_ error: any Error, origin: HTTPOrigin) {
        code = (error as? URLError)?.code ?? .unknown
        text = String(error.localizedDescription.prefix(200))
        self.origin = origin
    }

    var networkError: NetworkError {
        switch code {
        case .timedOut: error(.timedOut, "\(origin) didn't respond within the timeout of the URLSessionConfiguration")
        case .cannotFindHost, .dnsLookupFailed: error(.cannotResolveHost, "the host of \(origin) can't be resolved")
        case .cannotConnectToHost, .notConnectedToInternet:
            isTLS ? tls : error(.cannotConnect, "can't connect to \(origin)")
        case .networkConnectionLost, .badServerResponse:
            isOtherHTTP ? malformed : error(.connectionLost, "the connection to \(origin) ended early")
        case .badURL: error(.invalidRequest, "URLSession can't read the URL of a request to \(origin)")
        case .unsupportedURL where isOtherHTTP, .cannotDecodeContentData, .cannotDecodeRawData, .cannotParseResponse:
            malformed
        case .unsupportedURL: error(.invalidRequest, "URLSession can't send to \(origin)")
        case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
            .serverCertificateNotYetValid, .serverCertificateHasUnknownRoot, .clientCertificateRejected,
            .clientCertificateRequired:
            tls
        default: unknown
        }
    }

    private var unknown: NetworkError {
        if isTLS {
            tls
        } else if Self.wordsOfLoss.contains(where: { text.contains($0) }) {
            error(.connectionLost, "the connection to \(origin) ended early")
        } else if isOtherHTTP || Self.wordsOfMalformation.contains(where: { text.contains($0) }) {
            malformed
        } else {
            error(.unknown, "the request to \(origin) failed")
        }
    }

    /// libcurl's messages for a lost connection, of 7.x and, since 8.17, "end of response with …".
    private static let wordsOfLoss = ["transfer closed", "end of response with", "Recv failure", "Send failure"]

    /// The capitalization differs by release.
    private static let wordsOfMalformation = ["chunk", "header", "Header", "ncoding"]

    private var tls: NetworkError { error(.tls, "the TLS handshake with \(origin) failed") }
    private var isTLS: Bool { ["SSL", "TLS", "certificate"].contains(where: { text.contains($0) }) }
    private var malformed: NetworkError { error(.invalidResponse, "\(origin) sent a malformed HTTP response") }
    private var isOtherHTTP: Bool { text.contains("HTTP/0.9") || text.contains("HTTP version") }

    private func error(_ code: NetworkError.Code, _ message: String) -> NetworkError {
        NetworkError(code, "\(message): \(text)")
    }
}
