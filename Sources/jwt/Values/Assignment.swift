import TokenGeneration

/// A claim or header parameter in the form `NAME=VALUE`.
///
/// The value is JSON if it parses as JSON, and text otherwise.
struct Assignment: ArgumentValue {
    static let placeholder = "NAME=VALUE"

    /// The name, which is never empty.
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
                    \(name) looks like JSON but isn't valid; to set text, pass it as a JSON string: '\(name)="…"'
                    """
            )
        } else {
            value = .string(text)
        }
    }

    /// Returns the JSON value if the entire text is JSON.
    ///
    /// The strict parser accepts only objects, so the text is wrapped in one.
    private static func json(_ text: String) -> JSONValue? {
        guard let object = try? JSONObject(parsing: "{\"value\":\(text)}"), object.count == 1 else { return nil }
        return object["value"]
    }

    /// Returns whether text looks like an object or array, which must not silently become a text
    /// claim if it's invalid.
    private static func isMeantAsJSON(_ text: String) -> Bool {
        text.hasPrefix("{") && text.hasSuffix("}") || text.hasPrefix("[") && text.hasSuffix("]")
    }
}
