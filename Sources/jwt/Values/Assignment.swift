import TokenGeneration

/// `NAME=VALUE` for a claim or a header parameter.
///
/// The value is JSON where it can be read as JSON, and otherwise plain text.
struct Assignment: ArgumentValue {
    /// Never empty.
    let name: String
    let value: JSONValue

    init(argument: String) throws(ValueError) {
        guard let equals = argument.firstIndex(of: "="), equals != argument.startIndex else {
            throw ValueError(message: "must be NAME=VALUE")
        }
        name = String(argument[..<equals])
        let text = String(argument[equals...].dropFirst())
        if let json = Self.json(text) {
            value = json
        } else if Self.isMeantAsJSON(text) {
            throw ValueError(
                message: """
                    \(name) has the brackets of JSON but is not valid JSON; if it is meant as text, give it as a JSON \
                    string: '\(name)="…"'
                    """
            )
        } else {
            value = .string(text)
        }
    }

    /// The value if the whole text is JSON.
    ///
    /// The strict parser takes objects only, so the text is made the one member of an object.
    private static func json(_ text: String) -> JSONValue? {
        guard let object = try? JSONObject(parsing: "{\"value\":\(text)}"), object.count == 1 else { return nil }
        return object["value"]
    }

    /// An object or array with a mistake in it must not become a text claim silently.
    private static func isMeantAsJSON(_ text: String) -> Bool {
        text.hasPrefix("{") && text.hasSuffix("}") || text.hasPrefix("[") && text.hasSuffix("]")
    }
}
