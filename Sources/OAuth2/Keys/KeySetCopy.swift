import Foundation
import Networking
import TokenGeneration

/// Keys as they were fetched, with what a server can be asked by whether they are still the ones
/// ([RFC 9110 §13](https://www.rfc-editor.org/rfc/rfc9110#section-13)).
struct KeySetCopy: Sendable {
    /// How long an entity tag may be to be repeated, in octets.
    private static let maximumTagSize = 1 << 10

    let keys: JWKSet
    let url: URL
    /// What the response said of its validity, now.
    let headers: HTTPHeaders
    /// The fields that ask for other keys only; empty if the response had no validator that is of use.
    let conditions: [(name: String, value: String)]

    /// Keeps keys; `nil` if the server wants them not to be kept.
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

    /// The copy after a 304, whose fields replace those that were kept
    /// ([RFC 9111 §3.2](https://www.rfc-editor.org/rfc/rfc9111#section-3.2)).
    ///
    /// The validators stay: a 304 is about what they name.
    func confirmed(by fields: HTTPHeaders) -> Self {
        var headers = headers
        // How old the first response was says nothing of this one.
        for name in ["Age", "Date"] { headers[name] = nil }
        for field in fields { headers[field.name] = nil }
        for field in fields { headers.append(name: field.name, value: field.value) }
        return Self(keys, url, headers, conditions)
    }

    private static func conditions(_ headers: HTTPHeaders, at date: Date) -> [(name: String, value: String)] {
        var conditions: [(name: String, value: String)] = []
        if let tag = headers["ETag"], isEntityTag(tag) { conditions.append(("If-None-Match", tag)) }
        if let text = headers["Last-Modified"], let changed = HTTPDate.parse(text, now: date) {
            // Two sets may have come in the second of one date: only one that is older tells them apart (RFC 9110 §8.8.2.2).
            let made = headers["Date"].flatMap { HTTPDate.parse($0, now: date) } ?? date
            if made.timeIntervalSince(changed) >= 60 {
                conditions.append(("If-Modified-Since", HTTPDate.format(changed)))
            }
        }
        return conditions
    }

    /// `"…"` or `W/"…"` ([RFC 9110 §8.8.3](https://www.rfc-editor.org/rfc/rfc9110#section-8.8.3)), in ASCII.
    private static func isEntityTag(_ text: String) -> Bool {
        // Other texts would be compared character by character, in quadratic time for a run of combining ones.
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else { return false }
        let opaque = text.hasPrefix("W/") ? text.dropFirst(2) : text[...]
        guard opaque.utf8.count >= 2, opaque.utf8.count <= maximumTagSize, opaque.first == "\"", opaque.last == "\""
        else { return false }
        return opaque.utf8.dropFirst().dropLast().allSatisfy { $0 == 0x21 || (0x23...0x7E).contains($0) }
    }
}
