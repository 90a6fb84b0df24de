import Foundation

/// The file name that a `Content-Disposition` header field suggests
/// ([RFC 6266](https://www.rfc-editor.org/rfc/rfc6266)).
enum ContentDisposition {
    /// Returns the suggested name as the server wrote it, which must not be trusted, or `nil` if
    /// the field has none.
    ///
    /// `filename*` takes precedence over `filename`
    /// ([RFC 6266 §4.3](https://www.rfc-editor.org/rfc/rfc6266#section-4.3)).
    static func fileName(_ field: String) -> String? {
        // The field is a token with parameters, so with "a/" in front it parses as a media type.
        guard let end = field.unicodeScalars.firstIndex(of: ";"),
            let type = MediaType("a/" + field[..<end] + field[end...])
        else {
            return nil
        }
        if let extended = type.parameters["filename*"].flatMap(decoded) { return extended }
        return type.parameters["filename"]
    }

    /// Decodes `UTF-8''…` or `ISO-8859-1''…`
    /// ([RFC 8187 §3.2](https://www.rfc-editor.org/rfc/rfc8187#section-3.2)), or returns `nil` for
    /// anything else.
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
