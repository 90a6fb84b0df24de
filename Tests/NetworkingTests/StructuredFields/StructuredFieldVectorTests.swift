import Foundation
import Networking
import TestSupport
import TestVectors
import Testing

/// Tests of httpwg/structured-field-tests, from the folder in `JOSE_VECTORS_DIR`.
@Suite(
    "Structured field vectors",
    .enabled(if: ExternalVector.exists(StructuredFieldVector.folder), "\(ExternalVector.hint)"),
    .computing
)
struct StructuredFieldVectorTests {
    @Test("All files are read")
    func completeness() {
        #expect(StructuredFieldVector.all.count >= 2135)
        #expect(StructuredFieldVector.all.count { $0.raw != nil } >= 1591)
        #expect(StructuredFieldVector.all.count { $0.mustFail } >= 1000)
    }

    @Test(
        "The result is the expected one",
        .shows("P38", "RFC 9651 §3, §4.2", "RFC 9651 §4.1"),
        arguments: StructuredFieldVector.all
    )
    func vector(_ vector: StructuredFieldVector) throws {
        guard let raw = vector.raw else {
            let expected = try #require(vector.expected)
            guard !vector.mustFail else {
                #expect(throws: NetworkError(.invalidField, "")) { try expected.serialized() }
                return
            }
            #expect(try [expected.serialized()] == vector.canonical)
            return
        }
        guard !vector.mustFail else {
            #expect(throws: NetworkError(.invalidField, "")) { try vector.parsed(raw) }
            return
        }
        let field = try vector.parsed(raw)
        #expect(field == vector.expected)
        // An empty list or dictionary is omitted.
        let text = try field.serialized()
        let lines = text.isEmpty ? [] : [text]
        #expect(lines == [vector.canonical.joined(separator: ", ")].filter { !$0.isEmpty })
        #expect(try vector.expected?.serialized() == text)
        #expect(try vector.parsed(lines) == field)
    }
}

/// A test case of httpwg/structured-field-tests.
struct StructuredFieldVector: Sendable, CustomTestStringConvertible {
    enum Field: Hashable, Sendable {
        case item(StructuredField.Item)
        case list(StructuredField.List)
        case dictionary(StructuredField.Dictionary)

        func serialized() throws(NetworkError) -> String {
            switch self {
            case .item(let item): try item.serialized()
            case .list(let list): try list.serialized()
            case .dictionary(let dictionary): try dictionary.serialized()
            }
        }
    }

    static let folder = "structured-fields"

    /// All cases, or none if the folder is missing.
    static let all: [Self] = [folder, folder + "/serialisation-tests"]
        .flatMap { ExternalVector.paths(in: $0) }.flatMap { (try? read($0)) ?? [] }

    let testDescription: String
    let type: String
    /// The lines to parse; `nil` if the value can only be serialized.
    let raw: [String]?
    let expected: Field?
    let canonical: [String]
    let mustFail: Bool

    private static func read(_ path: String) throws -> [Self] {
        let cases = try JSONSerialization.jsonObject(with: ExternalVector.data(path)) as? [[String: Any]]
        return try #require(cases).map { try Self($0, file: String(path.dropFirst(folder.count + 1))) }
    }

    private init(_ object: [String: Any], file: String) throws {
        testDescription = "\(file): \(object["name"] as? String ?? "")"
        type = try #require(object["header_type"] as? String)
        raw = object["raw"] as? [String]
        mustFail = object["must_fail"] as? Bool ?? false
        canonical = object["canonical"] as? [String] ?? raw ?? []
        expected = try object["expected"].map { [type] in try Self.field($0, type: type) }
    }

    func parsed(_ lines: [String]) throws -> Field {
        switch type {
        case "item": .item(try StructuredField.Item(parsing: lines))
        case "list": .list(try StructuredField.List(parsing: lines))
        default: .dictionary(try StructuredField.Dictionary(parsing: lines))
        }
    }

    private static func field(_ value: Any, type: String) throws -> Field {
        switch type {
        case "item": .item(try item(value))
        case "list": .list(StructuredField.List(try array(value).map(member)))
        case "dictionary": .dictionary(StructuredField.Dictionary(try pairs(value).map { try ($0, member($1)) }))
        default: throw CocoaError(.fileReadCorruptFile)
        }
    }

    private static func member(_ value: Any) throws -> StructuredField.Member {
        let parts = try array(value)
        guard parts.count == 2, let items = parts[0] as? [Any] else { return .item(try item(value)) }
        return .innerList(StructuredField.InnerList(try items.map(item), parameters: try parameters(parts[1])))
    }

    private static func item(_ value: Any) throws -> StructuredField.Item {
        let parts = try array(value)
        try #require(parts.count == 2)
        return StructuredField.Item(try bareItem(parts[0]), parameters: try parameters(parts[1]))
    }

    private static func parameters(_ value: Any) throws -> StructuredField.Parameters {
        StructuredField.Parameters(try pairs(value).map { try ($0, bareItem($1)) })
    }

    private static func bareItem(_ value: Any) throws -> StructuredField.BareItem {
        if let text = value as? String { return .string(text) }
        if let number = value as? NSNumber {
            switch unsafe String(cString: number.objCType) {
            case "c", "B": return .boolean(number.boolValue)
            case "d": return .decimal(try #require(Decimal(string: "\(number.doubleValue)")))
            default: return .integer(number.int64Value)
            }
        }
        let object = try #require(value as? [String: Any])
        let content = try #require(object["value"])
        switch object["__type"] as? String {
        case "token": return .token(try #require(content as? String))
        case "binary": return .byteSequence(try base32(#require(content as? String)))
        case "date": return .date(try #require(content as? NSNumber).int64Value)
        case "displaystring": return .displayString(try #require(content as? String))
        default: throw CocoaError(.fileReadCorruptFile)
        }
    }

    private static func array(_ value: Any) throws -> [Any] {
        try #require(value as? [Any])
    }

    private static func pairs(_ value: Any) throws -> [(String, Any)] {
        try array(value).map { pair in
            let parts = try array(pair)
            try #require(parts.count == 2)
            return (try #require(parts[0] as? String), parts[1])
        }
    }

    private static func base32(_ text: String) throws -> Data {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)
        var (data, buffer, bits) = (Data(), 0, 0)
        for byte in text.utf8 where byte != UInt8(ascii: "=") {
            buffer = (buffer << 5 | (try #require(digits.firstIndex(of: byte)))) & 0xFFF
            bits += 5
            if bits >= 8 {
                bits -= 8
                data.append(UInt8(truncatingIfNeeded: buffer >> bits))
            }
        }
        return data
    }
}
