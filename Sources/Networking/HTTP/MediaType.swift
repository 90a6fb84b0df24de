import Foundation

/// A media type with its parameters
/// ([RFC 9110 §8.3.1](https://www.rfc-editor.org/rfc/rfc9110#section-8.3.1)).
package struct MediaType {
    /// The type and subtype in lower case, such as `application/problem+json`.
    package let essence: String
    /// The parameters, with lower-case names; the first of repeated parameters is used.
    let parameters: [String: String]

    /// Creates a media type from a `Content-Type` value; `nil` without a valid type and subtype.
    package init?(_ text: String) {
        let parts = Self.split(text)
        let names = parts[0].asciiOnly.split(separator: "/", omittingEmptySubsequences: false)
        guard names.count == 2, parts[0].utf8.allSatisfy({ $0 < 0x80 }), names.allSatisfy({ HTTPSyntax.isToken($0) })
        else { return nil }
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

    /// Splits at semicolons outside quotes and trims white space.
    private static func split(_ text: String) -> [String] {
        var parts = [""]
        var (isQuoted, isEscaped) = (false, false)
        for character in text.unicodeScalars {
            if character == ";", !isQuoted {
                parts.append("")
                continue
            }
            if character == "\"", !isEscaped { isQuoted.toggle() }
            isEscaped = isQuoted && character == "\\" && !isEscaped
            parts[parts.count - 1].unicodeScalars.append(character)
        }
        return parts.map { $0.trimmingCharacters(in: .whitespaces) }
    }

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
}
