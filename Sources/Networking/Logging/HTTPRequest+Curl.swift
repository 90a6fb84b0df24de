import Foundation

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

extension String {
    /// The text as one word of a POSIX shell (IEEE 1003.1, 2.2.2).
    fileprivate var shellQuoted: String {
        let isPlain = !isEmpty && utf8.allSatisfy { PercentEncoding.isUnreserved($0) || "/:@,+=".utf8.contains($0) }
        return isPlain ? self : "'" + replacingOccurrences(of: "'", with: "'\\''") + "'"
    }
}
