internal import OpenSSLCrypto

/// The positions of an object's members by name, compared byte by byte.
///
/// A linear search for every member of a large object would take quadratic time.
struct JSONMemberIndex: Sendable {
    /// The number of members up to which comparing names is faster than hashing.
    static let smallCount = 16

    /// The positions, or `nil` for a small object.
    private var positions: [ByteComparedString: Int]?

    /// Creates the index of an object without members.
    init() {}

    /// Creates the index of members with distinct names.
    init(_ members: [JSONObject.Member]) {
        guard members.count > Self.smallCount else { return }
        index(members)
    }

    /// Returns the position of the member with a name, or `nil`.
    func position(of name: String, in members: [JSONObject.Member]) -> Int? {
        guard let positions else {
            // Borrows the elements of a span. An array's subscript would copy them.
            let members = members.span
            for index in members.indices where members[index].name.isExactly(name) { return index }
            return nil
        }
        return positions[ByteComparedString(name)]
    }

    /// Adds a name that the next member will have, or returns `false` if a member has it already.
    mutating func insert(_ name: String, after members: [JSONObject.Member]) -> Bool {
        guard position(of: name, in: members) == nil else { return false }
        if positions == nil, members.count == Self.smallCount { index(members) }
        positions?[ByteComparedString(name)] = members.count
        return true
    }

    private mutating func index(_ members: [JSONObject.Member]) {
        var positions: [ByteComparedString: Int] = [:]
        positions.reserveCapacity(members.count * 2)
        for (position, member) in members.enumerated() { positions[ByteComparedString(member.name)] = position }
        self.positions = positions
    }
}
