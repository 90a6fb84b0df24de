/// Comparisons of entity tags
/// ([RFC 9110 §8.8.3.2](https://www.rfc-editor.org/rfc/rfc9110#section-8.8.3.2)).
enum EntityTag {
    /// Returns whether two tags are equal, whether they're strong or weak.
    static func areWeaklyEqual(_ left: some StringProtocol, _ right: some StringProtocol) -> Bool {
        left.utf8.dropFirst(isWeak(left) ? 2 : 0).elementsEqual(right.utf8.dropFirst(isWeak(right) ? 2 : 0))
    }

    /// Returns whether a 304 with one tag confirms a stored response with the other
    /// ([RFC 9111 §4.3.4](https://www.rfc-editor.org/rfc/rfc9111#section-4.3.4)).
    static func isConfirmed(_ stored: String, by received: String) -> Bool {
        isWeak(received) ? areWeaklyEqual(stored, received) : stored.utf8.elementsEqual(received.utf8)
    }

    /// Returns whether an `If-None-Match` field lists a tag.
    static func isListed(_ tag: String, in field: String) -> Bool {
        if field == "*" { return true }
        guard field.utf8.count <= 8_192, let members = CacheDirectives.members(of: field) else { return false }
        return members.contains { areWeaklyEqual($0, tag) }
    }

    private static func isWeak(_ tag: some StringProtocol) -> Bool { tag.utf8.starts(with: "W/".utf8) }
}
