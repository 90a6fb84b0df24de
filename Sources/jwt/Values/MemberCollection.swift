import TokenGeneration

/// The claims or the header parameters of a token as they are put together from files and options; none can be given
/// twice.
struct MemberCollection {
    /// What a member is called in messages: "claim".
    let kind: String
    private(set) var object = JSONObject()
    /// Keyed by bytes: to Swift, two texts with different code points can be equal.
    private var origins: [[UInt8]: String] = [:]

    init(kind: String) {
        self.kind = kind
    }

    /// Adds a member.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - value: Its value.
    ///   - origin: Where it comes from, such as `--sub`.
    /// - Throws: ``ValueError`` if a member of this name is there already.
    mutating func add(_ name: String, _ value: JSONValue, from origin: String) throws(ValueError) {
        if let other = origins.updateValue(origin, forKey: Array(name.utf8)) {
            let places = other == origin ? "twice by \(origin)" : "by \(other) and by \(origin)"
            throw ValueError(message: "the \(kind) \(name) is given \(places); leave one out")
        }
        object[name] = value
    }

    func contains(_ name: String) -> Bool {
        origins[Array(name.utf8)] != nil
    }
}
