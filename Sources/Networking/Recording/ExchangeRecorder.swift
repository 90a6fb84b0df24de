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
    /// - Throws: The other transport's error, which is recorded, too.
    public func send(
        _ request: HTTPRequest,
        limits: HTTPTransportLimits
    ) async throws -> HTTPTransportResponse {
        let (started, began, metrics) = (timeSource.now(), timeSource.date(), MetricsBox())
        let record: @Sendable (Result<HTTPTransportResponse, any Error>) -> Void = { [self] result in
            let duration = timeSource.now() - started
            do {
                try recording.append(
                    writer.entry(request, result, began: began, duration: duration, metrics: metrics.all.last)
                )
            } catch {
                reportFailure(error)
            }
        }
        var observed = request
        metrics.observe(&observed)
        do {
            var response = try await transport.send(observed, limits: limits)
            if let stream = response.stream {
                let body = RecordedBody(response, stream, limit: writer.maximumBodySize, record)
                response.stream = HTTPResponseBody(source: body)
            } else {
                record(.success(response))
            }
            return response
        } catch {
            record(.failure(error))
            throw error
        }
    }
}
