import Foundation
import Networking
import TokenGeneration

struct RequestDifference {
    let distance: Int
    let text: String

    init(_ distance: Int, _ text: String) {
        self.distance = distance
        self.text = text
    }

    init?(of request: HTTPRequest, from method: HTTPMethod) {
        guard method != request.method else { return nil }
        self.init(8, "method: expected \(method), got \(request.method)")
    }

    init?(of request: HTTPRequest, fromURL expected: String) {
        let actual = Self.relevant(request.url.absoluteString, like: expected)
        guard actual != expected else { return nil }
        let paths = [expected, actual].map { $0.prefix { !"?#".contains($0) } }
        let shown = [expected, actual].map { URL(string: $0).map(Redaction.standard.redacted) ?? "another" }
        self.init(
            paths[0] == paths[1] ? 4 : 32,
            shown[0] == shown[1]
                ? "URL: a secret differs from the expected value" : "URL: expected \(shown[0]), got \(shown[1])"
        )
    }

    init?(of request: HTTPRequest, fromHeader name: String, _ value: String?) {
        guard let text = Self.differenceOfHeader(name, value, request.headers) else { return nil }
        self.init(1, text)
    }

    init?(of request: HTTPRequest, fromBody body: Data, _ contentType: String?) {
        let comparison = BodyComparison(
            expected: body,
            actual: request.bodyData() ?? Data(),
            contentType: contentType,
            actualContentType: request.headers["Content-Type"]
        )
        guard let text = comparison.difference else { return nil }
        self.init(1, text)
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
    var quoted: String {
        let limit = 120
        let visible = prefix(limit).map { $0.isNewline || $0 == "\t" ? " " : String($0) }.joined()
        return count > limit ? "\"\(visible)…\" (\(count) characters)" : "\"\(visible)\""
    }
}

struct BodyComparison {
    let expected: Data
    let actual: Data
    let contentType: String?
    let actualContentType: String?

    var difference: String? {
        guard expected != actual else { return nil }
        switch kind {
        case .json:
            guard let left = Self.json(expected) else { return "body: the expected body isn't valid JSON" }
            guard let right = Self.json(actual) else {
                return "body: expected JSON, got \(actual.isEmpty ? "none" : "something else")"
            }
            return Self.isSame(left, right) ? nil : jsonDifference(left, right)
        case .form:
            return formDifference
        case .octets:
            return octetDifference
        }
    }

    private enum Kind { case json, form, octets }

    private var kind: Kind {
        let type = (contentType ?? "").prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
        if type == "application/json" || type.hasSuffix("+json") { return .json }
        return type == FormURLEncoded.contentType ? .form : .octets
    }

    // MARK: JSON

    private static func json(_ data: Data) -> JSONValue? {
        var limits = JSONLimits.document
        limits.size = 64 << 20
        let wrapped = Array(#"{"body":"#.utf8) + Array(data) + Array("}".utf8)
        guard let object = try? JSONObject(parsing: wrapped, limits: limits), object.count == 1 else { return nil }
        return object["body"]
    }

    private static func isSame(_ left: JSONValue, _ right: JSONValue) -> Bool {
        switch (left, right) {
        case (.number(let left), .number(let right)):
            left == right || (left.double != nil && left.double == right.double)
        case (.array(let left), .array(let right)):
            left.count == right.count && zip(left, right).allSatisfy(isSame)
        case (.object(let left), .object(let right)):
            left.count == right.count
                && left.allSatisfy { member in right[member.name].map { isSame(member.value, $0) } ?? false }
        default: left == right
        }
    }

    private func jsonDifference(_ left: JSONValue, _ right: JSONValue) -> String {
        let redacted = [expected, actual].map { body in
            Redaction.standard.redacted(body, contentType: "application/json").flatMap { Self.json(Data($0.utf8)) }
        }
        guard let left = redacted[0], let right = redacted[1],
            let place = Self.firstDifference(left, right, at: "body")
        else { return "body: a secret differs from the expected value" }
        return place
    }

    private static func firstDifference(_ left: JSONValue, _ right: JSONValue, at path: String) -> String? {
        switch (left, right) {
        case (.object(let left), .object(let right)):
            for member in left {
                guard let other = right[member.name] else { return "\(path).\(member.name): expected, but missing" }
                if let found = firstDifference(member.value, other, at: "\(path).\(member.name)") { return found }
            }
            return right.first { left[$0.name] == nil }.map { "\(path).\($0.name): unexpected" }
        case (.array(let left), .array(let right)):
            for (index, pair) in zip(left, right).enumerated() {
                if let found = firstDifference(pair.0, pair.1, at: "\(path)[\(index)]") { return found }
            }
            guard left.count != right.count else { return nil }
            return "\(path): expected \(left.count) elements, got \(right.count)"
        default:
            guard !isSame(left, right) else { return nil }
            return "\(path): expected \(shown(left)), got \(shown(right))"
        }
    }

    private static func shown(_ value: JSONValue) -> String {
        switch value {
        case .string(let text): text.quoted
        case .number(let number): number.literal
        case .bool(let bool): "\(bool)"
        case .null: "null"
        case .array: "an array"
        case .object: "an object"
        }
    }

    // MARK: Forms

    private var formDifference: String? {
        guard Self.fields(expected) != Self.fields(actual) else { return nil }
        let redacted = [expected, actual].map { body in
            let text = Redaction.standard.redacted(body, contentType: FormURLEncoded.contentType) ?? ""
            return Self.fields(Data(text.utf8))
        }
        let missing = redacted[0].filter { !redacted[1].contains($0) }
        let additional = redacted[1].filter { !redacted[0].contains($0) }
        if missing.isEmpty, additional.isEmpty { return "body: a secret in the form differs from the expected value" }
        let parts = [("expected", missing), ("got", additional)].filter { !$0.1.isEmpty }.map { verb, fields in
            let items = fields.flatMap { FormText.items(in: $0.utf8) }
            return "\(verb) \(items.map { "\($0.name)=\(($0.value ?? "").quoted)" }.joined(separator: ", "))"
        }
        return "body: \(parts.joined(separator: "; "))"
    }

    /// Returns the fields of a form in any order and encoding, sorted and encoded in one way, which
    /// compares them by their bytes.
    private static func fields(_ form: Data) -> [String] {
        FormText.items(in: form).map { item in
            FormURLEncoded.encode(item.name) + (item.value.map { "=" + FormURLEncoded.encode($0) } ?? "")
        }
        .sorted()
    }

    // MARK: Bytes

    private var octetDifference: String {
        let texts = [(expected, contentType), (actual, actualContentType)].map { body, type in
            Redaction.standard.redacted(body, contentType: type)
        }
        if let left = texts[0], let right = texts[1], left != right {
            return "body: expected \(left.quoted), got \(right.quoted)"
        }
        if expected.count != actual.count {
            return "body: expected \(expected.count) bytes, got \(actual.count)"
        }
        let place = zip(expected, actual).prefix { $0 == $1 }.count
        return "body: the bytes differ from offset \(place) of \(expected.count)"
    }
}
