/// The five parts of a URI or relative reference
/// ([RFC 3986 §3](https://www.rfc-editor.org/rfc/rfc3986#section-3)).
///
/// It replaces Foundation's resolution, because a `Location` decides where credentials go.
struct URIReference {
    var scheme: String?
    var authority: String?
    var path: String
    var query: String?
    var fragment: String?

    /// Parses a reference.
    ///
    /// Every text is valid
    /// ([RFC 3986 Appendix B](https://www.rfc-editor.org/rfc/rfc3986#appendix-B)).
    init(_ text: String) {
        // By scalars: a combining character after a delimiter belongs to the following part.
        var rest = text.unicodeScalars[...]
        if let hash = rest.firstIndex(of: "#") {
            fragment = String(rest[hash...].dropFirst())
            rest = rest[..<hash]
        }
        if let mark = rest.firstIndex(of: "?") {
            query = String(rest[mark...].dropFirst())
            rest = rest[..<mark]
        }
        if let colon = rest.firstIndex(where: { $0 == ":" || $0 == "/" }), rest[colon] == ":",
            Self.isScheme(Substring(rest[..<colon]))
        {
            scheme = String(rest[..<colon])
            rest = rest[colon...].dropFirst()
        }
        if rest.starts(with: "//".unicodeScalars) {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex(of: "/") ?? rest.endIndex
            authority = String(rest[..<end])
            rest = rest[end...]
        }
        path = String(rest)
    }

    /// The recomposed reference
    /// ([RFC 3986 §5.3](https://www.rfc-editor.org/rfc/rfc3986#section-5.3)).
    var text: String {
        var text = scheme.map { "\($0):" } ?? ""
        if let authority { text += "//\(authority)" }
        text += path
        if let query { text += "?\(query)" }
        if let fragment { text += "#\(fragment)" }
        return text
    }

    /// Returns the reference resolved against a base URI
    /// ([RFC 3986 §5.2.2](https://www.rfc-editor.org/rfc/rfc3986#section-5.2.2)).
    func resolved(against base: Self) -> Self {
        var target = self
        guard scheme == nil else {
            target.path = Self.removingDotSegments(path)
            return target
        }
        target.scheme = base.scheme
        guard authority == nil else {
            target.path = Self.removingDotSegments(path)
            return target
        }
        target.authority = base.authority
        if path.isEmpty {
            target.path = base.path
            target.query = query ?? base.query
        } else if path.utf8.first == UInt8(ascii: "/") {
            target.path = Self.removingDotSegments(path)
        } else {
            target.path = Self.removingDotSegments(base.merging(path))
        }
        return target
    }

    private func merging(_ relative: String) -> String {
        if authority != nil, path.isEmpty { return "/" + relative }
        guard let slash = path.unicodeScalars.lastIndex(of: "/") else { return relative }
        return String(path.unicodeScalars[...slash]) + relative
    }

    /// Removes dot segments
    /// ([RFC 3986 §5.2.4](https://www.rfc-editor.org/rfc/rfc3986#section-5.2.4)).
    private static func removingDotSegments(_ path: String) -> String {
        let isAbsolute = path.utf8.first == UInt8(ascii: "/")
        var segments: [Substring.UTF8View] = []
        let all = path.utf8.dropFirst(isAbsolute ? 1 : 0)
            .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for (index, segment) in all.enumerated() {
            let isDots = segment.count <= 2 && segment.allSatisfy { $0 == UInt8(ascii: ".") }
            guard isDots, !segment.isEmpty else {
                segments.append(segment)
                continue
            }
            if segment.count == 2 { _ = segments.popLast() }
            if index == all.count - 1 { segments.append("".dropFirst().utf8) }
        }
        return (isAbsolute ? "/" : "") + segments.map { Substring($0) }.joined(separator: "/")
    }

    private static func isScheme(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, (0x61...0x7A).contains(first | 0x20) else { return false }
        return text.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte) || "+-.".utf8.contains(byte)
        }
    }
}
