import TokenGeneration

/// The claims or header parameters from files and options, without duplicates.
struct MemberCollection {
    /// The kind of member in messages, such as "claim".
    let kind: String
    private(set) var object = JSONObject()
    /// The origins by name in bytes, because Swift strings with different code points can be equal.
    private var origins: [[UInt8]: String] = [:]

    init(kind: String) {
        self.kind = kind
    }

    /// Adds a member from a source, such as `--sub`, unless the collection has one with this name.
    mutating func add(_ name: String, _ value: JSONValue, from origin: String) throws(ValueError) {
        if let other = origins.updateValue(origin, forKey: Array(name.utf8)) {
            let places = other == origin ? "twice by \(origin)" : "by both \(other) and \(origin)"
            throw ValueError(message: "the \(kind) \(name) is set \(places); remove one")
        }
        object[name] = value
    }

    func contains(_ name: String) -> Bool {
        origins[Array(name.utf8)] != nil
    }
}
