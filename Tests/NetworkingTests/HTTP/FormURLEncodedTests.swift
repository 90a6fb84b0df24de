import Foundation
import Networking
import TestVectors
import Testing

@Suite("FormURLEncoded")
struct FormURLEncodedTests {
    @Test("Matches the example of RFC 6749 Appendix B")
    func appendixB() throws {
        let vector = try #require(try Vector.object("rfc6749-form-encoding")["appendix_b"] as? [String: Any])
        let (plain, encoded) = (vector["value_utf8"] as? String, vector["form_encoded"] as? String)
        #expect(try FormURLEncoded.encode(#require(plain)) == encoded)
        #expect(try FormURLEncoded.decodeComponent(#require(encoded)) == plain)
    }

    @Test("Decodes the parameters of RFC 6749 token requests")
    func tokenRequests() throws {
        let requests = try #require(try Vector.object("rfc6749-form-encoding")["token_requests"] as? [[String: Any]])
        #expect(!requests.isEmpty)
        for request in requests {
            let body = try #require(request["body"] as? String)
            let pairs = try #require(FormURLEncoded.decode(body))
            let parameters = Dictionary(pairs.map { ($0.name, $0.value) }) { $1 }
            #expect(parameters == request["params"] as? [String: String], "\(body)")
            #expect(FormURLEncoded.decode(FormURLEncoded.encode(pairs))?.map(\.value) == pairs.map(\.value))
        }
    }

    @Test("Keeps the order of pairs and escapes delimiters")
    func pairs() {
        let encoded = FormURLEncoded.encode([("b", "1&2=3"), ("a", "x+y/z ~é"), ("", "")])
        #expect(encoded == "b=1%262%3D3&a=x%2By%2Fz+%7E%C3%A9&=")
    }

    @Test("Rejects malformed escapes", arguments: ["%", "%2", "%zz", "a%2", "%ff", "%C3"])
    func malformed(_ text: String) {
        #expect(FormURLEncoded.decodeComponent(text) == nil)
        #expect(FormURLEncoded.decode("a=\(text)") == nil)
    }

    @Test("Decodes what it encodes for every character")
    func allOctets() throws {
        let text = String(String.UnicodeScalarView((0...0x2FF).compactMap(Unicode.Scalar.init)))
        #expect(FormURLEncoded.decodeComponent(FormURLEncoded.encode(text)) == text)
    }
}
