import Foundation

/// The name that a `Content-Disposition` field suggests for a file
/// ([RFC 6266](https://www.rfc-editor.org/rfc/rfc6266)).
enum ContentDisposition {
    /// The suggested name as the server wrote it, which must not be trusted; `nil` if there is none.
    ///
    /// `filename*` goes before `filename` ([RFC 6266 §4.3](https://www.rfc-editor.org/rfc/rfc6266#section-4.3)).
    static func fileName(_ field: String) -> String? {
        // The field is a token with parameters; a media type is the same with a slash in the token.
        guard let end = field.unicodeScalars.firstIndex(of: ";"),
            let type = MediaType("a/" + field[..<end] + field[end...])
        else {
            return nil
        }
        if let extended = type.parameters["filename*"].flatMap(decoded) { return extended }
        return type.parameters["filename"]
    }

    /// Reads `UTF-8''…` or `ISO-8859-1''…` ([RFC 8187 §3.2](https://www.rfc-editor.org/rfc/rfc8187#section-3.2)); `nil` for anything else.
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
    /// The name that the server suggests for a file with the body, made safe; what the URL's path ends in if it suggests none.
    ///
    /// It is taken from `Content-Disposition` ([RFC 6266](https://www.rfc-editor.org/rfc/rfc6266)) without any folder, control characters
    /// and characters that change the direction of writing, never begins with a dot and has 255 octets at most. Where nothing is left it is
    /// `download`.
    public var suggestedFileName: String {
        headers["Content-Disposition"].flatMap(ContentDisposition.fileName).flatMap(FileName.sanitized)
            ?? FileName.sanitized(url.lastPathComponent) ?? "download"
    }
}
