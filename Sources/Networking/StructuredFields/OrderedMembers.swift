/// Keys with values, in the order of their first assignment.
struct OrderedMembers<Value: Hashable & Sendable>: Hashable, Sendable {
    private struct Entry: Hashable, Sendable {
        let key: String
        var value: Value
    }

    private var entries: [Entry] = []
    private var positions: [String: Int] = [:]

    var keys: [String] { entries.map(\.key) }
    var count: Int { entries.count }

    /// The value of a key; a new value of an existing key keeps the key's position.
    subscript(key: String) -> Value? {
        get { positions[key].map { entries[$0].value } }
        set {
            switch (positions[key], newValue) {
            case (let position?, let newValue?): entries[position].value = newValue
            case (nil, let newValue?):
                positions[key] = entries.count
                entries.append(Entry(key: key, value: newValue))
            case (let position?, nil):
                entries.remove(at: position)
                positions[key] = nil
                for index in position..<entries.count { positions[entries[index].key] = index }
            case (nil, nil): break
            }
        }
    }

    subscript(position: Int) -> (key: String, value: Value) { (entries[position].key, entries[position].value) }
}
