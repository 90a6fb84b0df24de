package import Foundation
import OpenSSLCrypto

/// The delay in a `Retry-After` header field, in seconds or as any of HTTP's date formats
/// ([RFC 9110 §10.2.3](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3)).
package enum RetryAfter {
    /// Parses the header field; returns `nil` if it's missing or invalid.
    ///
    /// A date is relative to the response's own `Date`, so clock differences don't matter, or to
    /// the current date without one. A date in the past gives zero.
    package static func delay(_ text: String?, responseDate: String?, now: Date) -> Duration? {
        guard let text = text?.trimmingCharacters(in: .whitespaces), !text.isEmpty else { return nil }
        if text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            // Larger numbers are capped at ten years.
            return Duration(clampingSeconds: min(Int(text) ?? .max, 315_360_000))
        }
        let reference = responseDate.flatMap { HTTPDate.parse($0, now: now) } ?? now
        guard let date = HTTPDate.parse(text, now: now) else { return nil }
        return max(.zero, Duration(clampingSeconds: date.timeIntervalSince(reference)))
    }
}
