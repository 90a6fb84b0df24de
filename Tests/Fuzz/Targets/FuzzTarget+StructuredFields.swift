import Foundation
import Networking

// shows: N17
extension FuzzTarget {
    /// Reads lines as each type of structured field.
    ///
    /// A field that was read can be written, and the written field is equal and canonical.
    static func structuredField(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let item = try? StructuredField.Item(parsing: lines)
        if let item {
            stable(item, item.serialized) { line throws(NetworkError) in try StructuredField.Item(parsing: [line]) }
        }
        if let list = try? StructuredField.List(parsing: lines) {
            require(item == nil || list.members == item.map { [.item($0)] }, "an item is another list")
            stable(list, list.serialized) { line throws(NetworkError) in try StructuredField.List(parsing: [line]) }
            check(list.members)
        } else {
            require(item == nil, "an item isn't a list")
        }
        if let list = try? StructuredField.InnerList(parsing: lines) {
            stable(list, list.serialized) { line throws(NetworkError) in
                try StructuredField.InnerList(parsing: [line])
            }
            check([.innerList(list)])
        }
        let unique = try? StructuredField.Dictionary(parsingUniqueKeys: lines)
        if let dictionary = try? StructuredField.Dictionary(parsing: lines) {
            require(unique == nil || unique == dictionary, "unique keys change the result")
            stable(dictionary, dictionary.serialized) { line throws(NetworkError) in
                try StructuredField.Dictionary(parsingUniqueKeys: [line])
            }
            check(dictionary.map(\.value))
            require(dictionary.allSatisfy { dictionary[$0.key] == $0.value }, "a member has two values")
            digests(lines)
        } else {
            require(unique == nil, "a malformed dictionary was read")
        }
    }

    /// Reads lines as a digest field and as preferences.
    private static func digests(_ lines: [String]) {
        if let digest = try? HTTPDigest(parsing: lines) {
            require((try? HTTPDigest(parsing: [digest.fieldValue])) == digest, "a digest can't be written and read")
            require(!digest.algorithms.isEmpty, "a digest has no algorithm")
            require((try? digest.matches(Data(digest.fieldValue.utf8))) == false, "a wrong digest matches")
        }
        if let preferences = try? HTTPDigest.Preferences(parsing: lines) {
            let again = try? HTTPDigest.Preferences(parsing: [preferences.fieldValue])
            require(again == preferences, "preferences can't be written and read")
        }
    }

    private static func stable<Value: Hashable>(
        _ value: Value,
        _ serialize: () throws(NetworkError) -> String,
        _ parse: (String) throws(NetworkError) -> Value
    ) {
        guard let text = try? serialize(), let again = try? parse(text) else {
            defect("a field can't be written and read")
        }
        require(again == value && again.hashValue == value.hashValue, "the field differs after writing and reading")
        require(text.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "the field isn't printable")
    }

    /// Checks that the default limits apply.
    private static func check(_ members: [StructuredField.Member]) {
        require(members.count <= 1024, "too many members")
        for member in members {
            switch member {
            case .item(let item): check(item)
            case .innerList(let list):
                require(list.items.count <= 256 && list.parameters.count <= 256, "the inner list is too large")
                list.items.forEach(check)
            }
        }
    }

    private static func check(_ item: StructuredField.Item) {
        require(item.parameters.count <= 256, "too many parameters")
        for value in [item.value] + item.parameters.map(\.value) {
            switch value {
            case .integer(let value), .date(let value): require(value.magnitude < 1_000_000_000_000_000, "too large")
            case .string(let text), .displayString(let text): require(text.utf8.count <= 1024, "the string is too long")
            case .token(let text): require(text.utf8.count <= 512 && !text.isEmpty, "the token has a wrong length")
            case .byteSequence(let bytes): require(bytes.count <= 16_384, "too many bytes")
            default: break
            }
        }
    }
}
