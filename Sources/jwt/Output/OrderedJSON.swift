import TokenGeneration

/// Readable JSON whose outer members are in a given order.
enum OrderedJSON {
    /// Returns an object with the members in order, unlike those inside them, which are sorted.
    static func text(_ members: [(name: String, value: JSONValue)]) -> String {
        // The only member of an object is already indented.
        let lines = members.map { JSONObject([($0.name, $0.value)]).prettyPrinted().dropFirst(2).dropLast(2) }
        return "{\n" + lines.joined(separator: ",\n") + "\n}"
    }
}
