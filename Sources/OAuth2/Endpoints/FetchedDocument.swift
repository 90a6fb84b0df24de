package import Foundation
import FoundationNetworking
package import Networking
import OpenSSLCrypto

/// A document as fetched or confirmed, with its validators
/// ([RFC 9110 §13](https://www.rfc-editor.org/rfc/rfc9110#section-13)).
package final class FetchedDocument<Content: Sendable>: Sendable {
    package let content: Content
    /// The number of fetches, each with its predecessor, until this one.
    let number: Int
    private let url: URL
    /// The current header fields about the response's validity.
    private let headers: HTTPHeaders
    private let conditions: [(name: String, value: String)]

    /// Reads a response, of which a 304 confirms the latest document.
    init(
        _ response: HTTPResponse,
        from url: URL,
        after latest: FetchedDocument?,
        at date: Date,
        read: (HTTPResponse) async throws -> Content
    ) async throws {
        self.url = url
        number = (latest?.number ?? 0) + 1
        var fields = response.headers
        if let latest, response.status == 304 {
            // A 304 response replaces fields, but not the validators, because it confirms what they
            // identify (RFC 9111 §3.2). The age of the first response says nothing about this one.
            content = latest.content
            conditions = latest.conditions
            fields = HTTPHeaders(latest.headers.without(["Age", "Date"] + fields.map(\.name)) + Array(fields))
        } else {
            content = try await read(response)
            conditions = fields.conditions(at: date)
        }
        let kept = ["cache-control", "expires", "date", "age"]
        headers = HTTPHeaders(fields.filter { kept.contains(where: $0.name.equalsIgnoringASCIICase) })
    }

    /// Returns the stated lifetime, if any; zero if the document must not be reused.
    func lifetime(at date: Date) -> Duration? { CacheLifetime.read(headers, at: date) }

    static func request(for url: URL, accept: String, after latest: FetchedDocument?) -> URLRequest {
        var request = URLRequest(url: url)
        request.setValue(accept, forHTTPHeaderField: "Accept")
        // The validators of one URL mean nothing to another.
        guard let latest, latest.url == url else { return request }
        for (name, value) in latest.conditions { request.setValue(value, forHTTPHeaderField: name) }
        return request
    }
}

extension NetworkClient {
    /// Gets a document, unless the server confirms the latest one.
    package func document<Content: Sendable>(
        at url: URL,
        accept: String,
        after latest: FetchedDocument<Content>?,
        options: RequestOptions,
        timeSource: TimeSource,
        read: (HTTPResponse) async throws -> Content
    ) async throws -> FetchedDocument<Content> {
        let request = FetchedDocument.request(for: url, accept: accept, after: latest)
        let response: HTTPResponse
        do { response = try await self.response(for: request, options: options) } catch let error as ServerError {
            guard let confirmation = error.confirmation(for: request) else { throw error }
            response = confirmation
        }
        return try await FetchedDocument(response, from: url, after: latest, at: timeSource.date(), read: read)
    }
}

extension ServerError {
    /// Returns a 304 response to a conditional request.
    func confirmation(for request: URLRequest) -> HTTPResponse? {
        let isConditional = ["If-None-Match", "If-Modified-Since"].contains {
            request.value(forHTTPHeaderField: $0) != nil
        }
        return errorCode == 304 && isConditional ? httpResponse : nil
    }
}

extension HTTPHeaders {
    fileprivate func conditions(at date: Date) -> [(name: String, value: String)] {
        let control = values(for: "Cache-Control").joined(separator: ",").asciiOnly.lowercased()
        guard !control.contains("no-store") else { return [] }
        var conditions: [(name: String, value: String)] = []
        if let tag = self["ETag"], Self.isEntityTag(tag) { conditions.append(("If-None-Match", tag)) }
        if let text = self["Last-Modified"], let changed = HTTPDate.parse(text, now: date) {
            // Two versions may have the same date. Only a date well before the response's tells
            // them apart (RFC 9110 §8.8.2.2).
            let made = self["Date"].flatMap { HTTPDate.parse($0, now: date) } ?? date
            if made.timeIntervalSince(changed) >= 60 {
                conditions.append(("If-Modified-Since", HTTPDate.format(changed)))
            }
        }
        return conditions
    }

    /// Returns whether a text is `"…"` or `W/"…"` ([RFC 9110
    /// §8.8.3](https://www.rfc-editor.org/rfc/rfc9110#section-8.8.3)) of at most 1 KiB.
    private static func isEntityTag(_ text: String) -> Bool {
        // Other texts would be compared by characters, in quadratic time for combining ones.
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else { return false }
        let opaque = text.hasPrefix("W/") ? text.dropFirst(2) : text[...]
        guard opaque.utf8.count >= 2, opaque.utf8.count <= 1 << 10, opaque.first == "\"", opaque.last == "\""
        else { return false }
        return opaque.utf8.dropFirst().dropLast().allSatisfy { $0 == 0x21 || (0x23...0x7E).contains($0) }
    }
}

/// [RFC 9111 §4.2.1](https://www.rfc-editor.org/rfc/rfc9111#section-4.2.1).
enum CacheLifetime {
    // Returns zero if the response must not be reused without validation, `nil` if it doesn't
    // specify a lifetime. `Expires` counts only without `max-age`, even an invalid one
    // ([§5.3](https://www.rfc-editor.org/rfc/rfc9111#section-5.3)). `now` replaces a missing
    // `Date`.
    static func read(_ headers: HTTPHeaders, at now: Date) -> Duration? {
        let directives = headers.values(for: "Cache-Control").flatMap { $0.asciiOnly.split(separator: ",") }
        var maxAge: Duration?
        var hasMaxAge = false
        for directive in directives {
            let parts = directive.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = parts[0].trimmingHTTPWhitespace
            if name.equalsIgnoringASCIICase("no-store") || name.equalsIgnoringASCIICase("no-cache") { return .zero }
            guard name.equalsIgnoringASCIICase("max-age") else { continue }
            hasMaxAge = true
            // The first valid one counts.
            guard maxAge == nil, parts.count == 2 else { continue }
            maxAge = seconds(parts[1].trimmingHTTPWhitespace)
        }
        guard let lifetime = hasMaxAge ? maxAge : expiry(headers, at: now) else { return nil }
        let age = headers["Age"].flatMap { seconds($0.asciiOnly[...].trimmingHTTPWhitespace) } ?? .zero
        return max(lifetime - age, .zero)
    }

    /// Returns the time between `Date` and `Expires`, or `nil` without `Expires`.
    private static func expiry(_ headers: HTTPHeaders, at now: Date) -> Duration? {
        guard let field = headers.values(for: "Expires").first else { return nil }
        guard let expires = HTTPDate.parse(field.asciiOnly[...].trimmingHTTPWhitespace, now: now) else { return .zero }
        let made = headers["Date"].flatMap { HTTPDate.parse($0.asciiOnly[...].trimmingHTTPWhitespace, now: now) } ?? now
        let seconds = expires.timeIntervalSince(made)
        return Duration(clampingSeconds: max(seconds, 0))
    }

    /// Limited to 31 bits; some servers quote the number
    /// ([RFC 9111 §1.2.2](https://www.rfc-editor.org/rfc/rfc9111#section-1.2.2)).
    private static func seconds(_ text: Substring) -> Duration? {
        var digits = text
        if digits.count >= 2, digits.hasPrefix("\""), digits.hasSuffix("\"") { digits = digits.dropFirst().dropLast() }
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Duration(clampingSeconds: min(Int64(digits) ?? .max, Int64(Int32.max)))
    }
}
