import Foundation
import Networking
import OpenSSLCrypto

/// The freshness lifetime of a response
/// ([RFC 9111 §4.2.1](https://www.rfc-editor.org/rfc/rfc9111#section-4.2.1)).
enum CacheLifetime {
    /// Returns the remaining lifetime from a response's `Cache-Control`, `Expires` and `Age`: zero
    /// if the response must not be reused without validation, `nil` if it doesn't specify one.
    ///
    /// `Expires` counts only without `max-age`, even an invalid one
    /// ([§5.3](https://www.rfc-editor.org/rfc/rfc9111#section-5.3)). An invalid date in `Expires`
    /// means that the response has expired. `now` replaces a missing `Date`.
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

    /// Returns the number of seconds, which some servers quote, limited to 31 bits
    /// ([RFC 9111 §1.2.2](https://www.rfc-editor.org/rfc/rfc9111#section-1.2.2)).
    private static func seconds(_ text: Substring) -> Duration? {
        var digits = text
        if digits.count >= 2, digits.hasPrefix("\""), digits.hasSuffix("\"") { digits = digits.dropFirst().dropLast() }
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Duration(clampingSeconds: min(Int64(digits) ?? .max, Int64(Int32.max)))
    }
}
