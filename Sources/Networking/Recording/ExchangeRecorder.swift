public import Foundation

/// A transport that records another transport's requests in a HAR 1.2 file.
///
/// Browsers' developer tools open the file, and ``ReplayTransport`` plays it back.
///
/// ```swift
/// let recorder = try ExchangeRecorder(CurlTransport(), folder: recordings)
/// let client = NetworkClient(transport: recorder)
/// ```
///
/// Each request on the wire is an entry, including retries and redirects. Secrets are removed by
/// the ``Redaction``. The file is a complete document after each entry, so a crash loses only
/// requests in progress.
public final class ExchangeRecorder: HTTPTransport {
    /// The handling of bodies that can't be redacted, such as images and XML.
    @nonexhaustive
    public enum OpaqueBodies: Sendable {
        /// Omits the body; playing it back fails.
        case omitted
        /// Records the body unchanged.
        case recorded
    }

    /// The file of this session.
    public var file: URL { recording.url }

    private let transport: any HTTPTransport
    private let recording: RecordingFile
    private let writer: HAREntryWriter
    private let timeSource: TimeSource
    private let reportFailure: @Sendable (any Error) -> Void

    /// Starts a session.
    ///
    /// - Parameters:
    ///   - transport: The transport that sends the requests.
    ///   - folder: The folder for the file, created if necessary with access for this user only.
    ///   - sessionLimit: The maximum number of sessions in the folder, including this one. Older
    ///     ones are removed. The default is 5.
    ///   - redaction: The redaction of secrets.
    ///   - opaqueBodies: The handling of bodies that can't be redacted. The default omits them.
    ///   - maximumBodySize: The largest recorded body, in bytes; larger ones are omitted. The
    ///     default is 10 MiB.
    ///   - timeSource: The clocks.
    ///   - reportFailure: Receives the error if an entry can't be written; the request doesn't
    ///     fail. The default writes to standard error.
    /// - Throws: The file system's error if the file can't be created.
    public init(
        _ transport: any HTTPTransport,
        folder: URL,
        sessionLimit: Int = 5,
        redaction: Redaction = .standard,
        opaqueBodies: OpaqueBodies = .omitted,
        maximumBodySize: Int = 10 << 20,
        timeSource: TimeSource = .system,
        reportFailure: @escaping @Sendable (any Error) -> Void = {
            FileHandle.standardError.write(Data("ExchangeRecorder: a request wasn't recorded: \($0)\n".utf8))
        }
    ) throws {
        self.transport = transport
        self.timeSource = timeSource
        self.reportFailure = reportFailure
        writer = HAREntryWriter(redaction: redaction, opaqueBodies: opaqueBodies, maximumBodySize: maximumBodySize)
        recording = try RecordingFile(in: folder, at: timeSource.date(), limit: sessionLimit)
    }

    /// Sends a request through the other transport and records it.
    ///
    /// A streamed response is recorded when its body has been read or cancelled.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - limits: The deadline and the maximum body size.
    /// - Returns: The response.
    /// - Throws: The other transport's error, which is recorded, too.
    public func send(
        _ request: HTTPTransportRequest,
        limits: HTTPTransportLimits
    ) async throws -> HTTPTransportResponse {
        let exchange = RecordedExchange(request, recorder: self)
        do {
            var response = try await transport.send(exchange.observedRequest, limits: limits)
            if let stream = response.stream {
                let body = RecordedBody(response, stream, exchange: exchange, limit: writer.maximumBodySize)
                response.stream = HTTPResponseBody(source: body)
            } else {
                exchange.end(.success(response))
            }
            return response
        } catch {
            exchange.end(.failure(error))
            throw error
        }
    }

    fileprivate func record(_ exchange: RecordedExchange, _ result: Result<HTTPTransportResponse, any Error>) {
        let duration = timeSource.now() - exchange.started
        do {
            try recording.append(
                writer.entry(
                    exchange.request,
                    result,
                    began: exchange.began,
                    duration: duration,
                    metrics: exchange.metrics.all.last
                )
            )
        } catch {
            reportFailure(error)
        }
    }

    fileprivate var moment: (ContinuousClock.Instant, Date) { (timeSource.now(), timeSource.date()) }
}

/// A request that is being recorded.
final class RecordedExchange: Sendable {
    let request: HTTPTransportRequest
    let began: Date
    let started: ContinuousClock.Instant
    let metrics = MetricsBox()
    private let recorder: ExchangeRecorder

    init(_ request: HTTPTransportRequest, recorder: ExchangeRecorder) {
        self.request = request
        self.recorder = recorder
        (started, began) = recorder.moment
    }

    /// The request with an observer for its metrics.
    var observedRequest: HTTPTransportRequest {
        var request = request
        metrics.observe(&request)
        return request
    }

    func end(_ result: Result<HTTPTransportResponse, any Error>) {
        recorder.record(self, result)
    }
}
