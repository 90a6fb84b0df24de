import Foundation
import Networking
import OpenSSLCrypto
import TokenGeneration

/// Compares a request's body with the one that was expected: JSON and forms by what they mean, everything else octet by octet.
struct BodyComparison {
    let expected: Data
    let actual: Data
    /// What the expected body is, and what the request says that its own is.
    let contentType: String?
    let actualContentType: String?

    /// How the bodies differ, in words without secrets; `nil` if they don't.
    var difference: String? {
        guard expected != actual else { return nil }
        switch kind {
        case .json:
            guard let left = Self.json(expected) else { return "body: the expected one is no JSON" }
            guard let right = Self.json(actual) else {
                return "body: expected JSON, came \(actual.isEmpty ? "none" : "something else")"
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

    /// Reads any JSON value; the parser is one for objects, so the value is made a member.
    private static func json(_ data: Data) -> JSONValue? {
        var limits = JSONLimits.document
        limits.size = 64 << 20
        let wrapped = Array(#"{"body":"#.utf8) + Array(data) + Array("}".utf8)
        guard let object = try? JSONObject(parsing: wrapped, limits: limits), object.count == 1 else { return nil }
        return object["body"]
    }

    /// Whether two values mean the same: numbers count by their value, not as they are written.
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
        else { return "body: a secret in it has another value than expected" }
        return place
    }

    private static func firstDifference(_ left: JSONValue, _ right: JSONValue, at path: String) -> String? {
        switch (left, right) {
        case (.object(let left), .object(let right)):
            for member in left {
                guard let other = right[member.name] else { return "\(path).\(member.name): expected, but missing" }
                if let found = firstDifference(member.value, other, at: "\(path).\(member.name)") { return found }
            }
            return right.first { left[$0.name] == nil }.map { "\(path).\($0.name): came, but was not expected" }
        case (.array(let left), .array(let right)):
            for (index, pair) in zip(left, right).enumerated() {
                if let found = firstDifference(pair.0, pair.1, at: "\(path)[\(index)]") { return found }
            }
            guard left.count != right.count else { return nil }
            return "\(path): expected \(left.count) elements, came \(right.count)"
        default:
            guard !isSame(left, right) else { return nil }
            return "\(path): expected \(shown(left)), came \(shown(right))"
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
        let pairs = [expected, actual].map { Self.sorted(FormText.items(in: $0)) }
        guard pairs[0] != pairs[1] else { return nil }
        let redacted = [expected, actual].map { body -> [FormPair] in
            let text = Redaction.standard.redacted(body, contentType: FormURLEncoded.contentType) ?? ""
            return Self.sorted(FormText.items(in: text.utf8))
        }
        let missing = redacted[0].filter { !redacted[1].contains($0) }
        let additional = redacted[1].filter { !redacted[0].contains($0) }
        if missing.isEmpty, additional.isEmpty { return "body: a secret in the form has another value than expected" }
        let parts = [("expected", missing), ("came", additional)].filter { !$0.1.isEmpty }.map { verb, items in
            "\(verb) \(items.map { "\($0.name.text)=\($0.value.text.quoted)" }.joined(separator: ", "))"
        }
        return "body: \(parts.joined(separator: "; "))"
    }

    /// A field of a form, compared by its bytes.
    private struct FormPair: Hashable {
        let name: ByteComparedString
        let value: ByteComparedString
        let hasValue: Bool

        init(_ item: URLQueryItem) {
            name = ByteComparedString(item.name)
            value = ByteComparedString(item.value ?? "")
            hasValue = item.value != nil
        }

        func precedes(_ other: Self) -> Bool {
            let (left, right) = name == other.name ? (value, other.value) : (name, other.name)
            return left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
        }
    }

    private static func sorted(_ items: [URLQueryItem]) -> [FormPair] {
        items.map(FormPair.init).sorted { $0.precedes($1) }
    }

    // MARK: Octets

    private var octetDifference: String {
        let texts = [(expected, contentType), (actual, actualContentType)].map { body, type in
            Redaction.standard.redacted(body, contentType: type)
        }
        if let left = texts[0], let right = texts[1], left != right {
            return "body: expected \(left.quoted), came \(right.quoted)"
        }
        if expected.count != actual.count {
            return "body: expected \(expected.count) octets, came \(actual.count)"
        }
        let place = zip(expected, actual).prefix { $0 == $1 }.count
        return "body: expected other octets, from offset \(place) of \(expected.count)"
    }
}
