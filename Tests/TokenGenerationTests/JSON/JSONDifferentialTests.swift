import Foundation
import TestSupport
import Testing
import TokenGeneration

/// Compares the package's parser with Foundation's, on documents from fixed seeds.
@Suite("JSON against Foundation", .computing)
struct JSONDifferentialTests {
    @Test(
        "Both parse random documents to the same values, and Foundation parses our output",
        .shows("RFC 8259"),
        arguments: 0..<20
    )
    func randomDocuments(seed: Int) throws {
        var documents = RandomDocuments(numbers: Fixture.SeededNumbers(state: UInt64(seed)))
        for _ in 0..<25 {
            let text = documents.object(depth: 4)
            let ours = try JSONObject(parsing: text)
            let theirs = try JSONSerialization.jsonObject(with: Data(text.utf8))
            #expect(isSame(.object(ours), theirs), "\(text)")
            let rewritten = try JSONSerialization.jsonObject(with: ours.serializedData())
            #expect(isSame(.object(ours), rewritten), "\(text)")
            #expect(try JSONObject(parsing: ours.serialized()) == ours)
            #expect(try JSONObject(parsing: ours.prettyPrinted()) == ours)
        }
    }

    @Test("Foundation accepts every damaged document that we accept", arguments: 0..<10)
    func damagedDocuments(seed: Int) throws {
        var documents = RandomDocuments(numbers: Fixture.SeededNumbers(state: 1_000 + UInt64(seed)))
        var accepted = 0
        for _ in 0..<100 {
            var bytes = Array(documents.object(depth: 3).utf8)
            for _ in 0..<Int.random(in: 1...2, using: &documents.numbers) {
                bytes[Int.random(in: bytes.indices, using: &documents.numbers)] =
                    UInt8.random(in: 0...255, using: &documents.numbers)
            }
            guard (try? JSONObject(parsing: Data(bytes))) != nil else { continue }
            accepted += 1
            #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(bytes)) }
        }
        #expect(accepted > 0)
    }

    private func isSame(_ ours: JSONValue, _ theirs: Any) -> Bool {
        switch ours {
        case .null: theirs is NSNull
        case .bool(let bool): (theirs as? Bool) == bool
        case .number(let number): (theirs as? NSNumber)?.doubleValue == number.double
        case .string(let string): (theirs as? String).map { $0.utf8.elementsEqual(string.utf8) } ?? false
        case .array(let array):
            (theirs as? [Any]).map { $0.count == array.count && zip(array, $0).allSatisfy(isSame) } ?? false
        case .object(let object):
            (theirs as? [String: Any]).map { dictionary in
                dictionary.count == object.count
                    && object.allSatisfy { member in dictionary[member.name].map { isSame(member.value, $0) } ?? false }
            } ?? false
        }
    }
}

/// A generator of random JSON with random white space and escapes.
private struct RandomDocuments {
    var numbers: Fixture.SeededNumbers

    mutating func object(depth: Int) -> String {
        var members: [String] = []
        for index in 0..<Int.random(in: 0...6, using: &numbers) {
            members.append(space() + string(suffix: "\(index)") + space() + ":" + value(depth: depth - 1))
        }
        return space() + "{" + members.joined(separator: ",") + space() + "}" + space()
    }

    private mutating func value(depth: Int) -> String {
        let content =
            switch Int.random(in: depth > 0 ? 0...6 : 2...6, using: &numbers) {
            case 0: object(depth: depth)
            case 1: array(depth: depth)
            case 2: "null"
            case 3: Bool.random(using: &numbers) ? "true" : "false"
            case 4: string()
            case 5: number()
            default: "\(Int.random(in: -1_000...1_000, using: &numbers))"
            }
        return space() + content + space()
    }

    private mutating func array(depth: Int) -> String {
        var elements: [String] = []
        for _ in 0..<Int.random(in: 0...4, using: &numbers) { elements.append(value(depth: depth - 1)) }
        return "[" + (elements.isEmpty ? space() : elements.joined(separator: ",")) + "]"
    }

    private mutating func number() -> String {
        var text = "\(Int.random(in: -9_999...9_999, using: &numbers))"
        if Bool.random(using: &numbers) { text += ".\(Int.random(in: 0...99_999, using: &numbers))" }
        if Bool.random(using: &numbers) {
            text += "\(["e", "E"][Int.random(in: 0...1, using: &numbers)])\(Int.random(in: -20...20, using: &numbers))"
        }
        return text
    }

    private mutating func string(suffix: String = "") -> String {
        let pieces = [
            "a", "Z", " ", "/", "é", "日", "😀", #"\n"#, #"\""#, #"\\"#, #"\/"#, #"\u0041"#, #"\uD83D\uDE00"#, #"\u00e9"#,
            "\u{7F}",
        ]
        var text = ""
        for _ in 0..<Int.random(in: 0...8, using: &numbers) {
            text += pieces[Int.random(in: pieces.indices, using: &numbers)]
        }
        return "\"" + text + suffix + "\""
    }

    private mutating func space() -> String {
        ["", "", "", " ", "\n", "\t", "\r\n"][Int.random(in: 0...6, using: &numbers)]
    }
}
