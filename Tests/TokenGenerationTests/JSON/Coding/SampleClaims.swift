import Foundation

/// Claims with a member of every relevant type, generated from seeded numbers.
struct SampleClaims: Codable, Equatable {
    enum Role: String, Codable, CaseIterable { case reader, editor, owner }
    enum Source: Codable, Equatable {
        case none
        case file(path: String, line: Int)
        case other(Double)
    }

    var text: String
    var optional: String?
    var missing: Int?
    var flag: Bool
    var int: Int
    var int8: Int8
    var int16: Int16
    var int32: Int32
    var int64: Int64
    var uint: UInt
    var uint8: UInt8
    var uint16: UInt16
    var uint32: UInt32
    var uint64: UInt64
    var double: Double
    var float: Float
    var date: Date
    var data: Data
    var url: URL
    var uuid: UUID
    var decimal: Decimal
    var role: Role
    var source: Source
    var strings: [String]
    var numbers: [Int]
    var optionals: [Double?]
    var set: Set<Int8>
    var byName: [String: Int]
    var byNumber: [Int: String]
    var byRole: [Role: Bool]
    var nested: [SampleClaims]

    init(depth: Int, _ numbers: inout Fixture.SeededNumbers) {
        text = Self.string(&numbers)
        optional = Bool.random(using: &numbers) ? Self.string(&numbers) : nil
        missing = nil
        flag = .random(using: &numbers)
        int = .random(in: .min ... .max, using: &numbers) >> Int.random(in: 0...63, using: &numbers)
        int8 = .random(in: .min ... .max, using: &numbers)
        int16 = .random(in: .min ... .max, using: &numbers)
        int32 = .random(in: .min ... .max, using: &numbers)
        int64 = [.min, .max, 0, -1].randomElement(using: &numbers) ?? 0
        uint = .random(in: .min ... .max, using: &numbers)
        uint8 = .random(in: .min ... .max, using: &numbers)
        uint16 = .random(in: .min ... .max, using: &numbers)
        uint32 = .random(in: .min ... .max, using: &numbers)
        uint64 = [.max, 0, 1 << 63].randomElement(using: &numbers) ?? 0
        double =
            [0, 1.5, -2.25e-7, 1e300, 0.1, 1e15, 123_456_789.125, -3].randomElement(using: &numbers)
            ?? .random(in: -1...1, using: &numbers)
        float = [0, 0.1, -2.5, 3.4e38, 1e-7].randomElement(using: &numbers) ?? 0
        date = Date(timeIntervalSince1970: Double(Int.random(in: 0...4_000_000_000, using: &numbers)))
        data = Data((0..<Int.random(in: 0...9, using: &numbers)).map { _ in .random(in: 0...255, using: &numbers) })
        url = URL(filePath: "/a b/\(Int.random(in: 0...9, using: &numbers))")
        uuid = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, .random(in: 0...255, using: &numbers)))
        decimal = Decimal(Int.random(in: -99_999...99_999, using: &numbers)) / 1_000
        role = Role.allCases.randomElement(using: &numbers) ?? .reader
        source =
            [.none, .file(path: Self.string(&numbers), line: 3), .other(0.5)].randomElement(using: &numbers) ?? .none
        strings = (0..<Int.random(in: 0...3, using: &numbers)).map { _ in Self.string(&numbers) }
        self.numbers = (0..<Int.random(in: 0...3, using: &numbers)).map { $0 - 1 }
        optionals = [nil, 1, 0.5].shuffled(using: &numbers)
        set = [.random(in: -5...5, using: &numbers)]
        byName = ["b": 1, "a": 2, "x" + Self.string(&numbers): 3]
        byNumber = [Int.random(in: -20...20, using: &numbers): "x", 100: "y"]
        byRole = [.owner: true]
        nested = []
        for _ in 0..<(depth > 0 ? Int.random(in: 0...2, using: &numbers) : 0) {
            nested.append(SampleClaims(depth: depth - 1, &numbers))
        }
    }

    static func string(_ numbers: inout Fixture.SeededNumbers) -> String {
        let pieces = [
            "a", "Z", "/", "\"", "\\", "\n", "\u{1F}", "\u{7F}", "é", "日", "😀", " ", "\u{2028}", "plain text",
        ]
        return (0..<Int.random(in: 0...6, using: &numbers)).map { _ in pieces.randomElement(using: &numbers) ?? "" }
            .joined()
    }
}

/// A type that keeps several containers open and encodes in any order.
struct UnusualClaims: Codable, Equatable {
    var first = 1
    var inner = 2
    var deep = [3, 4]
    var base = "b"

    enum CodingKeys: String, CodingKey { case z, nested, list, kept, quoted = "a\"b" }
    enum InnerKeys: String, CodingKey { case y, x }

    init() {}

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let nested = try container.nestedContainer(keyedBy: InnerKeys.self, forKey: .nested)
        var list = try container.nestedUnkeyedContainer(forKey: .list)
        first = try container.decode(Int.self, forKey: .z)
        inner = try nested.decode(Int.self, forKey: .x)
        var pair = try list.nestedUnkeyedContainer()
        deep = [
            try pair.decode(Int.self), try list.nestedContainer(keyedBy: InnerKeys.self).decode(Int.self, forKey: .y),
        ]
        base = try container.superDecoder().singleValueContainer().decode(String.self)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        var nested = container.nestedContainer(keyedBy: InnerKeys.self, forKey: .nested)
        var list = container.nestedUnkeyedContainer(forKey: .list)
        try container.encode(9, forKey: .z)
        try nested.encode(1, forKey: .y)
        try container.encode(first, forKey: .z)
        try nested.encode(inner, forKey: .x)
        var pair = list.nestedUnkeyedContainer()
        var object = list.nestedContainer(keyedBy: InnerKeys.self)
        try list.encode("end")
        try object.encode(deep[1], forKey: .y)
        try pair.encode(deep[0])
        var superValue = container.superEncoder().singleValueContainer()
        try superValue.encode(base)
        _ = container.nestedContainer(keyedBy: InnerKeys.self, forKey: .kept)
        var again = encoder.container(keyedBy: InnerKeys.self)
        try again.encode(true, forKey: .y)
        try container.encodeNil(forKey: .quoted)
    }
}

/// A type that continues after a member couldn't be encoded.
///
/// It's only for our encoder. Foundation's encoder in Swift 6.3 ends the process at the next
/// member.
struct ForgivingClaims: Encodable {
    enum Keys: String, CodingKey { case first, wrong, last }

    struct WrongValue: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode("half", forKey: .first)
            try container.encode(Double.nan, forKey: .wrong)
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(1, forKey: .first)
        try? container.encode(WrongValue(), forKey: .wrong)
        try? container.encode([1, .infinity], forKey: .wrong)
        try container.encode(2, forKey: .last)
    }
}

/// A class whose subclass adds members to those of its superclass.
class BaseClaims: Codable {
    var base = 1
}

final class DerivedClaims: BaseClaims {
    var own = "o"

    override init() { super.init() }

    required init(from decoder: any Decoder) throws {
        own = try decoder.container(keyedBy: Keys.self).decode(String.self, forKey: .own)
        try super.init(from: decoder)
    }

    override func encode(to encoder: any Encoder) throws {
        try super.encode(to: encoder)
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(own, forKey: .own)
        try container.encode(self.base, forKey: .twice)
    }

    private enum Keys: CodingKey { case own, twice }
}
