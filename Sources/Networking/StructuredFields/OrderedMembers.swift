/// Keys with values, in the order of their first assignment.
struct OrderedMembers<Value: Hashable & Sendable>: Hashable, Sendable {
    private struct Entry: Hashable, Sendable {
        let key: String
        var value: Value
    }

    private var entries: [Entry] = []
    /// The positions of the keys if there are more than ``scannedCount``.
    ///
    /// Fewer are found as fast without it.
    private var positions: [String: Int] = [:]

    private static var scannedCount: Int { 8 }

    var keys: [String] { entries.map(\.key) }
    var count: Int { entries.count }

    /// The value of a key; a new value of an existing key keeps the key's position.
    subscript(key: String) -> Value? {
        get { position(of: key).map { entries[$0].value } }
        set {
            switch (position(of: key), newValue) {
            case (let position?, let newValue?): entries[position].value = newValue
            case (nil, let newValue?):
                entries.append(Entry(key: key, value: newValue))
                if positions.isEmpty { updatePositions() } else { positions[key] = entries.count - 1 }
            case (let position?, nil):
                entries.remove(at: position)
                updatePositions()
            case (nil, nil): break
            }
        }
    }

    subscript(position: Int) -> (key: String, value: Value) { (entries[position].key, entries[position].value) }

    private func position(of key: String) -> Int? {
        entries.count > Self.scannedCount ? positions[key] : entries.firstIndex { $0.key == key }
    }

    private mutating func updatePositions() {
        positions = [:]
        guard entries.count > Self.scannedCount else { return }
        for (index, entry) in entries.enumerated() { positions[entry.key] = index }
    }

    static func == (left: Self, right: Self) -> Bool { left.entries == right.entries }

    func hash(into hasher: inout Hasher) { hasher.combine(entries) }
}
