package import Foundation

/// How long a server asks to wait, in a `Retry-After` of seconds or of any of HTTP's dates
/// ([RFC 9110 §10.2.3](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3)).
package enum RetryAfter {
    /// Reads the field.
    ///
    /// A date counts from the response's own `Date`, so that a wrong clock on either side does not matter. What has passed is zero.
    ///
    /// - Parameters:
    ///   - text: The field's value.
    ///   - responseDate: The value of the response's `Date` field.
    ///   - now: The current time, for a response without a `Date`.
    /// - Returns: The time; `nil` if the server did not say, or not in a way that can be read.
    package static func delay(_ text: String?, responseDate: String?, now: Date) -> Duration? {
        guard let text = text?.trimmingCharacters(in: .whitespaces), !text.isEmpty else { return nil }
        if text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            // Ten years are as good as whatever does not fit.
            return .seconds(min(Int(text) ?? .max, 315_360_000))
        }
        let reference = responseDate.flatMap { HTTPDate.parse($0, now: now) } ?? now
        guard let date = HTTPDate.parse(text, now: now) else { return nil }
        return max(.zero, .seconds(date.timeIntervalSince(reference)))
    }
}
