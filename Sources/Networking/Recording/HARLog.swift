package import Foundation

/// A recording in the format HTTP Archive 1.2, which browsers' developer tools read and write
/// ([specification](http://www.softwareishard.com/blog/har-12-spec/)).
///
/// As the specification requires, names of custom members begin with an underscore.
package struct HARLog: Decodable {
    package private(set) var entries: [HAREntry]

    private struct Document: Decodable {
        let log: HARLog
    }

    /// Decodes a recording, up to an entry that is cut off, for example by a system crash, if each
    /// entry is on its own line, as in this library's recordings.
    ///
    /// - Throws: ``NetworkError`` with the code `decoding`.
    package init(_ data: Data) throws(NetworkError) {
        do {
            self = try JSONDecoder().decode(Document.self, from: data).log
        } catch {
            guard let log = Self.repaired(data) else {
                throw NetworkError(.decoding, "the file isn't a HAR 1.2 recording", cause: DecodingFailure(error))
            }
            self = log
        }
    }

    private static func repaired(_ data: Data) -> HARLog? {
        var lines = data.split(separator: UInt8(ascii: "\n"))
        guard !lines.isEmpty,
            var log = try? JSONDecoder().decode(Document.self, from: lines.removeFirst() + Data(tail.utf8)).log
        else { return nil }
        for var line in lines {
            if line.last == UInt8(ascii: ",") { line.removeLast() }
            guard let entry = try? JSONDecoder().decode(HAREntry.self, from: line) else { break }
            log.entries.append(entry)
        }
        return log
    }

    // MARK: Incremental writing

    static let head =
        #"{"log":{"creator":{"name":"swift-authenticated-client","version":"0"},"entries":["# + "\n"

    static let tail = #"],"version":"1.2"}}"# + "\n"

    static func line(_ entry: HAREntry) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(entry)
    }
}

package struct HAREntry: Codable {
    package var startedDateTime: String
    /// The total time in milliseconds.
    package var time: Double
    package var request: Request
    package var response: Response
    package var cache = Cache()
    package var timings: Timings
    package var serverIPAddress: String?
    package var comment: String?

    /// The error of a cancelled request.
    static let cancelled = "cancelled"

    package struct Cache: Codable {}

    package struct Pair: Codable {
        package var name: String
        package var value: String
    }

    package struct Request: Codable {
        package var method: String
        package var url: String
        package var httpVersion: String
        package var cookies: [Pair] = []
        package var headers: [Pair]
        package var queryString: [Pair]
        package var postData: Content?
        package var headersSize = -1
        package var bodySize = -1
    }

    package struct Response: Codable {
        /// The status; 0 without a response.
        package var status: Int
        package var statusText = ""
        package var httpVersion = ""
        package var cookies: [Pair] = []
        package var headers: [Pair] = []
        package var content: Content
        package var redirectURL = ""
        package var headersSize = -1
        package var bodySize = -1
        /// The code of the error without a response, or ``cancelled``.
        package var _error: String?
    }

    /// A body; in HAR, `postData` has no `size` and can't hold binary data.
    package struct Content: Codable {
        package var size: Int?
        package var mimeType: String
        package var text: String?
        package var encoding: String?
        package var comment: String?
        package var _encoding: String?
        /// `true` if there was a body that was omitted.
        package var _omitted: Bool?

        /// `nil` if the bytes were omitted or can't be decoded.
        package var octets: Data? {
            if _omitted == true { return nil }
            guard let text else { return Data() }
            switch encoding ?? _encoding {
            case nil: return Data(text.utf8)
            case "base64": return Data(base64Encoded: text)
            default: return nil
            }
        }
    }

    /// The timings in milliseconds; -1 if unknown or not applicable.
    package struct Timings: Codable {
        // Browsers omit unknown values.
        var blocked: Double? = -1
        var dns: Double? = -1
        var connect: Double? = -1
        var ssl: Double? = -1
        var send: Double? = 0
        var wait: Double? = 0
        var receive: Double? = 0

        init(total: Duration) {
            wait = max(0, total / .milliseconds(1))
        }

        init(_ metrics: HTTPTransportMetrics) {
            var last = Duration.zero
            func phase(until moment: Duration?) -> Double {
                guard let moment else { return -1 }
                defer { last = max(last, moment) }
                return max(0, (moment - last) / .milliseconds(1))
            }
            blocked = phase(until: metrics.queueTime)
            dns = phase(until: metrics.nameLookupTime)
            let (connection, handshake) = (phase(until: metrics.connectTime), phase(until: metrics.tlsTime))
            // In HAR, the connection time includes the TLS handshake.
            connect = handshake >= 0 ? max(0, connection) + handshake : connection
            ssl = handshake
            wait = max(0, phase(until: metrics.firstByteTime ?? metrics.totalTime))
            receive = max(0, phase(until: metrics.totalTime))
        }

        var total: Double { [blocked, dns, connect, send, wait, receive].reduce(0) { $0 + max(0, $1 ?? 0) } }
    }
}

extension Date {
    /// ISO 8601 with milliseconds and a time zone.
    var harText: String {
        // The style truncates, so add a little to avoid losing a millisecond.
        let rounded = Date(timeIntervalSince1970: (timeIntervalSince1970 * 1_000).rounded() / 1_000 + 0.000_1)
        return rounded.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}

struct HAREntryWriter: Sendable {
    var redaction: Redaction
    let opaqueBodies: ExchangeRecorder.OpaqueBodies
    let maximumBodySize: Int

    func entry(
        _ request: HTTPRequest,
        _ result: Result<HTTPTransportResponse, any Error>,
        began: Date,
        duration: Duration,
        metrics: HTTPTransportMetrics?
    ) -> HAREntry {
        var writer = self
        writer.redaction = redaction.removingCredentials(of: request)
        let timings = metrics.map(HAREntry.Timings.init) ?? HAREntry.Timings(total: duration)
        let version = (try? result.get().version) ?? metrics?.version ?? ""
        return HAREntry(
            startedDateTime: began.harText,
            time: timings.total,
            request: writer.request(request, version: version),
            response: writer.response(result, metrics: metrics),
            timings: timings,
            serverIPAddress: metrics?.remoteAddress
        )
    }

    private func request(_ request: HTTPRequest, version: String) -> HAREntry.Request {
        let url = redaction.redacted(request.url).prefix { $0 != "#" }
        let query = url.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        return HAREntry.Request(
            method: request.method.rawValue,
            url: String(url),
            httpVersion: version,
            headers: pairs(request.headers),
            queryString: query.split(separator: "&").map { pair in
                let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                return HAREntry.Pair(
                    name: Redaction.decoded(parts[0]),
                    value: parts.count == 2 ? Redaction.decoded(parts[1]) : ""
                )
            },
            postData: postData(request.body, contentType: request.headers["Content-Type"]),
            bodySize: request.body.contentLength ?? -1
        )
    }

    private func postData(_ body: HTTPBody, contentType: String?) -> HAREntry.Content? {
        switch body.source {
        case .none:
            return nil
        case .data(let data):
            var content = content(data, contentType: contentType)
            // In HAR 1.2, `encoding` and `size` are only defined for responses.
            (content._encoding, content.encoding, content.size) = (content.encoding, nil, nil)
            return content
        case .file, .stream:
            return HAREntry.Content(mimeType: contentType ?? "", comment: "streamed, not recorded", _omitted: true)
        }
    }

    private func response(
        _ result: Result<HTTPTransportResponse, any Error>,
        metrics: HTTPTransportMetrics?
    ) -> HAREntry.Response {
        switch result {
        case .success(let response):
            return HAREntry.Response(
                status: response.status,
                httpVersion: response.version,
                headers: pairs(response.headers),
                content: content(response.body, contentType: response.headers["Content-Type"]),
                redirectURL: redaction.redacted(response.headers)["Location"] ?? "",
                bodySize: metrics?.bodyBytesReceived ?? -1
            )
        case .failure(let error):
            let code = error is CancellationError ? HAREntry.cancelled : (error as? NetworkError)?.code.rawValue
            return HAREntry.Response(
                status: 0,
                content: HAREntry.Content(size: 0, mimeType: "x-unknown"),
                _error: code ?? NetworkError.Code.unknown.rawValue
            )
        }
    }

    private func content(_ body: Data, contentType: String?) -> HAREntry.Content {
        var content = HAREntry.Content(size: body.count, mimeType: contentType ?? "")
        guard !body.isEmpty else { return content }
        if body.count > maximumBodySize {
            content.size = -1
            (content._omitted, content.comment) = (true, "more than \(maximumBodySize) bytes, not recorded")
        } else if let text = redaction.redacted(body, contentType: contentType) {
            content.text = text
        } else if opaqueBodies == .recorded {
            (content.text, content.encoding) = (body.base64EncodedString(), "base64")
        } else {
            (content._omitted, content.comment) = (true, "can't be redacted, not recorded")
        }
        return content
    }

    private func pairs(_ headers: HTTPHeaders) -> [HAREntry.Pair] {
        redaction.redacted(headers).map { HAREntry.Pair(name: $0.name, value: $0.value) }
    }
}
