import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("JSON parser", .computing)
struct JSONParserTests {
    @Test(
        "Parses valid objects and writes them canonically",
        .shows("2.23", "RFC 8259"),
        arguments: [
            ("{}", "{}"), (" \t\r\n{ } \n", "{}"), (#"{"a":1}"#, #"{"a":1}"#),
            (#"{"b":2,"a":1}"#, #"{"a":1,"b":2}"#), (#"{"a":[ ]}"#, #"{"a":[]}"#),
            (#"{"a":[1,[2,{"c":null}],true , false]}"#, #"{"a":[1,[2,{"c":null}],true,false]}"#),
            (#"{"a":-0.5e+10,"b":1E400,"c":0,"d":-0}"#, #"{"a":-0.5e+10,"b":1E400,"c":0,"d":-0}"#),
            (#"{"":""}"#, #"{"":""}"#), (#"{"u":"http:\/\/x/\u002f"}"#, #"{"u":"http://x//"}"#),
            (#"{"e":"\"\\\b\f\n\r\t"}"#, #"{"e":"\"\\\b\f\n\r\t"}"#),
            (#"{"c":"\u0000\u001f\u007f"}"#, "{\"c\":\"\\u0000\\u001f\u{7F}\"}"),
            (#"{"s":"\uD83D\uDE00\u00e9\u20AC"}"#, #"{"s":"😀é€"}"#), (#"{"é":"日本"}"#, #"{"é":"日本"}"#),
            (#"{"\u0061":1,"A":2}"#, #"{"A":2,"a":1}"#), (#"{"n":"\uFFFE\uFEFF"}"#, "{\"n\":\"\u{FFFE}\u{FEFF}\"}"),
        ]
    )
    func valid(text: String, written: String) throws {
        #expect(try JSONObject(parsing: text).serialized() == written)
        #expect(try JSONObject(parsing: Data(text.utf8)).serialized() == written)
        #expect(try JSONObject(parsing: written) == JSONObject(parsing: text))
    }

    @Test(
        "Rejects malformed text",
        .shows("RFC 8259"),
        arguments: [
            "", " ", "null", "[]", "1", "\"a\"", "true", "{", "}", "{]", "{}}", "{} x", "{}{}", "{},", "{\"a\"}",
            "{\"a\":}", "{\"a\":1,}", "{,}", "{\"a\" 1}", "{a:1}", "{'a':1}", "{1:1}", "{\"a\":1 \"b\":2}",
            "{\"a\":[1,]}", "{\"a\":[,1]}", "{\"a\":[1 2]}", "{\"a\":[1}", "{\"a\":[}", "{\"a\":[", "{\"a\":nul}",
            "{\"a\":True}", "{\"a\":nullx}", "{\"a\":undefined}", "{\"a\":NaN}", "{\"a\":Infinity}",
            "{\"a\":-Infinity}", "{\"a\":+1}", "{\"a\":01}", "{\"a\":-01}", "{\"a\":-}", "{\"a\":.5}", "{\"a\":1.}",
            "{\"a\":1.e5}", "{\"a\":1e}", "{\"a\":1e+}", "{\"a\":0x10}", "{\"a\":1_000}", "{\"a\":1-}", "{\"a\":--1}",
            "{\"a\":1.2.3}", "{\"a\":\u{FF11}}", "{\"a\":\"}", "{\"a\":\"\\\"}", "{\"a\":\"\\x\"}", "{\"a\":\"\\u12\"}",
            "{\"a\":\"\\u12G4\"}", "{\"a\":\"\\u+123\"}", "{\"a\":\"\\", "{\"a\":\"\\u", "{\"a\":\"\\uD83D",
            "{\"a\":\"\\'\"}", "{\"a\":\"\n\"}", "{\"a\":\"\t\"}", "{\"a\":\"\u{0}\"}", "{\u{0}}", "\u{FEFF}{}",
            "{\u{A0}}", "{\u{2028}}", "{}\u{0}", "/* */{}", "{} // x", "{\"a\":1;}", "{\"\\u00\":1}", "{\"a\\\":1}",
            "{\u{B}}", "{\u{C}}",
        ]
    )
    func malformed(text: String) {
        #expect(code { try JSONObject(parsing: text) } == .malformedJSON)
    }

    @Test(
        "Rejects an unpaired surrogate",
        .shows("D8"),
        arguments: [
            #"\uD800"#, #"\uDC00"#, #"\uDBFFx"#, #"\uD83D\n"#, #"\uD83D\u0041"#, #"\uD83D\uD83D"#, #"\uDE00\uD83D"#,
            #"\uD83D\u"#, #"\udfff"#,
        ]
    )
    func loneSurrogates(escape: String) {
        #expect(code { try JSONObject(parsing: #"{"a":"\#(escape)"}"#) } == .malformedJSON)
        #expect(code { try JSONObject(parsing: #"{"\#(escape)":1}"#) } == .malformedJSON)
    }

    @Test(
        "Rejects malformed UTF-8 in names, in strings and between them",
        .shows("D8", "RFC 8725bis §3.7"),
        arguments: [
            [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xE0, 0x80, 0x80], [0xE2, 0x82], [0xED, 0xA0, 0x80],
            [0xED, 0xBF, 0xBF], [0xF0, 0x80, 0x80, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80],
            [0xFE], [0xFF], [0xC3, 0x28], [0xEF, 0xBB],
        ] as [[UInt8]]
    )
    func malformedUTF8(bytes: [UInt8]) {
        for (before, after) in [
            ("{\"a\":\"", "\"}"), ("{\"", "\":1}"), ("{\"a\\n\":\"\\n", "\"}"), ("{", "}"), ("{}", ""),
        ] {
            let data = Data(Array(before.utf8) + bytes + Array(after.utf8))
            #expect(code { try JSONObject(parsing: data) } == .malformedJSON, "\(before)")
        }
    }

    @Test(
        "Rejects other encodings and byte order marks",
        arguments: [String.Encoding.utf16, .utf16LittleEndian, .utf32]
    )
    func otherEncodings(encoding: String.Encoding) throws {
        let data = try #require("{\"a\":1}".data(using: encoding))
        #expect(code { try JSONObject(parsing: data) } == .malformedJSON)
        #expect(code { try JSONObject(parsing: Data([0xEF, 0xBB, 0xBF]) + Data("{}".utf8)) } == .malformedJSON)
    }

    @Test(
        "Rejects a duplicate member at any depth and with any escapes",
        .shows("D2", "RFC 7519 §4"),
        arguments: [
            #"{"a":1,"a":1}"#, #"{"a":1,"b":2,"a":3}"#, #"{"a":1,"\u0061":2}"#, #"{"x":{"a":1,"a":2}}"#,
            #"{"x":[{"a":1,"a":2}]}"#, #"{"":1,"":2}"#,
        ]
    )
    func duplicates(text: String) throws {
        let refusal = try #require(error { try JSONObject(parsing: text) })
        #expect(refusal.code == .malformedJSON)
        #expect(refusal.message.contains("duplicate"))
    }

    @Test("Finds a duplicate member among many", .shows("D2"))
    func duplicateAmongMany() throws {
        var members = (0..<200).map { "\"m\($0)\":\($0)" }
        #expect(try JSONObject(parsing: "{\(members.joined(separator: ","))}").count == 200)
        for original in [0, 15, 16, 17, 199] {
            members.append("\"m\(original)\":0")
            #expect(code { try JSONObject(parsing: "{\(members.joined(separator: ","))}") } == .malformedJSON)
            members.removeLast()
        }
        #expect(try JSONObject(parsing: #"{"a":1,"A":2}"#).count == 2)
    }

    @Test("The limits on depth, members and size are exact", .shows("D4"))
    func limits() throws {
        func nested(_ levels: Int) -> String {
            "{\"a\":" + String(repeating: "[", count: levels - 1) + String(repeating: "]", count: levels - 1) + "}"
        }
        #expect(try JSONObject(parsing: nested(64)).count == 1)
        #expect(code { try JSONObject(parsing: nested(65)) } == .tooLarge)
        #expect(code { try JSONObject(parsing: String(repeating: "{\"a\":", count: 200_000)) } == .tooLarge)
        #expect(code { try JSONObject(parsing: "{\"a\":" + String(repeating: "[", count: 900_000)) } == .tooLarge)

        func wide(_ count: Int) -> String { "{" + (0..<count).map { "\"\($0)\":0" }.joined(separator: ",") + "}" }
        #expect(try JSONObject(parsing: wide(1_000)).count == 1_000)
        #expect(code { try JSONObject(parsing: wide(1_001)) } == .tooLarge)

        func long(_ size: Int) -> String { "{\"a\":\"" + String(repeating: "x", count: size - 8) + "\"}" }
        #expect(try JSONObject(parsing: long(JSONObject.maximumSize)).count == 1)
        #expect(code { try JSONObject(parsing: long(JSONObject.maximumSize + 1)) } == .tooLarge)
    }

    @Test(
        "The message has the position",
        arguments: [
            (#"{"aud":[1,]}"#, ["byte 10", "“aud”"]), (#"{"a":{"b":tru}}"#, ["byte 10", "“a.b”"]),
            (#"{"a":1} x"#, ["after the value", "byte 8"]),
            (#"{"iss":"a","iss":"b"}"#, ["“iss”", "duplicate", "byte 11"]), ("[1]", ["an array"]),
        ]
    )
    func place(text: String, words: [String]) throws {
        let message = try #require(error { try JSONObject(parsing: text) }).message
        for word in words { #expect(message.contains(word), "\(message)") }
    }

    @Test("An untrusted name can't forge or flood a log line", .shows("D16", "Z9"))
    func shownNames() throws {
        let name = "x\\n\\u001b[31m" + String(repeating: "y", count: 5_000)
        let message = try #require(error { try JSONObject(parsing: "{\"\(name)\":1,\"\(name)\":2}") }).message
        #expect(!message.contains("\n") && !message.contains("\u{1B}") && message.utf8.count < 150)
    }
}
