public import Foundation
public import FoundationNetworking

/// Writes what is sent and what comes of it, without secrets.
///
/// ```text
/// #12.1 GET https://api.example/reports?token=REDACTED, 0 octets
/// #12.1 503 HTTP/1.1 after 41 ms, 19 octets: the server answered 503 to “reports”
/// #12.2 GET https://api.example/reports?token=REDACTED, 0 octets
/// #12.2 200 HTTP/1.1 after 38 ms, 2048 octets
/// ```
///
/// The first number is the operation's, the second the attempt's. Put it last, so that it sees what the other interceptors made of
/// the request. Each call of the sink is one event, of one or more lines; control characters in what comes from outside are replaced,
/// so that nobody can forge a line.
public struct LoggingInterceptor: RequestInterceptor {
    /// How much is written.
    @nonexhaustive
    public enum Level: Int, Sendable, Comparable {
        /// One line for each request and for how it ended.
        case line
        /// The header fields too.
        case headers
        /// The bodies too, as far as they are text.
        case body

        /// Whether one level writes less than another.
        ///
        /// - Parameters:
        ///   - left: One level.
        ///   - right: The other.
        /// - Returns: Whether the left one writes less.
        public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// Takes an event; it is called on whatever thread the request is made on, and returns at once.
    public typealias Sink = @Sendable (String) -> Void

    private let level: Level
    private let redaction: Redaction
    private let maximumBodyLength: Int
    private let writesCurlCommands: Bool
    private let sink: Sink

    /// Makes an interceptor that logs.
    ///
    /// - Parameters:
    ///   - level: How much is written; a line by default.
    ///   - redaction: What is taken out.
    ///   - maximumBodyLength: How many characters of a body are written.
    ///   - writesCurlCommands: Whether each request is also written as a command for a shell; no by default.
    ///   - sink: Where events go; standard error by default.
    public init(
        level: Level = .line,
        redaction: Redaction = .standard,
        maximumBodyLength: Int = 4_096,
        writesCurlCommands: Bool = false,
        sink: @escaping Sink = { FileHandle.standardError.write(Data("\($0)\n".utf8)) }
    ) {
        self.level = level
        self.redaction = redaction
        self.maximumBodyLength = maximumBodyLength
        self.writesCurlCommands = writesCurlCommands
        self.sink = sink
    }

    /// Writes the request.
    ///
    /// - Parameters:
    ///   - request: The request as it will be sent.
    ///   - context: What is known about the operation.
    public func requestScheduled(_ request: URLRequest, context: InterceptorContext) {
        let url = request.url.map(redaction.redacted) ?? "no URL"
        let body = request.httpBody.map(HTTPBody.data) ?? context.body
        let size = body?.contentLength.map { "\($0) octets" } ?? (body == nil ? "0 octets" : "octets of unknown number")
        var lines = ["\(Self.name(context)) \(request.httpMethod ?? "GET") \(url), \(size)"]
        if level >= .headers { lines += headerLines(request.headerFields) }
        if level >= .body, case .data(let data)? = body?.source {
            lines += bodyLines(data, contentType: request.value(forHTTPHeaderField: "Content-Type"))
        }
        if writesCurlCommands { lines.append(request.curlCommand(body: context.body, redaction: redaction)) }
        write(lines)
    }

    /// Writes how the attempt ended.
    ///
    /// - Parameter attempt: The attempt.
    public func attemptEnded(_ attempt: RequestAttempt) {
        var line = Self.name(attempt.context)
        if let response = attempt.response {
            line += " \(response.status) \(response.version) after \(Self.text(attempt.duration))"
            line += ", \(response.body.count) octets"
            if !response.redirects.isEmpty { line += ", \(response.redirects.count) redirects" }
        } else {
            line += " \(attempt.request == nil ? "not made" : "failed") after \(Self.text(attempt.duration))"
        }
        if let error = attempt.error { line += ": \(Self.text(error))" }
        var lines = [line]
        if let response = attempt.response {
            if level >= .headers { lines += headerLines(response.headers) }
            if level >= .body { lines += bodyLines(response.body, contentType: response.headers["Content-Type"]) }
        }
        write(lines)
    }

    private static func name(_ context: InterceptorContext) -> String { "#\(context.operation).\(context.attempt)" }

    private static func text(_ duration: Duration) -> String {
        let milliseconds = duration / .milliseconds(1)
        return milliseconds < 10 ? "\((milliseconds * 10).rounded() / 10) ms" : "\(Int(min(milliseconds, 1e15))) ms"
    }

    /// Our own errors have no secrets in their texts; of others nobody knows.
    private static func text(_ error: any Error) -> String {
        (error as? any LoggableError)?.logText ?? "\(type(of: error))"
    }

    private func headerLines(_ headers: HTTPHeaders) -> [String] {
        redaction.redacted(headers).map { "  \($0.name): \($0.value)" }
    }

    private func bodyLines(_ body: Data, contentType: String?) -> [String] {
        guard !body.isEmpty else { return [] }
        guard let text = redaction.redacted(body, contentType: contentType) else {
            return ["  (\(body.count) octets of \(contentType ?? "unknown type"))"]
        }
        let shown = text.prefix(maximumBodyLength)
        var lines = shown.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map { "  \($0)" }
        if shown.endIndex < text.endIndex { lines.append("  (and more: \(body.count) octets in all)") }
        return lines
    }

    private func write(_ lines: [String]) {
        sink(lines.map(\.withoutControls).joined(separator: "\n"))
    }
}

extension String {
    /// Without what could begin a line or steer a terminal.
    fileprivate var withoutControls: String {
        String(
            String.UnicodeScalarView(
                unicodeScalars.map { scalar in
                    let isHarmless =
                        scalar == "\t"
                        || (scalar.properties.generalCategory != .control && scalar != "\u{2028}"
                            && scalar != "\u{2029}")
                    return isHarmless ? scalar : "\u{FFFD}"
                }
            )
        )
    }
}
