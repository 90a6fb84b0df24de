/// The DER of a PKCS#12 file, for modification; lengths adapt automatically.
struct PKCS12Tree {
    private struct Node {
        var tag: UInt8
        var octets: [UInt8] = []
        var children: [Node] = []

        /// Parses an element.
        ///
        /// An OCTET STRING that contains a SEQUENCE is parsed recursively.
        init?(_ input: inout ArraySlice<UInt8>) {
            guard let tag = input.popFirst(), var length = input.popFirst().map(Int.init) else { return nil }
            if length >= 0x80 {
                var size = 0
                for _ in 0..<length & 0x7F {
                    guard let octet = input.popFirst() else { return nil }
                    size = size << 8 | Int(octet)
                }
                length = size
            }
            guard input.count >= length else { return nil }
            self.tag = tag
            var contents = input.prefix(length)
            input = input.dropFirst(length)
            octets = Array(contents)
            guard tag & 0x20 != 0 || (tag == 0x04 && contents.first == 0x30) else { return }
            while !contents.isEmpty {
                guard let child = Node(&contents) else {
                    children = []
                    return
                }
                children.append(child)
            }
        }

        var encoding: [UInt8] {
            let contents = children.isEmpty ? octets : children.flatMap(\.encoding)
            var length: [UInt8] = []
            var rest = contents.count
            while rest > 0 {
                length.insert(UInt8(rest & 0xFF), at: 0)
                rest >>= 8
            }
            let header = contents.count < 0x80 ? [UInt8(contents.count)] : [0x80 | UInt8(length.count)] + length
            return [tag] + header + contents
        }

        mutating func replace(_ old: [UInt8], _ occurrence: inout Int, _ new: [UInt8]) {
            if tag == 0x02, octets == old {
                if occurrence == 0 { octets = new }
                occurrence -= 1
            }
            for index in children.indices { children[index].replace(old, &occurrence, new) }
        }
    }

    private var root: Node

    init(_ octets: [UInt8]) {
        var input = octets[...]
        guard let root = Node(&input) else { preconditionFailure("a fixture is malformed") }
        self.root = root
    }

    var octets: [UInt8] { root.encoding }

    /// Removes the last element of the file, its MAC.
    mutating func removeLast() { root.children.removeLast() }

    /// Replaces one of the integers with a given value.
    mutating func replace(integer old: [UInt8], occurrence: Int, with new: [UInt8]) {
        var occurrence = occurrence
        root.replace(old, &occurrence, new)
    }

    /// Appends copies of the first part of the contents.
    mutating func repeatFirstContent(_ count: Int) {
        // PFX, ContentInfo, [0], OCTET STRING, AuthenticatedSafe.
        let first = root.children[1].children[1].children[0].children[0].children[0]
        root.children[1].children[1].children[0].children[0].children
            .insert(contentsOf: Array(repeating: first, count: count), at: 0)
    }
}
