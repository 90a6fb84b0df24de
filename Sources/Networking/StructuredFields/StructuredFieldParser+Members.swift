extension StructuredFieldParser {
    mutating func list() throws(NetworkError) -> StructuredField.List {
        var list = StructuredField.List()
        while next != nil {
            guard list.members.count < limits.members else { throw Self.excess(limits.members, "members") }
            list.members.append(try member())
            try separator()
        }
        return list
    }

    /// Parses a dictionary, and either rejects a repeated key or uses its last member.
    mutating func dictionary(uniqueKeys: Bool) throws(NetworkError) -> StructuredField.Dictionary {
        var dictionary = StructuredField.Dictionary()
        // Repeated members count, too, because reading them takes time.
        var count = 0
        while next != nil {
            guard count < limits.members else { throw Self.excess(limits.members, "members") }
            count += 1
            let key = try key()
            guard !uniqueKeys || dictionary[key] == nil else { throw defect("a key is repeated") }
            dictionary[key] =
                try skip("=") ? member() : .item(StructuredField.Item(.boolean(true), parameters: parameters()))
            try separator()
        }
        return dictionary
    }

    /// Parses the comma before another member, if it isn't the end.
    private mutating func separator() throws(NetworkError) {
        skip { $0.isHTTPWhitespace }
        guard next != nil else { return }
        guard skip(",") else { throw defect("expected a comma") }
        skip { $0.isHTTPWhitespace }
        guard next != nil else { throw defect("a comma at the end") }
    }

    private mutating func member() throws(NetworkError) -> StructuredField.Member {
        if next == UInt8(ascii: "(") { return .innerList(try innerList()) }
        return .item(try item())
    }

    mutating func innerList() throws(NetworkError) -> StructuredField.InnerList {
        guard skip("(") else { throw defect("expected an inner list") }
        var items: [StructuredField.Item] = []
        while true {
            skip { $0 == UInt8(ascii: " ") }
            if skip(")") { return StructuredField.InnerList(items, parameters: try parameters()) }
            guard items.count < limits.innerListItems else {
                throw Self.excess(limits.innerListItems, "items in an inner list")
            }
            items.append(try item())
            guard next == UInt8(ascii: " ") || next == UInt8(ascii: ")") else {
                throw defect("expected a space or parenthesis after an item of an inner list")
            }
        }
    }

    mutating func item() throws(NetworkError) -> StructuredField.Item {
        let value = try bareItem()
        return StructuredField.Item(value, parameters: try parameters())
    }

    private mutating func parameters() throws(NetworkError) -> StructuredField.Parameters {
        var parameters = StructuredField.Parameters()
        var count = 0
        while skip(";") {
            guard count < limits.parameters else { throw Self.excess(limits.parameters, "parameters") }
            count += 1
            skip { $0 == UInt8(ascii: " ") }
            let key = try key()
            parameters[key] = try skip("=") ? bareItem() : .boolean(true)
        }
        return parameters
    }

    private mutating func key() throws(NetworkError) -> String {
        guard let first = next, StructuredFieldSyntax.startsKey(first) else {
            throw defect("a key must begin with a lowercase letter or an asterisk")
        }
        let range = skip(while: StructuredFieldSyntax.isKeyByte)
        guard range.count <= limits.keyLength else { throw Self.excess(limits.keyLength, "bytes in a key") }
        return text(range)
    }
}
