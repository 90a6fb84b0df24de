import Foundation

/// The strong validator that shows that two responses have identical bytes, so that one can
/// continue the other.
///
/// Weak validators aren't sufficient, because they only promise the same meaning
/// ([RFC 9110 §8.8.1](https://www.rfc-editor.org/rfc/rfc9110#section-8.8.1)).
struct ResumeValidator: Codable, Hashable, Sendable {
    /// The value of `If-Range`
    /// ([RFC 9110 §13.1.5](https://www.rfc-editor.org/rfc/rfc9110#section-13.1.5)).
    let value: String

    /// Creates the strong validator of a response; returns `nil` if it has none.
    ///
    /// A `Last-Modified` is strong if the response's date is so much later that a second change in
    /// the same second is impossible, even with clock differences
    /// ([RFC 9110 §8.8.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-8.8.2.2)). It only
    /// counts without an entity tag.
    init?(_ headers: HTTPHeaders) {
        if let tag = headers["ETag"] {
            guard Self.isStrongTag(tag) else { return nil }
            value = tag
        } else {
            guard let modified = headers["Last-Modified"], let date = headers["Date"],
                let change = HTTPDate.parse(modified, now: Date()), let answer = HTTPDate.parse(date, now: Date()),
                answer.timeIntervalSince(change) >= 60
            else { return nil }
            value = modified
        }
    }

    /// Returns whether a response has a validator that differs from this one.
    func isContradicted(by headers: HTTPHeaders) -> Bool {
        let isTag = value.utf8.first == UInt8(ascii: "\"")
        guard let other = headers[isTag ? "ETag" : "Last-Modified"] else { return false }
        return !other.utf8.elementsEqual(value.utf8)
    }

    /// Returns whether the text is a single entity tag without `W/`.
    private static func isStrongTag(_ text: String) -> Bool {
        let octets = text.utf8
        guard octets.count >= 2, octets.first == 0x22, octets.last == 0x22 else { return false }
        return octets.dropFirst().dropLast().allSatisfy { $0 == 0x21 || (0x23...0x7E).contains($0) || $0 >= 0x80 }
    }
}
