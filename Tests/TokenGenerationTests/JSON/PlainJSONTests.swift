import Foundation
import Testing

@testable import TokenGeneration

@Suite("Plain JSON")
struct PlainJSONTests {
    private static let claims =
        #"{"iss":"https://id.example","sub":"user-1","aud":["a","b"],"iat":-1795322700,"exp":0,"ok":true,"no":null,"f":false}"#

    @Test(
        "what most claims are is known",
        arguments: [
            claims, "{}", " { } ", #"{"a":1}"#, "\t{ \"a\" : [ ] ,\r\n\"b\":[1 ,-0,\"\"]\n}\n", #"{"":"","a":"~ "}"#,
            #"{"name that is longer than a word":1,"name that is longer than a wore":2}"#,
        ]
    )
    func known(text: String) throws {
        #expect(PlainJSON.isObject(Array(text.utf8)))
        #expect(throws: Never.self) { try JSONObject(parsing: text) }
    }

    @Test(
        "the rest is left to the parser, good or bad",
        arguments: [
            "", " ", "[]", "1", "{", "{}}", "{}x", #"{"a":1,}"#, #"{"a":1 "b":2}"#, #"{"a"1}"#, #"{a:1}"#, #"{"a":}"#,
            #"{"a":1,"a":2}"#, #"{"":1,"":2}"#, #"{"a":"\n"}"#, #"{"\u0061":1,"a":2}"#, #"{"é":1}"#,
            "{\"a\":\"\u{7}\"}",
            #"{"a":{}}"#, #"{"a":[[]]}"#, #"{"a":[1,]}"#, #"{"a":[,1]}"#, #"{"a":01}"#, #"{"a":-}"#, #"{"a":-01}"#,
            #"{"a":1.0}"#, #"{"a":1e3}"#, #"{"a":1E3}"#, #"{"a":+1}"#, #"{"a":tru}"#, #"{"a":trueish}"#, #"{"a":nul"#,
            #"{"a":"#, #"{"a":"x"#, #"{"a"#, "{\"a\":\"\u{0}\"}", "{\"12345678\":1,\"12345678\":2}",
        ]
    )
    func unknown(text: String) {
        #expect(!PlainJSON.isObject(Array(text.utf8)))
    }

    @Test("more members than it compares are left to the parser")
    func members() {
        let text = { (count: Int) in "{" + (0..<count).map { "\"\($0)\":\($0)" }.joined(separator: ",") + "}" }
        #expect(PlainJSON.isObject(Array(text(16).utf8)))
        #expect(!PlainJSON.isObject(Array(text(17).utf8)))
    }

    @Test("whatever it knows, the parser accepts: each byte of a claims set replaced by each, left out and doubled")
    func damaged() {
        let good = Array(Self.claims.utf8)
        var known = 0
        for index in good.indices {
            var texts: [[UInt8]] = (UInt8.min...UInt8.max).map { byte in
                var text = good
                text[index] = byte
                return text
            }
            texts += [Array(good[..<index]) + good[(index + 1)...], Array(good[...index]) + good[index...]]
            for text in texts where PlainJSON.isObject(text) {
                known += 1
                let object = try? JSONObject(parsing: Data(text))
                #expect(object != nil, "\(String(decoding: text, as: UTF8.self))")
            }
        }
        #expect(known > good.count)
    }
}
