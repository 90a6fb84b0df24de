import Testing
import TokenGeneration

@testable import jwt

@Suite("Paths of claims and numbers of decoys")
struct ClaimPathArgumentTests {
    @Test(
        "Reads a path, and writes it the same way",
        arguments: [
            ("name", ClaimPath(["name"]), "name"), ("address.locality", ["address", "locality"], "address.locality"),
            ("a[0]", ["a", 0], "a[0]"), ("a[*][12].b", ["a", .everyElement, 12, "b"], "a[*][12].b"),
            ("é 😀-x", ["é 😀-x"], "é 😀-x"), (#"["name"]"#, ["name"], "name"),
            (#"["a.b",0,null,"c"]"#, ["a.b", 0, .everyElement, "c"], #"["a.b",0,null,"c"]"#),
            (#"[ "a[" ]"#, ["a["], #"["a["]"#), (#"["a",""]"#, ["a", ""], #"["a",""]"#),
            (#"["a\u0301.b"]"#, ["a\u{301}.b"], "[\"a\u{301}.b\"]"), ("a.\u{301}", ["a", "\u{301}"], "a.\u{301}"),
        ] as [(String, ClaimPath, String)]
    )
    func paths(text: String, path: ClaimPath, written: String) throws {
        #expect(try ClaimPathArgument(argument: text).path == path)
        #expect(ClaimPathArgument.text(of: path) == written)
        #expect(try ClaimPathArgument(argument: written).path == path)
    }

    @Test(
        "Rejects text that isn't a path",
        arguments: [
            "", ".", "a.", ".a", "a..b", "a[", "a[]", "a[-1]", "a[1", "a[x]", "a[0]b", "a]", "a[1234567890]", "[0]",
            "[]",
            "[null]", #"["a",-1]"#, #"["a",1.5]"#, #"["a",true]"#, #"["a"],"b":[1"#, #"["a"]x"#, "[name]",
        ]
    )
    func malformed(text: String) {
        #expect(throws: ValueError.self) { try ClaimPathArgument(argument: text) }
    }

    @Test(
        "Reads numbers of decoys",
        arguments: [("0", 0...0), ("7", 7...7), ("2-5", 2...5), ("3-3", 3...3), ("0-100", 0...100)]
    )
    func decoys(text: String, range: ClosedRange<Int>) throws {
        #expect(try DecoyCount(argument: text).range == range)
    }

    @Test(
        "Rejects other numbers of decoys",
        arguments: ["", "-", "-1", "1-", "5-2", "101", "0-101", "+1", "1-2-3", "x", "٣"]
    )
    func otherDecoys(text: String) {
        #expect(throws: ValueError.self) { try DecoyCount(argument: text) }
    }
}
