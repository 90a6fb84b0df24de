internal import OpenSSLCrypto

/// The positions of an object's members by name, for many look-ups in one object.
///
/// Looking up every member of a large object by comparing it with all others would cost quadratic time.
struct JSONMemberIndex {
    /// Few members are compared faster than hashed.
    static let smallCount = 16

    private let object: JSONObject
    private let positions: [ByteComparedString: Int]?

    init(_ object: JSONObject) {
        self.object = object
        guard object.count > Self.smallCount else {
            positions = nil
            return
        }
        var positions: [ByteComparedString: Int] = [:]
        positions.reserveCapacity(object.count)
        for index in object.indices { positions[ByteComparedString(object[index].name)] = index }
        self.positions = positions
    }

    /// The position of the member of a name.
    subscript(name: String) -> Int? {
        guard let positions else { return object.index(of: name) }
        return positions[ByteComparedString(name)]
    }
}
