import TestSupport
import Testing
import TokenGeneration

@testable import jwt

@Suite("Assignment", .limitedConcurrency)
struct AssignmentTests {
    @Test(
        "Parses a value as JSON if possible",
        arguments: [
            ("a=5", 5), ("a=-1.5e3", .number(JSONNumber(literal: "-1.5e3") ?? 0)), ("a=true", true), ("a=false", false),
            ("a=null", nil),
            ("a=[\"x\",1]", ["x", 1]), ("a={\"b\":{}}", ["b": [:]]), ("a=\"5\"", "5"), ("a=\"\"", ""),
            ("a=12345678901234567890", .number(JSONNumber(literal: "12345678901234567890") ?? 0)),
        ] as [(String, JSONValue)]
    )
    func json(text: String, value: JSONValue) throws {
        let assignment = try Assignment(argument: text)
        #expect(assignment.name == "a")
        #expect(assignment.value == value)
    }

    @Test(
        "Treats any other value as text",
        arguments: [
            "", "alice", "007", "+5", ".5", "5.", "True", "NaN", "a b", "a=b", "\"open", "say \"hi\"", "[draft] one",
            "{", "1,\"value\":2",
            "1,\"b\":2", "1}", "5 6", "\u{1F600}", "'x'", "//",
        ]
    )
    func text(value: String) throws {
        #expect(try Assignment(argument: "a=" + value).value == .string(value))
    }

    @Test(
        "Rejects a malformed object or array",
        arguments: [
            "[a,b]", "{a:1}", "{\"a\":1,\"a\":2}", "[1,]", "{'a':1}",
        ]
    )
    func brokenJSON(value: String) {
        #expect(
            throws: ValueError(
                message:
                    "a looks like JSON but isn't valid; to set text, pass it as a JSON string: 'a=\"…\"'"
            )
        ) {
            try Assignment(argument: "a=" + value)
        }
    }

    @Test("Requires a name", arguments: ["", "a", "=", "=5"])
    func noName(text: String) {
        #expect(throws: ValueError(message: "must be NAME=VALUE")) { try Assignment(argument: text) }
    }
}
