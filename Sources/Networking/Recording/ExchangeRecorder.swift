public import Foundation

/// A transport that records what another one does, in a HAR 1.2 file that browsers' tools open and ``ReplayTransport`` plays back.
///
/// ```swift
/// let recorder = try ExchangeRecorder(CurlTransport(), folder: recordings)
/// let client = NetworkClient(transport: recorder)
/// ```
///
/// Each exchange on the wire is an entry: retries and redirects are entries of their own. Secrets are taken out as ``Redaction``
/// says. The file is a whole document after each entry, so that a crash loses no more than the exchange that was on its way.
public final class ExchangeRecorder: HTTPTransport {
    /// What becomes of bodies in which secrets can't be found, such as images and XML.
    @nonexhaustive
    public enum OpaqueBodies: Sendable {
        /// They are left out; playing them back fails.
        case omitted
        /// They are recorded as they are.
        case recorded
    }

    /// The file of this session.
    public var file: URL { recording.url }

    private let transport: any HTTPTransport
    private let recording: RecordingFile
    private let writer: HAREntryWriter
    private let timeSource: TimeSource
    private let reportFailure: @Sendable (any Error) -> Void

    /// Begins a session.
    ///
    /// - Parameters:
    ///   - transport: What moves the bytes.
    ///   - folder: Where the session's file goes; it is made if need be, for this user only.
    ///   - sessionLimit: How many sessions are kept in the folder, this one included; older ones are removed.
    ///   - redaction: What is taken out.
    ///   - opaqueBodies: What becomes of bodies in which secrets can't be found.
    ///   - maximumBodySize: The largest body that is recorded, in octets; larger ones are left out.
    ///   - timeSource: Where time comes from.
    ///   - reportFailure: Is told when an entry can't be written, which fails no request; by default standard error is.
    /// - Throws: The file system's error if the file can't be made.
    public init(
        _ transport: any HTTPTransport,
        folder: URL,
        sessionLimit: Int = 5,
        redaction: Redaction = .standard,
        opaqueBodies: OpaqueBodies = .omitted,
        maximumBodySize: Int = 10 << 20,
        timeSource: TimeSource = .system,
        reportFailure: @escaping @Sendable (any Error) -> Void = {
            FileHandle.standardError.write(Data("ExchangeRecorder: an exchange was not recorded: \($0)\n".utf8))
        }
    ) throws {
        self.transport = transport
        self.timeSource = timeSource
        self.reportFailure = reportFailure
        writer = HAREntryWriter(redaction: redaction, opaqueBodies: opaqueBodies, maximumBodySize: maximumBodySize)
        recording = try RecordingFile(in: folder, at: timeSource.date(), limit: sessionLimit)
    }

    /// Sends a request through the other transport, and records the exchange; one with a stream when its body has been read or given up.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - limits: The deadline and the size of body that the caller accepts.
    /// - Returns: The response.
    /// - Throws: What the other transport throws, which is recorded too.
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

/// An exchange on its way into the recording.
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

    /// The request as it is sent: somebody listens.
    var observedRequest: HTTPTransportRequest {
        var request = request
        metrics.observe(&request)
        return request
    }

    func end(_ result: Result<HTTPTransportResponse, any Error>) {
        recorder.record(self, result)
    }
}
