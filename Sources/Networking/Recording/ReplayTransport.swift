public import Foundation
import Synchronization

/// A transport that plays back a HAR 1.2 recording from ``ExchangeRecorder`` or a browser.
///
/// ```swift
/// let transport = try ReplayTransport(Data(contentsOf: recording))
/// let client = NetworkClient(transport: transport)
/// ```
///
/// Requests with the same method and URL, regardless of the order of the query's parameters, get
/// the recorded responses in order; the last one repeats. A recorded failure is thrown again. A
/// request that wasn't recorded fails with ``NetworkError/Code/notRecorded`` and a message that
/// lists the recorded requests. Requests are redacted before they're compared. For a strict test,
/// check afterwards that ``unusedRequests`` is empty.
public final class ReplayTransport: HTTPTransport {
    private let entries: [HAREntry]
    private let comparesBodies: Bool
    private let redaction: Redaction
    private let names: [String]
    private let uses: Mutex<[Int]>

    /// Creates a transport from a recording.
    ///
    /// - Parameters:
    ///   - har: The recording.
    ///   - comparesBodies: Whether the bytes of the body must match, too. An omitted body in the
    ///     recording matches any body. The default is `false`.
    ///   - redaction: The redaction used for the recording.
    /// - Throws: ``NetworkError`` with the code `decoding` if the data isn't a recording.
    public init(_ har: Data, comparesBodies: Bool = false, redaction: Redaction = .standard) throws(NetworkError) {
        entries = try HARLog(har).entries
        self.comparesBodies = comparesBodies
        self.redaction = redaction
        names = entries.map { Self.name($0, redaction) }
        uses = Mutex(Array(repeating: 0, count: entries.count))
    }

    /// The recorded requests not made yet, such as `GET https://a.example/things`.
    public var unusedRequests: [String] {
        let uses = uses.withLock(\.self)
        return entries.indices.filter { uses[$0] == 0 }.map { names[$0] }
    }

    /// Returns the recorded response for a request, without delay.
    ///
    /// - Throws: ``NetworkError``: `notRecorded` if the request or its response's body isn't in the
    ///   recording; the recorded failure; `invalidRequest` or `bodyTooLarge`. It throws
    ///   `CancellationError` if the task is cancelled, or the recorded request was.
    public func send(
        _ request: HTTPRequest,
        limits: HTTPTransportLimits
    ) async throws -> HTTPTransportResponse {
        try request.validate()
        try Task.checkCancellation()
        let redaction = redaction.removingCredentials(of: request)
        let name = "\(request.method) \(Self.comparable(redaction.redacted(request.url)))"
        let body = comparesBodies ? comparable(request, redaction) : nil
        let candidates = entries.indices.filter { index in
            guard names[index] == name else { return false }
            guard let body else { return true }
            let recorded = entries[index].request.postData.map(\.octets) ?? Data()
            return recorded == nil || recorded == body
        }
        let chosen = uses.withLock { uses -> Int? in
            guard let index = candidates.first(where: { uses[$0] == 0 }) ?? candidates.last else { return nil }
            uses[index] += 1
            return index
        }
        guard let chosen else {
            let reason = names.contains(name) ? " with this body" : ""
            throw NetworkError(
                .notRecorded,
                "\(name)\(reason) isn't in the recording, which has \(Self.list(names))"
            )
        }
        return try response(of: entries[chosen], named: names[chosen], limits: limits)
    }

    private func response(
        of entry: HAREntry,
        named name: String,
        limits: HTTPTransportLimits
    ) throws -> HTTPTransportResponse {
        guard entry.response.status > 0 else {
            if entry.response._error == HAREntry.cancelled { throw CancellationError() }
            let code = entry.response._error.flatMap(NetworkError.Code.init(rawValue:)) ?? .unknown
            throw NetworkError(code, "the recorded request \(name) failed")
        }
        guard let body = entry.response.content.octets else {
            throw NetworkError(
                .notRecorded,
                "the body of \(name) was omitted from the recording; record it with opaqueBodies: .recorded"
            )
        }
        guard body.count <= limits.maximumBodySize else {
            throw NetworkError(.bodyTooLarge, "the response's body is larger than \(limits.maximumBodySize) bytes")
        }
        // Browsers record HTTP/2's pseudo-header fields, too.
        let fields = entry.response.headers.filter { !$0.name.hasPrefix(":") }
        return HTTPTransportResponse(
            status: entry.response.status,
            version: entry.response.httpVersion,
            headers: HTTPHeaders(fields.map { HTTPHeaders.Field(name: $0.name, value: $0.value) }),
            body: body
        )
    }

    private static func name(_ entry: HAREntry, _ redaction: Redaction) -> String {
        let url = URL(string: entry.request.url).map(redaction.redacted) ?? entry.request.url
        return "\(entry.request.method) \(comparable(url))"
    }

    /// Returns `nil` if the recorder would omit the body.
    private func comparable(_ request: HTTPRequest, _ redaction: Redaction) -> Data? {
        guard let body = request.body.held else { return nil }
        return redaction.redacted(body, contentType: request.headers["Content-Type"]).map { Data($0.utf8) } ?? body
    }

    /// Returns a URL without its fragment, with its parameters stably sorted by name.
    private static func comparable(_ url: String) -> String {
        let whole = url.prefix { $0 != "#" }
        guard let mark = whole.firstIndex(of: "?") else { return String(whole) }
        let parameters = whole[whole.index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false)
        guard parameters.count > 1 else { return String(whole) }
        let sorted = parameters.enumerated().sorted { left, right in
            let names = (left.element.prefix { $0 != "=" }, right.element.prefix { $0 != "=" })
            return names.0 == names.1 ? left.offset < right.offset : names.0 < names.1
        }
        return whole[...mark] + sorted.map(\.element).joined(separator: "&")
    }

    private static func list(_ names: [String]) -> String {
        let shown = names.prefix(5).joined(separator: ", ")
        return names.count > 5 ? "\(shown) and \(names.count - 5) more" : names.isEmpty ? "nothing" : shown
    }
}
