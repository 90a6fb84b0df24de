public import Foundation
import Synchronization

/// A transport that answers from a recording in HAR 1.2, made by ``ExchangeRecorder`` or a browser.
///
/// ```swift
/// let transport = try ReplayTransport(contentsOf: recording)
/// let client = NetworkClient(transport: transport)
/// ```
///
/// Requests of the same method and URL, in whatever order the parameters of its query are, get the recorded responses in their order; the last one repeats. A failure that was recorded
/// is thrown again. A request that was not recorded fails with ``NetworkError/Code/notRecorded``, and the message says what is there.
/// Secrets that were taken out of a recorded URL or body are taken out of a request's before they are compared.
public final class ReplayTransport: HTTPTransport {
    /// What must be the same for a recorded response to be the answer.
    @nonexhaustive
    public enum Matching: Sendable {
        /// The method and the URL. The order of differently named parameters in its query does not count.
        case methodAndURL
        /// The body's octets too; recorded bodies that were left out match any.
        case methodURLAndBody
    }

    private struct State {
        /// How often each entry was the answer.
        var uses: [Int]
    }

    private let entries: [HAREntry]
    private let matching: Matching
    private let redaction: Redaction
    private let state: Mutex<State>

    /// Reads a recording from a file.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - matching: What must be the same.
    ///   - redaction: What was taken out of the recording.
    /// - Throws: The file system's error; ``NetworkError`` with the code `decoding` if it is no recording.
    public convenience init(
        contentsOf file: URL,
        matching: Matching = .methodAndURL,
        redaction: Redaction = .standard
    ) throws {
        try self.init(Data(contentsOf: file), matching: matching, redaction: redaction)
    }

    /// Reads a recording.
    ///
    /// - Parameters:
    ///   - har: The recording.
    ///   - matching: What must be the same.
    ///   - redaction: What was taken out of the recording.
    /// - Throws: ``NetworkError`` with the code `decoding` if it is no recording.
    public init(_ har: Data, matching: Matching = .methodAndURL, redaction: Redaction = .standard) throws(NetworkError)
    {
        entries = try HARLog(har).entries
        self.matching = matching
        self.redaction = redaction
        state = Mutex(State(uses: Array(repeating: 0, count: entries.count)))
    }

    /// Plays a recording strictly: fails at the end if an entry was not used.
    ///
    /// - Parameters:
    ///   - har: The recording.
    ///   - matching: What must be the same.
    ///   - redaction: What was taken out of the recording.
    ///   - body: What uses the transport.
    /// - Returns: What the closure returns.
    /// - Throws: ``NetworkError`` with the code `decoding` if it is no recording; what the closure throws; and if a recorded request was not made.
    public static func playing<Result>(
        _ har: Data,
        matching: Matching = .methodAndURL,
        redaction: Redaction = .standard,
        _ body: (ReplayTransport) async throws -> Result
    ) async throws -> Result {
        let transport = try ReplayTransport(har, matching: matching, redaction: redaction)
        let result = try await body(transport)
        try transport.checkAllUsed()
        return result
    }

    /// The recorded requests that nothing asked for yet, as `GET https://a.example/things`.
    public var unusedRequests: [String] {
        let uses = state.withLock { $0.uses }
        return entries.indices.filter { uses[$0] == 0 }.map { name(entries[$0]) }
    }

    /// Checks that every entry was the answer to a request.
    ///
    /// - Throws: ``NetworkError`` with the code `notRecorded`, naming the requests that did not come.
    func checkAllUsed() throws(NetworkError) {
        let unused = unusedRequests
        guard unused.isEmpty else {
            throw NetworkError(
                .notRecorded,
                "\(unused.count) of \(entries.count) recorded requests did not come: \(Self.list(unused))"
            )
        }
    }

    /// Answers a request from the recording.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - limits: The largest body; recorded responses come at once.
    /// - Returns: The recorded response.
    /// - Throws: ``NetworkError``: `notRecorded` for a request, or a body, that is not in the recording; a recorded failure;
    ///   `invalidRequest`, `cancelled` or `bodyTooLarge`.
    public func send(
        _ request: HTTPTransportRequest,
        limits: HTTPTransportLimits
    ) async throws -> HTTPTransportResponse {
        try request.validate()
        if Task.isCancelled { throw NetworkError(.cancelled, "the task was cancelled before the request was sent") }
        let name = "\(request.method) \(Self.comparable(redaction.redacted(request.url)))"
        let body = matching == .methodURLAndBody ? comparable(request) : nil
        let candidates = entries.indices.filter { index in
            guard self.name(entries[index]) == name else { return false }
            guard let body, let recorded = entries[index].request.body else { return true }
            return recorded == body
        }
        let chosen = state.withLock { state -> Int? in
            guard let index = candidates.first(where: { state.uses[$0] == 0 }) ?? candidates.last else { return nil }
            state.uses[index] += 1
            return index
        }
        guard let chosen else {
            let reason = entries.contains { self.name($0) == name } ? " with this body" : ""
            throw NetworkError(
                .notRecorded,
                "\(name)\(reason) is not in the recording, which has \(Self.list(entries.map(self.name)))"
            )
        }
        return try response(of: entries[chosen], limits: limits)
    }

    private func response(of entry: HAREntry, limits: HTTPTransportLimits) throws(NetworkError) -> HTTPTransportResponse
    {
        let name = name(entry)
        guard entry.response.status > 0 else {
            let code = entry.response._error.flatMap(NetworkError.Code.init(name:)) ?? .unknown
            throw NetworkError(code, "the recorded exchange \(name) failed")
        }
        guard let body = entry.response.content.octets else {
            throw NetworkError(
                .notRecorded,
                "the body of \(name) was left out of the recording; record it with opaqueBodies: .recorded"
            )
        }
        guard body.count <= limits.maximumBodySize else {
            throw NetworkError(.bodyTooLarge, "the response has a body of more than \(limits.maximumBodySize) octets")
        }
        // Browsers write HTTP/2's pseudo-header fields among the others.
        let fields = entry.response.headers.filter { !$0.name.hasPrefix(":") }
        return HTTPTransportResponse(
            status: entry.response.status,
            version: entry.response.httpVersion,
            headers: HTTPHeaders(fields.map { HTTPHeaders.Field(name: $0.name, value: $0.value) }),
            body: body
        )
    }

    private func name(_ entry: HAREntry) -> String {
        let url = URL(string: entry.request.url).map(redaction.redacted) ?? entry.request.url
        return "\(entry.request.method) \(Self.comparable(url))"
    }

    /// The body as a recording would have it; `nil` for one that it would leave out.
    private func comparable(_ request: HTTPTransportRequest) -> Data? {
        switch request.body.source {
        case .none: return Data()
        case .data(let data):
            return redaction.redacted(data, contentType: request.headers["Content-Type"]).map { Data($0.utf8) } ?? data
        case .file, .stream: return nil
        }
    }

    /// A URL without its fragment, and with its parameters in the order of their names; those of one name stay in theirs.
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

extension HAREntry.Request {
    /// The body's octets; `nil` if they were left out.
    fileprivate var body: Data? {
        guard let postData else { return Data() }
        return postData.octets
    }
}
