import Foundation
import Networking
import TokenGeneration

/// Fetched keys, with the validators for a conditional request
/// ([RFC 9110 §13](https://www.rfc-editor.org/rfc/rfc9110#section-13)).
struct KeySetCopy: Sendable {
    /// The maximum length of an entity tag that is sent back, in bytes.
    private static let maximumTagSize = 1 << 10

    let keys: JWKSet
    let url: URL
    /// The current header fields about the response's validity.
    let headers: HTTPHeaders
    /// The fields for a conditional request; empty if the response had no usable validator.
    let conditions: [(name: String, value: String)]

    /// Creates a copy, or `nil` if the server forbids storing the response.
    init?(_ keys: JWKSet, from url: URL, _ headers: HTTPHeaders, at date: Date) {
        let control = headers.values(for: "Cache-Control").joined(separator: ",").asciiOnly.lowercased()
        guard !control.contains("no-store") else { return nil }
        self.init(keys, url, headers, Self.conditions(headers, at: date))
    }

    private init(_ keys: JWKSet, _ url: URL, _ headers: HTTPHeaders, _ conditions: [(name: String, value: String)]) {
        (self.keys, self.url, self.conditions) = (keys, url, conditions)
        let kept = ["cache-control", "expires", "date", "age"]
        self.headers = HTTPHeaders(headers.filter { kept.contains(where: $0.name.equalsIgnoringASCIICase) })
    }

    /// Returns the copy updated by a 304 response, whose fields replace the stored ones
    /// ([RFC 9111 §3.2](https://www.rfc-editor.org/rfc/rfc9111#section-3.2)).
    ///
    /// The validators stay, because the 304 confirms what they identify.
    func confirmed(by fields: HTTPHeaders) -> Self {
        var headers = headers
        // The age of the first response says nothing about this one.
        for name in ["Age", "Date"] { headers[name] = nil }
        for field in fields { headers[field.name] = nil }
        for field in fields { headers.append(name: field.name, value: field.value) }
        return Self(keys, url, headers, conditions)
    }

    private static func conditions(_ headers: HTTPHeaders, at date: Date) -> [(name: String, value: String)] {
        var conditions: [(name: String, value: String)] = []
        if let tag = headers["ETag"], isEntityTag(tag) { conditions.append(("If-None-Match", tag)) }
        if let text = headers["Last-Modified"], let changed = HTTPDate.parse(text, now: date) {
            // Two versions may have the same date. Only a date well before the response's tells
            // them apart (RFC 9110 §8.8.2.2).
            let made = headers["Date"].flatMap { HTTPDate.parse($0, now: date) } ?? date
            if made.timeIntervalSince(changed) >= 60 {
                conditions.append(("If-Modified-Since", HTTPDate.format(changed)))
            }
        }
        return conditions
    }

    /// Returns a Boolean value that indicates whether a text is an ASCII entity tag, `"…"` or
    /// `W/"…"` ([RFC 9110 §8.8.3](https://www.rfc-editor.org/rfc/rfc9110#section-8.8.3)).
    private static func isEntityTag(_ text: String) -> Bool {
        // Other texts would be compared by characters, in quadratic time for combining ones.
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else { return false }
        let opaque = text.hasPrefix("W/") ? text.dropFirst(2) : text[...]
        guard opaque.utf8.count >= 2, opaque.utf8.count <= maximumTagSize, opaque.first == "\"", opaque.last == "\""
        else { return false }
        return opaque.utf8.dropFirst().dropLast().allSatisfy { $0 == 0x21 || (0x23...0x7E).contains($0) }
    }
}
