import Foundation

enum FileName {
    /// The longest file name of Linux's file systems, in bytes.
    static let maximumLength = 255
    private static let maximumScalars = 1_024

    /// Turns a suggestion into the name of an ordinary file in the target folder.
    ///
    /// Returns `nil` if nothing remains. Only the part after the last Unix or Windows separator
    /// counts. Control characters are removed, as are characters that change the writing direction,
    /// which can disguise an `exe` extension. The name never begins with a dot, which would hide
    /// the file.
    static func sanitized(_ suggestion: String) -> String? {
        // Works on a limited number of scalars: splitting a text of combining characters takes
        // quadratic time.
        let all = suggestion.unicodeScalars
        let start = all.lastIndex { $0 == "/" || $0 == "\\" }.map(all.index(after:)) ?? all.startIndex
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: all[start...].lazy.filter { !isHarmful($0) }.prefix(maximumScalars))
        let blanks = CharacterSet.whitespacesAndNewlines
        var rest = scalars.drop { $0 == "." || $0 == "~" || blanks.contains($0) }
        while let last = rest.last, last == "." || blanks.contains(last) { rest.removeLast() }
        guard !rest.isEmpty else { return nil }
        let (stem, ending) = split(String(rest))
        return shortened(stem, to: maximumLength - ending.utf8.count) + ending
    }

    /// An unusually long extension belongs to the stem.
    static func split(_ name: String) -> (stem: String, ending: String) {
        guard let dot = name.unicodeScalars.lastIndex(of: "."), dot != name.startIndex, name[dot...].utf8.count <= 32
        else {
            return (name, "")
        }
        return (String(name[..<dot]), String(name[dot...]))
    }

    static func shortened(_ text: String, to count: Int) -> String {
        let count = max(count, 1)
        guard text.utf8.count > count else { return text }
        let limit = text.utf8.index(text.startIndex, offsetBy: count)
        var end = text.startIndex
        for index in text.indices.dropFirst() {
            guard index <= limit else { break }
            end = index
        }
        // A single character can be longer than any file name.
        return end == text.startIndex ? "_" : String(text[..<end])
    }

    private static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: true
        default: scalar == "\u{FFFD}"
        }
    }
}

/// [RFC 6266](https://www.rfc-editor.org/rfc/rfc6266).
enum ContentDisposition {
    /// Returns the name as the server wrote it, which must not be trusted.
    ///
    /// `filename*` takes precedence over `filename`
    /// ([RFC 6266 §4.3](https://www.rfc-editor.org/rfc/rfc6266#section-4.3)).
    static func fileName(_ field: String) -> String? {
        // The field is a token with parameters, so with "a/" in front it parses as a media type.
        guard let parameters = MediaType("a/" + field)?.parameters else { return nil }
        return parameters["filename*"].flatMap(decoded) ?? parameters["filename"]
    }

    /// Decodes `UTF-8''…` or `ISO-8859-1''…`
    /// ([RFC 8187 §3.2](https://www.rfc-editor.org/rfc/rfc8187#section-3.2)).
    private static func decoded(_ text: String) -> String? {
        let parts = text.asciiOnly.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let octets = PercentEncoding.decode(parts[2]) else { return nil }
        switch parts[0].lowercased() {
        case "utf-8": return String(validating: octets, as: UTF8.self)
        case "iso-8859-1": return String(String.UnicodeScalarView(octets.map { Unicode.Scalar($0) }))
        default: return nil
        }
    }
}

extension HTTPResponse {
    /// A safe file name for the body: the server's suggestion or else the last component of the
    /// URL's path.
    ///
    /// The suggestion comes from `Content-Disposition`
    /// ([RFC 6266](https://www.rfc-editor.org/rfc/rfc6266)), without folders, control characters
    /// and characters that change the writing direction. The name never begins with a dot and has
    /// at most 255 bytes. If nothing remains, it's `download`.
    public var suggestedFileName: String {
        headers["Content-Disposition"].flatMap(ContentDisposition.fileName).flatMap(FileName.sanitized)
            ?? FileName.sanitized(url.lastPathComponent) ?? "download"
    }
}
