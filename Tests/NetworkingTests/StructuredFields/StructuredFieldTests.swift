import Foundation
import Networking
import TestSupport
import Testing

@Suite("Structured fields", .computing)
struct StructuredFieldTests {
    private static let malformed = NetworkError(.invalidField, "")

    @Test("Values keep their order, types and parameters", .shows("P38"))
    func values() throws {
        let list = try StructuredField.InnerList(
            parsing: [#"("@method" "x";sf;req);created=1618884473;keyid="k\"\\";nonce=:AQI=:"#]
        )
        #expect(
            list.items == [
                StructuredField.Item(.string("@method")),
                StructuredField.Item(
                    .string("x"),
                    parameters: StructuredField.Parameters([("sf", .boolean(true)), ("req", .boolean(true))])
                ),
            ]
        )
        #expect(list.parameters.map(\.key) == ["created", "keyid", "nonce"])
        #expect(list.parameters["created"] == .integer(1_618_884_473))
        #expect(list.parameters["keyid"] == .string(#"k"\"#))
        #expect(list.parameters["nonce"] == .byteSequence(Data([1, 2])))
        #expect(list.parameters["expires"] == nil)
        #expect(try list.serialized() == #"("@method" "x";sf;req);created=1618884473;keyid="k\"\\";nonce=:AQI=:"#)
    }

    @Test("The types of values are distinct")
    func types() throws {
        let field = try StructuredField.List(parsing: [#"1, 1.0, "1", a, :YQ==:, ?1, @1, %"%c3%a9", (1)"#])
        let values: [StructuredField.BareItem] = [
            .integer(1), .decimal(1), .string("1"), .token("a"), .byteSequence(Data("a".utf8)), .boolean(true),
            .date(1), .displayString("é"),
        ]
        #expect(Array(field.members.prefix(8)) == values.map { .item(StructuredField.Item($0)) })
        #expect(field.members.last == .innerList(StructuredField.InnerList([StructuredField.Item(.integer(1))])))
        #expect(Set(field.members).count == 9)
        #expect(StructuredField.BareItem.displayString("e\u{301}") != .displayString("\u{E9}"))
        let (one, other) = (StructuredField.BareItem.decimal(1), try StructuredField.Item(parsing: ["1.00"]).value)
        #expect(one == other && one.hashValue == other.hashValue)
    }

    @Test("Members can be replaced, added and removed")
    func editing() throws {
        var dictionary = try StructuredField.Dictionary(parsing: ["a=1, b", "c=(1 2);x"])
        dictionary["a"] = .item(StructuredField.Item(.token("t")))
        dictionary["d"] = .item(StructuredField.Item(.boolean(false)))
        dictionary["b"] = nil
        dictionary["e"] = nil
        #expect(dictionary.keys == ["a", "c", "d"])
        #expect(dictionary["c"] != nil && dictionary["b"] == nil)
        #expect(try dictionary.serialized() == "a=t, c=(1 2);x, d=?0")
        #expect(dictionary.map(\.key) == dictionary.keys)
        let same = StructuredField.Dictionary(dictionary.map { ($0.key, $0.value) })
        #expect(same == dictionary && same.hashValue == dictionary.hashValue)
        #expect(StructuredField.Dictionary(dictionary.reversed().map { ($0.key, $0.value) }) != dictionary)
    }

    @Test("Any number of members can be replaced, added and removed", arguments: [7, 8, 9, 10, 40])
    func editingMany(count: Int) throws {
        let names = (0..<count).map { "k\($0)" }
        var dictionary = StructuredField.Dictionary(
            names.enumerated().map { ($1, .item(StructuredField.Item(.integer(Int64($0))))) }
        )
        for name in [names[0], names[count / 2], names[count - 1]] {
            dictionary[name] = nil
            #expect(dictionary[name] == nil && !dictionary.keys.contains(name))
            for other in dictionary.keys {
                #expect(dictionary[other] == .item(StructuredField.Item(.integer(Int64(other.dropFirst()) ?? -1))))
            }
        }
        #expect(dictionary.keys == names.filter { ![names[0], names[count / 2], names[count - 1]].contains($0) })
        dictionary[names[0]] = .item(StructuredField.Item(.token("t")))
        dictionary[names[1]] = .item(StructuredField.Item(.token("u")))
        #expect(dictionary.keys.last == names[0] && dictionary.keys.first == names[1])
        #expect(dictionary[names[0]] == .item(StructuredField.Item(.token("t"))))
        #expect(dictionary.count == count - 2)
        let parsed = try StructuredField.Dictionary(parsing: [dictionary.serialized()])
        #expect(parsed == dictionary && parsed.hashValue == dictionary.hashValue)
    }

    @Test("Repeated keys can be rejected", arguments: ["a=1, b, a=1", "a, a", "sig=(), sig=()"])
    func repeatedKeys(field: String) throws {
        #expect(throws: Self.malformed) { try StructuredField.Dictionary(parsingUniqueKeys: [field]) }
        #expect(throws: Never.self) { try StructuredField.Dictionary(parsing: [field]) }
        #expect(try StructuredField.Dictionary(parsingUniqueKeys: ["a;a;a, b"]).keys == ["a", "b"])
    }

    @Test("A field without lines is empty")
    func missingField() throws {
        #expect(try StructuredField.List(parsing: []).members.isEmpty)
        #expect(try StructuredField.Dictionary(parsing: []).isEmpty)
        #expect(throws: Self.malformed) { try StructuredField.Item(parsing: []) }
        #expect(throws: Self.malformed) { try StructuredField.InnerList(parsing: []) }
    }

    @Test(
        "A single inner list is exactly that",
        arguments: ["", "1", "(1", "(1), (2)", "(1),", "(1)a", "((1))", "a=(1)"]
    )
    func innerLists(text: String) {
        #expect(throws: Self.malformed) { try StructuredField.InnerList(parsing: [text]) }
    }

    @Test(
        "The padding of base64 may be missing, but not wrong",
        .shows("N17"),
        arguments: [
            ":YQ=:", ":YQ===:", ":YWI==:", ":YWJj=:",
            ":YWJj====:", ":Y:", ":Y===:", ":YWJjZ:", ":=:", ":====:",
        ]
    )
    func padding(text: String) throws {
        #expect(throws: Self.malformed) { try StructuredField.Item(parsing: [text]) }
        #expect(try StructuredField.Item(parsing: [":YQ:"]).value == .byteSequence(Data("a".utf8)))
        #expect(try StructuredField.Item(parsing: [":YWI:"]).value == .byteSequence(Data("ab".utf8)))
        #expect(try StructuredField.Item(parsing: [":YWJ=:"]).serialized() == ":YWI=:")
    }

    @Test("Only ASCII is read", .shows("N17"), arguments: ["é", "a;b=é", "\"é\"", "%\"é\"", "\u{FF10}", "1\u{301}"])
    func unicode(text: String) {
        #expect(throws: Self.malformed) { try StructuredField.Item(parsing: [text]) }
        #expect(throws: Self.malformed) { try StructuredField.List(parsing: [text]) }
    }

    @Test("Errors name the position, not the content")
    func message() {
        let error = #expect(throws: NetworkError.self) {
            try StructuredField.Dictionary(parsing: ["token=\"secret\", Key=1"])
        }
        #expect(error?.code == .invalidField && error?.errorCode == -1017)
        #expect(error?.message.contains("byte 16") == true)
        #expect(error?.description.contains("secret") == false)
    }

    @Test(
        "Values that can't be sent are rejected",
        .shows("N18", "RFC 9651 §4.1"),
        arguments: [
            .integer(1_000_000_000_000_000), .integer(.min), .date(.max), .decimal(.nan),
            .decimal(Decimal(string: "999999999999.9995") ?? 0), .decimal(.greatestFiniteMagnitude),
            .string("a\nb"), .string("é"), .string("\u{7F}"), .token(""), .token("1a"), .token("a b"), .token("é"),
        ] as [StructuredField.BareItem]
    )
    func unsendable(value: StructuredField.BareItem) {
        let item = StructuredField.Item(value)
        #expect(throws: Self.malformed) { try item.serialized() }
        let parameter = StructuredField.Item(.integer(1), parameters: StructuredField.Parameters([("a", value)]))
        #expect(throws: Self.malformed) { try parameter.serialized() }
        #expect(throws: Self.malformed) { try StructuredField.InnerList([item]).serialized() }
        #expect(throws: Self.malformed) { try StructuredField.List([.item(item)]).serialized() }
        #expect(throws: Self.malformed) { try StructuredField.Dictionary([("a", .item(item))]).serialized() }
    }

    @Test(
        "Keys that can't be sent are rejected",
        .shows("N18"),
        arguments: ["", "A", "1", "-a", "a b", "a=", "é", "a\r\nb"]
    )
    func unsendableKeys(key: String) {
        let parameters = StructuredField.Parameters([(key, .boolean(true))])
        #expect(throws: Self.malformed) { try StructuredField.InnerList([], parameters: parameters).serialized() }
        let dictionary = StructuredField.Dictionary([(key, .innerList(StructuredField.InnerList()))])
        #expect(throws: Self.malformed) { try dictionary.serialized() }
    }

    @Test(
        "Decimals are rounded to three digits, ties to even",
        arguments: [
            ("0", "0.0"), ("-0.0004", "0.0"), ("1", "1.0"), ("1.2", "1.2"), ("1.2340", "1.234"), ("1.2345", "1.234"),
            ("1.2355", "1.236"), ("-1.23451", "-1.235"), ("999999999999.9994", "999999999999.999"),
            ("1e11", "100000000000.0"),
            ("0.0005", "0.0"), ("0.0015", "0.002"), ("12345678901.12345678901234567890", "12345678901.123"),
        ]
    )
    func decimals(value: String, text: String) throws {
        let decimal = try #require(Decimal(string: value))
        #expect(try StructuredField.Item(.decimal(decimal)).serialized() == text)
    }

    @Test("Display strings are percent-encoded UTF-8")
    func displayStrings() throws {
        let item = StructuredField.Item(.displayString("ü \"%\u{0}\u{7F}😀"))
        #expect(try item.serialized() == #"%"%c3%bc %22%25%00%7f%f0%9f%98%80""#)
        #expect(try StructuredField.Item(parsing: [item.serialized()]) == item)
    }

    @Test("Larger fields than the limits are rejected", .shows("N17", "RFC 9651 §3, §4.2"), arguments: Limit.allCases)
    func limits(limit: Limit) throws {
        for (count, isAccepted) in [(limit.standard, true), (limit.standard + 1, false)] {
            #expect(((try? limit.parse(count)) != nil) == isAccepted, "\(count)")
        }
        expectThrown(.invalidField, mentioning: "\(limit.standard)") { try limit.parse(limit.standard + 1) }
        var limits = StructuredField.Limits()
        limits[keyPath: limit.path] = 40
        #expect(throws: Never.self) { try limit.parse(40, limits) }
        #expect(throws: Self.malformed) { try limit.parse(41, limits) }
    }

    enum Limit: CaseIterable {
        case length, listMembers, dictionaryMembers, repeatedMembers, innerListItems, parameters, repeatedParameters
        case keyLength, stringLength, displayStringLength, tokenLength, byteSequenceLength

        var path: WritableKeyPath<StructuredField.Limits, Int> {
            switch self {
            case .length: \.length
            case .listMembers, .dictionaryMembers, .repeatedMembers: \.members
            case .innerListItems: \.innerListItems
            case .parameters, .repeatedParameters: \.parameters
            case .keyLength: \.keyLength
            case .stringLength, .displayStringLength: \.stringLength
            case .tokenLength: \.tokenLength
            case .byteSequenceLength: \.byteSequenceLength
            }
        }

        var standard: Int { StructuredField.Limits()[keyPath: path] }

        func parse(_ count: Int, _ limits: StructuredField.Limits = StructuredField.Limits()) throws {
            func repeated(_ text: String) -> String { String(repeating: text, count: count) }
            func list(_ separator: String, _ text: (Int) -> String) -> String {
                (0..<count).map(text).joined(separator: separator)
            }
            switch self {
            case .length: _ = try StructuredField.List(parsing: [repeated(" ")], limits: limits)
            case .listMembers: _ = try StructuredField.List(parsing: [list(",") { "\($0)" }], limits: limits)
            case .dictionaryMembers:
                _ = try StructuredField.Dictionary(parsing: (0..<count).map { "k\($0)" }, limits: limits)
            case .repeatedMembers:
                _ = try StructuredField.Dictionary(parsing: [list(", ") { _ in "k" }], limits: limits)
            case .innerListItems:
                _ = try StructuredField.InnerList(parsing: ["(" + list(" ") { "\($0)" } + ")"], limits: limits)
            case .parameters: _ = try StructuredField.Item(parsing: ["1;" + list(";") { "k\($0)" }], limits: limits)
            case .repeatedParameters: _ = try StructuredField.Item(parsing: ["1" + repeated(";k")], limits: limits)
            case .keyLength: _ = try StructuredField.Dictionary(parsing: [repeated("k")], limits: limits)
            case .stringLength: _ = try StructuredField.Item(parsing: ["\"\(repeated(#"\""#))\""], limits: limits)
            case .displayStringLength:
                _ = try StructuredField.Item(parsing: ["%\"\(repeated("%00"))\""], limits: limits)
            case .tokenLength: _ = try StructuredField.Item(parsing: [repeated("t")], limits: limits)
            case .byteSequenceLength:
                let content = Data(repeating: 1, count: count).base64EncodedString()
                _ = try StructuredField.Item(parsing: [":\(content):"], limits: limits)
            }
        }
    }

    // Reading them more than once would take hours.
    @Test(
        "Large malformed fields are read once",
        .shows("N17"),
        arguments: ["(", "((", "a;", "\"", ":", "a=(", ",", " ", "a,", "%", "\\"]
    )
    func work(text: String) {
        let field = String(repeating: text, count: 1_000_000 / text.utf8.count)
        _ = try? StructuredField.Item(parsing: [field])
        _ = try? StructuredField.List(parsing: [field])
        _ = try? StructuredField.Dictionary(parsing: [field])
        _ = try? StructuredField.InnerList(parsing: [field])
    }
}
