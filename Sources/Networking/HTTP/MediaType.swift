/// [RFC 9110 §8.3.1](https://www.rfc-editor.org/rfc/rfc9110#section-8.3.1).
package struct MediaType {
    /// The type and subtype in lower case, such as `application/problem+json`.
    package let essence: String
    /// The parameters, with lower-case names; the first of repeated parameters is used.
    let parameters: [String: String]

    /// Returns `nil` without a valid type and subtype.
    package init?(_ text: String) {
        let parts = HTTPSyntax.split(text, at: UInt8(ascii: ";")).parts
        let names = parts[0].asciiOnly.split(separator: "/", omittingEmptySubsequences: false)
        // A question mark, in place of a non-ASCII byte, isn't in a token.
        guard names.count == 2, names.allSatisfy({ HTTPSyntax.isToken($0) }) else { return nil }
        essence = parts[0].lowercased()
        var parameters: [String: String] = [:]
        for part in parts.dropFirst() {
            guard let sign = part.unicodeScalars.firstIndex(of: "="), HTTPSyntax.isToken(part[..<sign]) else {
                continue
            }
            let name = part[..<sign].lowercased()
            if parameters[name] == nil {
                parameters[name] = Self.unquoted(part[part.unicodeScalars.index(after: sign)...])
            }
        }
        self.parameters = parameters
    }

    /// A Boolean value that indicates whether the type is `application/json`, `text/json` or has
    /// the suffix `+json` ([RFC 6839 §3.1](https://www.rfc-editor.org/rfc/rfc6839#section-3.1)).
    var isJSON: Bool { essence == "application/json" || essence == "text/json" || essence.hasSuffix("+json") }

    private static func unquoted(_ text: Substring) -> String {
        let text = text.unicodeScalars
        guard text.count >= 2, text.first == "\"", text.last == "\"" else { return String(text) }
        var (result, isEscaped) = (String.UnicodeScalarView(), false)
        for character in text.dropFirst().dropLast() {
            if character == "\\", !isEscaped {
                isEscaped = true
            } else {
                result.append(character)
                isEscaped = false
            }
        }
        return String(result)
    }

    // MARK: File names

    /// Returns the media type that [IANA](https://www.iana.org/assignments/media-types/)
    /// registered, or, for a few archive formats without a registration, the customary one.
    ///
    /// For an unknown extension it's `application/octet-stream`: a wrong guess would mislead the
    /// server.
    static func ofFile(named name: String) -> String {
        let name = name.lowercased()
        // A name whose only dot is the first character has no extension.
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return fallback }
        return fileTypes[String(name[name.index(after: dot)...])] ?? fallback
    }

    private static let fallback = "application/octet-stream"

    private static let fileTypes: [String: String] = [
        // Text. Without a charset, because the content may use any.
        "csv": "text/csv", "css": "text/css", "htm": "text/html", "html": "text/html", "ics": "text/calendar",
        "js": "text/javascript", "md": "text/markdown", "mjs": "text/javascript", "txt": "text/plain",
        "vcf": "text/vcard",
        // Structured data.
        "atom": "application/atom+xml", "cbor": "application/cbor", "geojson": "application/geo+json",
        "json": "application/json", "jsonld": "application/ld+json",
        "ndjson": "application/x-ndjson", "rss": "application/rss+xml", "sql": "application/sql",
        "wasm": "application/wasm", "xhtml": "application/xhtml+xml", "xml": "application/xml",
        "yaml": "application/yaml", "yml": "application/yaml",
        // Documents.
        "doc": "application/msword",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "epub": "application/epub+zip", "odp": "application/vnd.oasis.opendocument.presentation",
        "ods": "application/vnd.oasis.opendocument.spreadsheet", "odt": "application/vnd.oasis.opendocument.text",
        "pdf": "application/pdf", "ppt": "application/vnd.ms-powerpoint",
        "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "rtf": "application/rtf", "xls": "application/vnd.ms-excel",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        // Images.
        "avif": "image/avif", "bmp": "image/bmp", "gif": "image/gif", "heic": "image/heic",
        "ico": "image/vnd.microsoft.icon", "jpeg": "image/jpeg", "jpg": "image/jpeg", "png": "image/png",
        "svg": "image/svg+xml", "tif": "image/tiff", "tiff": "image/tiff", "webp": "image/webp",
        // Audio and video.
        "aac": "audio/aac", "flac": "audio/flac", "m4a": "audio/mp4", "mid": "audio/midi", "mp3": "audio/mpeg",
        "oga": "audio/ogg", "ogg": "audio/ogg", "opus": "audio/ogg", "wav": "audio/vnd.wave", "weba": "audio/webm",
        "avi": "video/vnd.avi", "mov": "video/quicktime", "mp4": "video/mp4", "mpeg": "video/mpeg",
        "mpg": "video/mpeg", "ogv": "video/ogg", "webm": "video/webm",
        // Archives. For a name such as a.tar.gz, the type is that of the outermost format.
        "7z": "application/x-7z-compressed", "bz2": "application/x-bzip2", "gz": "application/gzip",
        "jar": "application/java-archive", "tar": "application/x-tar", "tgz": "application/gzip",
        "xz": "application/x-xz", "zip": "application/zip", "zst": "application/zstd",
        // Fonts.
        "otf": "font/otf", "ttf": "font/ttf", "woff": "font/woff", "woff2": "font/woff2",
        "p12": "application/pkcs12",
    ]
}
