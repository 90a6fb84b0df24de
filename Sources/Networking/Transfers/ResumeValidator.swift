import Foundation

/// What says that two responses are octet for octet of the same representation, so that one can go on where the other ended.
///
/// Only strong validators do: a weak one promises no more than the same meaning
/// ([RFC 9110 §8.8.1](https://www.rfc-editor.org/rfc/rfc9110#section-8.8.1)).
struct ResumeValidator: Codable, Hashable, Sendable {
    /// The value of `If-Range` ([RFC 9110 §13.1.5](https://www.rfc-editor.org/rfc/rfc9110#section-13.1.5)).
    let value: String

    /// Takes the strong validator of a response; `nil` if it has none.
    ///
    /// A time is strong if the response was made so long after it that a second change in the same second can be ruled out, clocks that
    /// differ included ([RFC 9110 §8.8.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-8.8.2.2)). It counts only without an entity tag.
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

    /// Whether a response says that it is of another representation than the validator's.
    func isContradicted(by headers: HTTPHeaders) -> Bool {
        let isTag = value.utf8.first == UInt8(ascii: "\"")
        guard let other = headers[isTag ? "ETag" : "Last-Modified"] else { return false }
        return !other.utf8.elementsEqual(value.utf8)
    }

    /// Whether the text is an entity tag without `W/`, and nothing that another field could follow.
    private static func isStrongTag(_ text: String) -> Bool {
        let octets = text.utf8
        guard octets.count >= 2, octets.first == 0x22, octets.last == 0x22 else { return false }
        return octets.dropFirst().dropLast().allSatisfy { $0 == 0x21 || (0x23...0x7E).contains($0) || $0 >= 0x80 }
    }
}
