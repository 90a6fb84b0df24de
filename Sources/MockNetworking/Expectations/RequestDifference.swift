import Foundation
import Networking
import TokenGeneration

/// A difference between a request and an expectation, described without secrets.
struct RequestDifference {
    /// The weight of the difference: another URL means another request, another body a mistake in
    /// the same one.
    let distance: Int
    let text: String

    /// Compares a request with a condition; returns `nil` if the request satisfies it.
    init?(_ condition: RequestExpectation.Condition, _ request: HTTPRequest) {
        switch condition {
        case .method(let method):
            guard method != request.method else { return nil }
            self.init(8, "method: expected \(method), got \(request.method)")
        case .url(let expected):
            guard let text = Self.differenceOfURL(expected, request.url) else { return nil }
            self.init(Self.isSamePath(expected, request.url) ? 4 : 32, text)
        case .header(let name, let value):
            guard let text = Self.differenceOfHeader(name, value, request.headers) else { return nil }
            self.init(1, text)
        case .body(let body, let contentType):
            let actual = request.bodyData() ?? Data()
            let comparison = BodyComparison(
                expected: body,
                actual: actual,
                contentType: contentType,
                actualContentType: request.headers["Content-Type"]
            )
            guard let text = comparison.difference else { return nil }
            self.init(1, text)
        case .closure(let name, let closure):
            guard !closure(request) else { return nil }
            self.init(2, "doesn't satisfy “\(name)”")
        }
    }

    private init(_ distance: Int, _ text: String) {
        self.distance = distance
        self.text = text
    }

    private static func differenceOfURL(_ expected: String, _ url: URL) -> String? {
        let actual = relevant(url.absoluteString, like: expected)
        guard actual != expected else { return nil }
        let shown = [expected, actual].map { URL(string: $0).map(Redaction.standard.redacted) ?? "another" }
        guard shown[0] != shown[1] else { return "URL: a secret differs from the expected value" }
        return "URL: expected \(shown[0]), got \(shown[1])"
    }

    private static func isSamePath(_ expected: String, _ url: URL) -> Bool {
        let ends: Set<Character> = ["?", "#"]
        return expected.prefix { !ends.contains($0) }
            == relevant(url.absoluteString, like: expected).prefix { !ends.contains($0) }
    }

    /// Returns the part of a URL that an expectation covers: all of it, or the path and what
    /// follows.
    private static func relevant(_ url: String, like expected: String) -> String {
        guard expected.hasPrefix("/"), let authority = url.range(of: "://")?.upperBound else { return url }
        let rest = url[authority...].drop { !"/?#".contains($0) }
        return rest.hasPrefix("/") ? String(rest) : "/\(rest)"
    }

    private static func differenceOfHeader(_ name: String, _ expected: String?, _ headers: HTTPHeaders) -> String? {
        let actual = headers.values(for: name)
        guard let expected else {
            return actual.isEmpty ? nil : "header \(name): expected none, got \(shown(actual, of: name))"
        }
        guard !actual.contains(where: expected.isExactly) else { return nil }
        let wanted = shown([expected], of: name)
        guard !actual.isEmpty else { return "header \(name): expected \(wanted), got none" }
        let came = shown(actual, of: name)
        return came == wanted
            ? "header \(name): expected \(wanted), got one with a different secret"
            : "header \(name): expected \(wanted), got \(came)"
    }

    private static func shown(_ values: [String], of name: String) -> String {
        let fields = HTTPHeaders(values.map { HTTPHeaders.Field(name: name, value: $0) })
        return Redaction.standard.redacted(fields).map { $0.value.quoted }.joined(separator: " and ")
    }
}

extension String {
    /// The text in quotation marks, truncated and without control characters.
    var quoted: String {
        let limit = 120
        let visible = prefix(limit).map { $0.isNewline || $0 == "\t" ? " " : String($0) }.joined()
        return count > limit ? "\"\(visible)…\" (\(count) characters)" : "\"\(visible)\""
    }
}
