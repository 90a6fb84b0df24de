public import Foundation
import Glibc
import Synchronization

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
            let line = "ExchangeRecorder: a request wasn't recorded: \($0)\n"
            try? FileHandle.standardError.write(contentsOf: Data(line.utf8))
        }
    ) throws {
        self.transport = transport
        self.timeSource = timeSource
        self.reportFailure = reportFailure
        writer = HAREntryWriter(
            redaction: redaction,
            opaqueBodies: opaqueBodies,
            maximumBodySize: max(0, maximumBodySize)
        )
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

final class RecordedBody: HTTPResponseBodySource {
    private struct State {
        var data = Data()
        var receivedCount = 0
        /// Records the response, or `nil` if that has happened.
        var record: (@Sendable (Result<HTTPTransportResponse, any Error>) -> Void)?
    }

    private let response: HTTPTransportResponse
    private let stream: HTTPResponseBody
    private let limit: Int
    private let state: Mutex<State>

    init(
        _ response: HTTPTransportResponse,
        _ stream: HTTPResponseBody,
        limit: Int,
        _ record: @escaping @Sendable (Result<HTTPTransportResponse, any Error>) -> Void
    ) {
        self.response = response
        self.stream = stream
        self.limit = limit
        state = Mutex(State(record: record))
    }

    deinit {
        end(error: nil)
    }

    var trailers: HTTPHeaders { stream.trailers }

    func next() async throws -> Data? {
        do {
            var iterator = stream.makeAsyncIterator()
            guard let part = try await iterator.next() else {
                end(error: nil)
                return nil
            }
            state.withLock { state in
                state.receivedCount += part.count
                if state.receivedCount <= limit { state.data.append(part) } else { state.data = Data() }
            }
            return part
        } catch {
            end(error: error)
            throw error
        }
    }

    func cancel() {
        stream.cancel()
        end(error: CancellationError())
    }

    private func end(error: (any Error)?) {
        let ended = state.withLock { state in
            defer { state.record = nil }
            return state
        }
        guard let record = ended.record else { return }
        if let error { return record(.failure(error)) }
        // A body over the limit is omitted entirely, because a part would play back as the whole.
        let body = ended.receivedCount > limit ? Data(count: limit + 1) : ended.data
        var response = response
        (response.body, response.trailers, response.stream) = (body, stream.trailers, nil)
        record(.success(response))
    }
}

/// The file of a recording session, which is a complete HAR document at all times.
///
/// An entry and the end of the document are written at once over the previous end.
final class RecordingFile: Sendable {
    private struct State {
        let handle: FileHandle
        var end: UInt64
        var isFirst = true
    }

    let url: URL
    private let state: Mutex<State>

    /// Removes the oldest sessions beyond the limit.
    init(in folder: URL, at date: Date, limit: Int) throws {
        let files = FileManager.default
        try files.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        url = folder.appending(path: Self.name(date))
        // The file contains bodies, so only this user can read it.
        guard
            files.createFile(
                atPath: url.path,
                contents: Data((HARLog.head + HARLog.tail).utf8),
                attributes: [.posixPermissions: 0o600]
            )
        else { throw CocoaError(.fileWriteUnknown) }
        state = Mutex(State(handle: try FileHandle.opened(url.path, O_WRONLY), end: UInt64(HARLog.head.utf8.count)))
        try Self.removeOldest(in: folder, limit: limit)
    }

    func append(_ entry: HAREntry) throws {
        let line = try HARLog.line(entry)
        try state.withLock { state in
            let text = Data((state.isFirst ? "" : ",\n").utf8) + line
            do {
                try state.handle.seek(toOffset: state.end)
                try state.handle.write(contentsOf: text + Data("\n\(HARLog.tail)".utf8))
            } catch {
                // A full disk must not damage the existing entries.
                try? state.handle.truncate(atOffset: state.end)
                try? state.handle.write(contentsOf: Data(HARLog.tail.utf8))
                throw error
            }
            state.end += UInt64(text.count)
            state.isFirst = false
        }
    }

    // MARK: Names

    /// Returns a name that sorts by time, without colons, which some file systems don't support.
    private static func name(_ date: Date) -> String {
        let time = date.harText.replacingOccurrences(of: ":", with: "-")
        return "session-\(time)-\(String(format: "%08x", UInt32.random(in: .min ... .max))).har"
    }

    private static func removeOldest(in folder: URL, limit: Int) throws {
        // Only remove files named by this type; the folder may contain others.
        let pattern = /session-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d+Z-[0-9a-f]{8}\.har/
        let sessions = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0.wholeMatch(of: pattern) != nil }.sorted()
        for name in sessions.dropLast(max(1, limit)) {
            try FileManager.default.removeItem(at: folder.appending(path: name))
        }
    }
}
