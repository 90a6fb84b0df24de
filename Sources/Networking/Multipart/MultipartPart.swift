import Foundation

/// One part of a form: its header and its content.
struct MultipartPart: Sendable {
    static let lineBreak = Data("\r\n".utf8)

    let name: String
    let fileName: String?
    let contentType: String?
    let content: HTTPBody

    /// Returns the delimiter line and the part's header.
    ///
    /// The two hyphens belong to the delimiter, not to the boundary
    /// ([RFC 2046 §5.1.1](https://www.rfc-editor.org/rfc/rfc2046#section-5.1.1)).
    /// [RFC 7578 §4.2](https://www.rfc-editor.org/rfc/rfc7578#section-4.2) forbids `filename*`.
    func head(boundary: String) -> Data {
        var text = "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(Self.escaped(name))\""
        if let fileName { text += "; filename=\"\(Self.escaped(fileName))\"" }
        text += "\r\n"
        if let contentType { text += "Content-Type: \(contentType)\r\n" }
        return Data((text + "\r\n").utf8)
    }

    /// Returns a name escaped for use between quotation marks.
    private static func escaped(_ name: String) -> String {
        var text = ""
        for scalar in name.unicodeScalars {
            switch scalar {
            case "\"", "\\", "\0"..."\u{1F}", "\u{7F}":
                text += scalar.value < 16 ? "%0" : "%"
                text += String(scalar.value, radix: 16, uppercase: true)
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
