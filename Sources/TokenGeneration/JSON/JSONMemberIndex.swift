internal import OpenSSLCrypto

/// The positions of an object's members by name, for many lookups in one object.
///
/// A linear search for every member of a large object would take quadratic time.
struct JSONMemberIndex {
    /// The number of members up to which comparing names is faster than hashing.
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

    /// Accesses the position of the member with a name.
    subscript(name: String) -> Int? {
        guard let positions else { return object.index(of: name) }
        return positions[ByteComparedString(name)]
    }
}
