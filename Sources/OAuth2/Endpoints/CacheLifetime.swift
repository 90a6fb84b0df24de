import Foundation
import Networking

/// How long a response says that it may be used ([RFC 9111 §4.2.1](https://www.rfc-editor.org/rfc/rfc9111#section-4.2.1)).
enum CacheLifetime {
    /// Reads a response's `Cache-Control`, `Expires` and `Age`.
    ///
    /// `Expires` counts only where there is no `max-age`, not even one that can't be read
    /// ([§5.3](https://www.rfc-editor.org/rfc/rfc9111#section-5.3)); one that is no date means that the response has expired.
    ///
    /// - Parameters:
    ///   - headers: The response's header fields.
    ///   - now: When the response came; for one that does not say by its `Date` when it was made.
    /// - Returns: The time that is left, zero if the response must not be used again without asking; `nil` if it does not say.
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
            // Of two the first counts, and one that can't be read says nothing.
            guard maxAge == nil, parts.count == 2 else { continue }
            maxAge = seconds(parts[1].trimmingHTTPWhitespace)
        }
        guard let lifetime = hasMaxAge ? maxAge : expiry(headers, at: now) else { return nil }
        let age = headers["Age"].flatMap { seconds($0.asciiOnly[...].trimmingHTTPWhitespace) } ?? .zero
        return max(lifetime - age, .zero)
    }

    /// The time between `Date` and `Expires`; `nil` if there is no `Expires`.
    private static func expiry(_ headers: HTTPHeaders, at now: Date) -> Duration? {
        guard let field = headers.values(for: "Expires").first else { return nil }
        guard let expires = HTTPDate.parse(field.asciiOnly[...].trimmingHTTPWhitespace, now: now) else { return .zero }
        let made = headers["Date"].flatMap { HTTPDate.parse($0.asciiOnly[...].trimmingHTTPWhitespace, now: now) } ?? now
        let seconds = expires.timeIntervalSince(made)
        return .seconds(Int64(min(max(seconds, 0), Double(Int32.max))))
    }

    /// Seconds, also between quotation marks, as some servers write them; at most as many as fit into 31 bits
    /// ([RFC 9111 §1.2.2](https://www.rfc-editor.org/rfc/rfc9111#section-1.2.2)).
    private static func seconds(_ text: Substring) -> Duration? {
        var digits = text
        if digits.count >= 2, digits.hasPrefix("\""), digits.hasSuffix("\"") { digits = digits.dropFirst().dropLast() }
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return .seconds(min(Int64(digits) ?? Int64(Int32.max), Int64(Int32.max)))
    }
}
