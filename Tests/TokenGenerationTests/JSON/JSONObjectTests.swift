import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("JSON objects", .computing)
struct JSONObjectTests {
    @Test("Members keep their order, are replaced in place, and are removed by nil")
    func members() {
        var object: JSONObject = ["z": 1, "a": "x", "m": [true, nil, 1.5]]
        #expect(object.map(\.name) == ["z", "a", "m"])
        object["a"] = ["b": 2]
        object["z"] = nil
        object["n"] = JSONValue.null
        object["absent"] = nil
        #expect(object.map(\.name) == ["a", "m", "n"])
        #expect(object["a"]?.object?["b"]?.number?.integer == 2)
        #expect(object["m"]?.array == [true, nil, 1.5])
        #expect(object["n"] == .some(.null))
        #expect(object["z"] == nil)
        #expect(object[0].name == "a" && object[0].value == ["b": 2])
    }

    @Test("A literal keeps the last of several members with the same name")
    func literalDuplicates() {
        let object: JSONObject = ["a": 1, "b": 2, "a": 3]
        #expect(object.serialized() == #"{"a":3,"b":2}"#)
        #expect(JSONValue.object(object) == ["b": 2, "a": 3])
    }

    @Test("Equality and hash depend on code points and number texts, not on the order of members")
    func equality() {
        let one: JSONObject = ["a": 1, "b": ["c": "x", "d": nil]]
        let other: JSONObject = ["b": ["d": nil, "c": "x"], "a": 1]
        #expect(one == other)
        #expect(one.hashValue == other.hashValue)
        #expect(one != ["a": 1])
        #expect(one != ["a": 1, "c": nil])
        #expect(JSONValue.string("K") != .string("\u{212A}"))
        #expect(JSONValue.string("\u{E9}") != .string("e\u{301}"))
        #expect(JSONValue.number(1) != 1.5)
        #expect(JSONValue.bool(true) != 1)
        #expect(JSONValue.null != false)
    }

    @Test("Finds a member only by its exact code points", .shows("D3", "RFC 7519 §7.3"))
    func exactNames() {
        let object: JSONObject = ["K": 1, "exp": 2]
        #expect(object["\u{212A}"] == nil)
        #expect(object["Exp"] == nil)
        #expect(object["exp"] == 2)
    }

    @Test("Typed access returns nil for another type")
    func access() {
        let values: [JSONValue] = [nil, true, 1, "s", [1], ["a": 1]]
        #expect(values.map { $0.bool != nil } == [false, true, false, false, false, false])
        #expect(values.map { $0.number != nil } == [false, false, true, false, false, false])
        #expect(values.map { $0.string != nil } == [false, false, false, true, false, false])
        #expect(values.map { $0.array != nil } == [false, false, false, false, true, false])
        #expect(values.map { $0.object != nil } == [false, false, false, false, false, true])
    }

    @Test("Names are sorted by code points, not by UTF-16 or locale")
    func sorting() {
        let object: JSONObject = [
            "\u{1F600}": 1, "\u{FFFD}": 2, "é": 3, "z": 4, "Z": 5, "a": 6, "": 7, "aa": 8, "_": 9,
        ]
        #expect(
            object.serialized()
                == "{\"\":7,\"Z\":5,\"_\":9,\"a\":6,\"aa\":8,\"z\":4,\"é\":3,\"\u{FFFD}\":2,\"\u{1F600}\":1}"
        )
        #expect(object.description == object.serialized())
        #expect(object.serializedData() == Data(object.serialized().utf8))
    }

    @Test("Names that begin alike are sorted by all of their bytes", arguments: [2, 9, 16, 17, 40])
    func commonBeginnings(count: Int) throws {
        let names = (0..<count).map { "a" + String(repeating: "\0", count: $0) }
        let object = JSONObject(names.reversed().map { ($0, true) })
        #expect(try JSONObject(parsing: object.serialized()).map(\.name) == names)
        let dictionary = Dictionary(uniqueKeysWithValues: names.map { ($0, true) })
        #expect(try JSONObject(encoding: dictionary).map(\.name) == names)
    }

    @Test("The readable form has one sorted member per line, and can be parsed")
    func prettyPrinting() throws {
        let object: JSONObject = ["b": [1, ["x": "a/b"]], "a": [], "c": [:], "d": nil]
        let text = """
            {
              "a": [],
              "b": [
                1,
                {
                  "x": "a/b"
                }
              ],
              "c": {},
              "d": null
            }
            """
        #expect(object.prettyPrinted() == text)
        #expect(try JSONObject(parsing: text) == object)
        #expect(JSONObject().prettyPrinted() == "{}")
    }
}
