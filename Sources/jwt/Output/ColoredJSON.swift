/// Colored JSON for terminals: blue names, green strings and yellow literals.
enum ColoredJSON {
    private static let name = "\u{1B}[1;34m"
    private static let text = "\u{1B}[32m"
    private static let literal = "\u{1B}[33m"
    private static let plain = "\u{1B}[0m"

    /// Adds colors to JSON with escaped control characters, as ``VisibleText/json(_:)`` returns it.
    static func text(_ json: String) -> String {
        var result = ""
        var rest = Array(json.unicodeScalars)[...]
        while let scalar = rest.first {
            if scalar == "\"" {
                let string = stringToken(rest)
                rest = rest[string.endIndex...]
                let isName = rest.first { $0 != " " } == ":"
                append(string, isName ? name : text, to: &result)
            } else if scalar == "-" || ("0"..."9").contains(scalar) || ("a"..."z").contains(scalar) {
                let token = rest.prefix { !",]} \n".unicodeScalars.contains($0) }
                rest = rest[token.endIndex...]
                append(token, literal, to: &result)
            } else {
                result.unicodeScalars.append(scalar)
                rest = rest.dropFirst()
            }
        }
        return result
    }

    private static func stringToken(_ rest: ArraySlice<Unicode.Scalar>) -> ArraySlice<Unicode.Scalar> {
        var index = rest.startIndex + 1
        while index < rest.endIndex, rest[index] != "\"" {
            index += rest[index] == "\\" ? 2 : 1
        }
        return rest[..<min(index + 1, rest.endIndex)]
    }

    private static func append(_ token: ArraySlice<Unicode.Scalar>, _ color: String, to result: inout String) {
        result += color
        result.unicodeScalars.append(contentsOf: token)
        result += plain
    }
}
