public import Foundation
import OpenSSLCrypto

/// An observer that logs requests and their outcomes without secrets.
///
/// ```swift
/// let client = NetworkClient(options: .init(observers: [RequestLogger()]))
/// ```
///
/// ```text
/// #12.1 GET https://api.example/reports?token=REDACTED, 0 bytes
/// #12.1 503 HTTP/1.1 after 41 ms, 19 bytes: the server answered 503 to “reports”
/// #12.2 GET https://api.example/reports?token=REDACTED, 0 bytes
/// #12.2 200 HTTP/1.1 after 38 ms, 2048 bytes
/// ```
///
/// The first number is the operation's, the second the attempt's. Each call of the sink is one
/// event with one or more lines. Control characters in untrusted text are replaced, so peers can't
/// forge a log line.
public final class RequestLogger: ClientObserver {
    /// The amount of detail.
    @nonexhaustive
    public enum Level: Sendable, Comparable {
        /// One line for each request and one for its outcome.
        case line
        /// Also the header fields.
        case headers
        /// Also the bodies, if they're text.
        case body
    }

    private let level: Level
    private let redaction: Redaction
    private let maximumBodyLength: Int
    private let writesCurlCommands: Bool
    private let sink: @Sendable (String) -> Void

    /// Creates a logger.
    ///
    /// - Parameters:
    ///   - level: The amount of detail. The default is one line.
    ///   - redaction: The redaction of secrets.
    ///   - maximumBodyLength: The maximum number of Unicode scalars per body. The default is 4096.
    ///   - writesCurlCommands: Whether to log shell commands, too. The default is `false`.
    ///   - sink: Receives the events on the request's thread, and must return at once. The default
    ///     writes to standard error.
    public init(
        level: Level = .line,
        redaction: Redaction = .standard,
        maximumBodyLength: Int = 4_096,
        writesCurlCommands: Bool = false,
        sink: @escaping @Sendable (String) -> Void = {
            try? FileHandle.standardError.write(contentsOf: Data("\($0)\n".utf8))
        }
    ) {
        self.level = level
        self.redaction = redaction
        self.maximumBodyLength = maximumBodyLength
        self.writesCurlCommands = writesCurlCommands
        self.sink = sink
    }

    /// Logs the request.
    ///
    /// - Returns: No header fields.
    public func attemptStarted(_ request: HTTPRequest, context: InterceptorContext) -> HTTPHeaders {
        let redaction = redaction.removingCredentials(of: request)
        let size = request.body.contentLength.map { "\($0) bytes" } ?? "unknown number of bytes"
        var lines = ["\(Self.name(context)) \(request.method) \(redaction.redacted(request.url)), \(size)"]
        if level >= .headers { lines += headerLines(request.headers, redaction) }
        if level >= .body, let data = request.heldBody {
            let coding = request.headers["Content-Encoding"]
            lines += bodyLines(data, request.headers["Content-Type"], coding: coding, redaction)
        }
        if writesCurlCommands { lines.append(request.curlCommand(redaction: redaction)) }
        write(lines)
        return [:]
    }

    /// Logs the outcome of the attempt.
    public func attemptEnded(_ attempt: RequestAttempt) {
        let redaction = attempt.request.map(redaction.removingCredentials) ?? redaction
        var line = Self.name(attempt.context)
        if let response = attempt.response {
            line += " \(response.status) \(response.version) after \(Self.text(attempt.duration))"
            line += ", \(response.body.count) bytes"
            if let use = response.cacheUse { line += ", from the cache: \(use)" }
            if !response.redirects.isEmpty { line += ", \(response.redirects.count) redirects" }
        } else {
            line += " \(attempt.request == nil ? "not made" : "failed") after \(Self.text(attempt.duration))"
        }
        if let error = attempt.errorDescription { line += ": \(redaction.redacted(text: error))" }
        var lines = [line]
        if let response = attempt.response {
            if level >= .headers { lines += headerLines(response.headers, redaction) }
            if level >= .body { lines += bodyLines(response.body, response.headers["Content-Type"], redaction) }
        }
        write(lines)
    }

    private static func name(_ context: InterceptorContext) -> String { "#\(context.operation).\(context.attempt)" }

    private static func text(_ duration: Duration) -> String {
        let milliseconds = duration / .milliseconds(1)
        return milliseconds < 10 ? "\((milliseconds * 10).rounded() / 10) ms" : "\(Int(clamping: milliseconds)) ms"
    }

    private func headerLines(_ headers: HTTPHeaders, _ redaction: Redaction) -> [String] {
        redaction.redacted(headers).map { "  \($0.name): \($0.value)" }
    }

    private func bodyLines(
        _ body: Data,
        _ contentType: String?,
        coding: String? = nil,
        _ redaction: Redaction
    ) -> [String] {
        guard !body.isEmpty else { return [] }
        guard let text = redaction.redacted(body, contentType: contentType) else {
            let format = [contentType ?? "unknown type", coding].compactMap(\.self).joined(separator: ", ")
            return ["  (\(body.count) bytes of \(format))"]
        }
        // A single character can have any number of scalars.
        let shown = Substring(text.unicodeScalars.prefix(maximumBodyLength))
        var lines = shown.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map { "  \($0)" }
        if shown.endIndex < text.endIndex { lines.append("  (truncated; \(body.count) bytes in total)") }
        return lines
    }

    private func write(_ lines: [String]) {
        sink(lines.map(\.withoutControls).joined(separator: "\n"))
    }
}

extension String {
    /// Replaces characters that could start a new line or control a terminal.
    fileprivate var withoutControls: String {
        let harmless = unicodeScalars.map { scalar -> Unicode.Scalar in
            switch scalar.properties.generalCategory {
            case .control where scalar != "\t", .lineSeparator, .paragraphSeparator: "\u{FFFD}"
            default: scalar
            }
        }
        return String(String.UnicodeScalarView(harmless))
    }
}

/// An error whose text can be logged.
///
/// This package's errors contain no secrets; an error from elsewhere might, even as a cause.
package protocol LoggableError: Error {
    var logText: String { get }
}

extension LoggableError {
    package func logText(_ text: String, cause: (any Error)?) -> String {
        guard let cause = cause as? any LoggableError else { return text }
        return "\(text) (\(cause.logText))"
    }
}

extension NetworkError: LoggableError {
    package var logText: String {
        let text = logText("\(code): \(message)", cause: cause)
        return retry?.reason.map { "\(text); \($0.logText)" } ?? text
    }
}

extension ServerError: LoggableError {
    package var logText: String { retry?.reason.map { "\(answer); \($0.logText)" } ?? answer }
}

extension CancellationError: LoggableError {
    package var logText: String { "cancelled" }
}

extension Retry.Error {
    fileprivate var logText: String {
        guard case .custom(let error) = self else { return description }
        return "not retried: \((error as? any LoggableError)?.logText ?? "\(type(of: error))")"
    }
}

extension HTTPRequest {
    /// Returns the request as a command for a POSIX shell, for debugging.
    ///
    /// Every word is quoted, so that no value can run as a command. A binary body is piped in as
    /// base64 if nothing is redacted. Otherwise only a comment mentions it, like a body that isn't
    /// in memory.
    ///
    /// - Parameter redaction: The redaction of secrets. ``Redaction/insecureNone`` keeps the
    ///   credentials.
    /// - Returns: The command, on one line unless the body has several lines.
    public func curlCommand(redaction: Redaction = .standard) -> String {
        let redaction = redaction.removingCredentials(of: self)
        var words = ["curl", "--globoff", "--path-as-is"]
        switch method {
        case .get: break
        case .head: words.append("--head")
        default: words += ["--request", method.rawValue]
        }
        for field in redaction.redacted(headers) {
            // curl drops an empty field unless its name ends with a semicolon.
            words += ["--header", field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)"]
        }
        var (source, comment) = ("", "")
        switch body.source {
        case .none: break
        case .data(let data):
            if let text = redaction.redacted(data, contentType: headers["Content-Type"]),
                !text.utf8.contains(0)
            {
                words += ["--data-raw", text]
            } else if redaction.isOff {
                source = "printf %s \(data.base64EncodedString().shellQuoted) | base64 -d | "
                words += ["--data-binary", "@-"]
            } else {
                comment = " # plus a body of \(data.count) bytes"
            }
        case .file(_, let length): comment = " # plus a body of \(length) bytes"
        case .stream: comment = " # plus a body"
        }
        words.append(redaction.redacted(url))
        return source + words.map(\.shellQuoted).joined(separator: " ") + comment
    }
}
