import Foundation

/// A writer that converts requests and responses to recording entries without secrets.
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
        return writer.redactedEntry(request, result, began: began, duration: duration, metrics: metrics)
    }

    private func redactedEntry(
        _ request: HTTPRequest,
        _ result: Result<HTTPTransportResponse, any Error>,
        began: Date,
        duration: Duration,
        metrics: HTTPTransportMetrics?
    ) -> HAREntry {
        let timings = metrics.map(HAREntry.Timings.init) ?? HAREntry.Timings(total: duration)
        let version = (try? result.get().version) ?? metrics?.version ?? ""
        return HAREntry(
            startedDateTime: began.harText,
            time: timings.total,
            request: self.request(request, version: version),
            response: response(result, metrics: metrics),
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
                    name: Self.decoded(parts[0]),
                    value: parts.count == 2 ? Self.decoded(parts[1]) : ""
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

    private static func decoded(_ text: Substring) -> String {
        PercentEncoding.decode(text).map { String(decoding: $0, as: UTF8.self) } ?? String(text)
    }
}

extension Redaction {
    /// Returns a redaction that also removes the credentials of a request.
    func removingCredentials(of request: HTTPRequest) -> Self {
        removingCredentials(url: request.url, headers: request.headers, body: request.heldBody)
    }
}
