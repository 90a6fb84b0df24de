import Foundation
import FoundationNetworking
import Networking
import TestSupport
import TestVectors
import Testing

@testable import HTTPSignatures

/// The errors that stop a signature before any cryptography.
@Suite(.computing)
struct ComponentErrorTests {
    /// The error of each identifier in the vectors, by its ID.
    private static let published: [String: (String, HTTPSignatureError.Code)] = [
        "bs-and-sf": ("\"example-dict\";sf;bs", .invalidComponent),
        "bs-and-key": ("\"example-dict\";key=\"a\";bs", .invalidComponent),
        "sf-unknown-type": ("\"x-unknown\";sf", .invalidComponent),
        "key-absent": ("\"example-dict\";key=\"zz\"", .missingComponent),
        "field-absent": ("\"x-absent\"", .missingComponent),
        "duplicate-identifier": ("\"date\" \"date\"", .invalidComponent),
        "upper-case-name": ("\"Date\"", .invalidComponent),
        "signature-params-covered": ("\"@signature-params\"", .invalidComponent),
        "query-param-repeated": ("\"@query-param\";name=\"a\"", .invalidComponent),
        "query-param-absent": ("\"@query-param\";name=\"zz\"", .missingComponent),
        "status-in-request": ("\"@status\"", .invalidComponent),
        "method-in-response": ("\"@method\"", .invalidComponent),
        "req-in-request": ("\"@method\";req", .invalidComponent),
        "unknown-derived": ("\"@nonsense\"", .invalidComponent),
        "unknown-parameter": ("\"date\";zzz", .invalidComponent),
        "newline-in-value": ("\"x-line\"", .malformedComponent),
        "non-ascii-value": ("\"x-unicode\"", .malformedComponent),
    ]

    private static let headers: HTTPHeaders = [
        "Date": "today", "Example-Dict": "a=1", "X-Unknown": "1", "X-Line": "a\r\n\"@method\": PUT",
        "X-Unicode": "grün", "X-Bad-Dict": "a=", "Priority": "u=", "X-Item": "1",
    ]

    private static let request = HTTPMessage(
        method: .get,
        url: "https://api.example/x?a=1&b=%FF&a=2",
        headers: headers
    )

    private static func base(
        _ components: String,
        of message: HTTPMessage = request
    ) throws -> SignatureBase {
        let list = try StructuredField.InnerList(parsing: ["(\(components))"])
        return try SignatureBase(
            of: message,
            parameters: try SignatureParameters(list),
            fieldTypes: ["example-dict": .dictionary, "x-bad-dict": .dictionary]
        )
    }

    private static func code(of components: String, in message: HTTPMessage = request) -> HTTPSignatureError.Code? {
        do {
            _ = try base(components, of: message)
            return nil
        } catch {
            return (error as? HTTPSignatureError)?.code
        }
    }

    @Test("rejects each published identifier with its code", .shows("RFC 9421 §2"))
    func publishedErrors() throws {
        let file = try Vector.object("rfc9421-components")
        let cases = try #require(file["errors"] as? [[String: String]])
        #expect(cases.count == 17)
        for entry in cases {
            let id = try #require(entry["id"])
            let (components, expected) = try #require(Self.published[id], "\(id)")
            let message =
                id == "method-in-response"
                ? HTTPMessage(status: 200, headers: Self.headers, request: Self.request) : Self.request
            #expect(Self.code(of: components, in: message) == expected, "\(id)")
        }
    }

    @Test(
        "rejects malformed identifiers",
        .shows("RFC 9421 §2"),
        arguments: [
            "\"\"", "\"@\"", "\"a b\"", "\"date\";sf=?0", "\"date\";sf=1", "\"example-dict\";key", "\"date\";req",
            "\"date\";bs=\"x\"", "\"@method\";sf", "\"@method\";bs", "\"@path\";tr", "\"@path\";key=\"a\"",
            "\"@query-param\"", "\"@query-param\";name=x", "\"date\";name=\"x\"", "\"@query-param\";name=\"b\"",
            "\"x-unknown\";key=\"a\"", "\"priority\";sf;key=\"u\" \"priority\";key=\"u\"",
            "\"date\";bs;tr \"date\";tr;bs", "\"content-length\" \"@signature-params\"", "\"@Method\"",
        ]
    )
    func malformed(_ components: String) {
        #expect(Self.code(of: components) == .invalidComponent)
    }

    @Test(
        "rejects values that aren't of the field's type",
        arguments: ["\"x-bad-dict\";key=\"a\"", "\"priority\";sf", "\"x-bad-dict\";sf"]
    )
    func types(_ components: String) {
        #expect(Self.code(of: components) == .malformedComponent)
    }

    @Test("a component that isn't a string makes the field malformed", arguments: ["date", "1", ":AA==:", "?1"])
    func otherTypes(_ item: String) {
        #expect(Self.code(of: item) == .malformedSignature)
    }

    @Test("needs the request for components of it", .shows("RFC 9421 §2.4"))
    func unknownRequest() {
        let response = HTTPMessage(status: 200, headers: [:], request: nil)
        #expect(Self.code(of: "\"@method\";req", in: response) == .missingComponent)
        let known = HTTPMessage(status: 200, headers: [:], request: Self.request)
        #expect(Self.code(of: "\"@method\";req", in: known) == nil)
        #expect(Self.code(of: "\"@status\";req", in: known) == .invalidComponent)
        #expect(
            Self.code(of: "\"@status\"", in: HTTPMessage(status: 20, headers: [:], request: nil)) == .malformedComponent
        )
    }

    @Test(
        "refuses every control character except a tab",
        .shows("M11"),
        arguments: Array(0..<0x20).filter { $0 != 0x09 } + [0x7F]
    )
    func controlCharacters(_ scalar: Int) throws {
        let value = "a\(try #require(Unicode.Scalar(scalar)))b"
        let message = HTTPMessage(method: .get, url: "https://a.example/", headers: ["X": value])
        #expect(Self.code(of: "\"x\"", in: message) == .malformedComponent)
        #expect(Self.code(of: "\"x\";bs", in: message) == .malformedComponent)
    }

    @Test(
        "unfolds a line only where HTTP/1.1 allows it",
        .shows("M11", "RFC 9421 §2.1"),
        arguments: [
            ("a\r\n b", "a b"), ("a \t\r\n\t  b", "a b"), (" a\r\n  ", "a"), ("a\r\n \r\n b", "a b"),
            ("a\r\nb", nil), ("a\n b", nil), ("a\r b", nil), ("a\r\n", nil), ("\r\n a", "a"),
        ] as [(String, String?)]
    )
    func folding(_ value: String, _ expected: String?) throws {
        let message = HTTPMessage(method: .get, url: "https://a.example/", headers: ["X": value])
        guard let expected else {
            #expect(Self.code(of: "\"x\"", in: message) == .malformedComponent)
            return
        }
        let base = try Self.base("\"x\" \"x\";bs", of: message)
        #expect(base.lines[0].value == expected)
        #expect(base.lines[1].value == ":\(Data(expected.utf8).base64EncodedString()):")
    }

    @Test("covers lines that aren't ASCII, and lines apart, as byte sequences", .shows("RFC 9421 §2.1"))
    func byteSequences() throws {
        var headers: HTTPHeaders = ["Set-Cookie": "a=1, b"]
        headers.append(name: "set-cookie", value: "grün")
        let message = HTTPMessage(status: 200, headers: headers, request: nil)
        let base = try Self.base("\"set-cookie\";bs", of: message)
        #expect(base.lines[0].value == ":YT0xLCBi:, :Z3LDvG4=:")
        var request = URLRequest(url: try #require(URL(string: "https://a.example/")))
        request.setValue("1, 2", forHTTPHeaderField: "X")
        let combined = try #require(HTTPMessage(request))
        #expect(Self.code(of: "\"x\";bs", in: combined) == .invalidComponent)
        #expect(Self.code(of: "\"x\"", in: combined) == nil)
    }

    @Test("header and trailer fields of the same name are different components", .shows("RFC 9421 §2.1"))
    func trailers() throws {
        let message = HTTPMessage(status: 200, headers: ["X": "head"], trailers: ["X": "tail"], request: nil)
        let base = try Self.base("\"x\" \"x\";tr", of: message)
        #expect(base.lines.map(\.value) == ["head", "tail"])
        let without = HTTPMessage(status: 200, headers: ["X": "head"], request: nil)
        #expect(Self.code(of: "\"x\";tr", in: without) == .missingComponent)
    }

    @Test("a field whose name begins with @ never stands for a derived component", .shows("M11"))
    func derivedNames() throws {
        let message = HTTPMessage(method: .get, url: "https://a.example/", headers: ["@method": "PUT"])
        #expect(try Self.base("\"@method\"", of: message).lines[0].value == "GET")
    }

    @Test("parses a field or a query once for all of its parts", .shows("M13"))
    func manyParts() throws {
        let names = (0..<1_000).map { "k\($0)" }
        let value = String(repeating: "v", count: 900)
        let message = HTTPMessage(
            method: .get,
            url: "https://api.example/?" + names.map { "\($0)=\(value)" }.joined(separator: "&"),
            headers: ["Example-Dict": names.map { "\($0)=\"\(value)\"" }.joined(separator: ", ")]
        )
        let members = names.prefix(64).map { "\"example-dict\";key=\"\($0)\"" }
        #expect(try Self.base(members.joined(separator: " "), of: message).lines.map(\.value).last == "\"\(value)\"")
        let parameters = names.prefix(64).map { "\"@query-param\";name=\"\($0)\"" }
        #expect(try Self.base(parameters.joined(separator: " "), of: message).lines.map(\.value).last == value)
    }

    @Test("tells apart the dictionaries of a message, its trailers and its request")
    func dictionaries() throws {
        let request = HTTPMessage(
            method: .get,
            url: "https://api.example/?a=1",
            headers: ["Example-Dict": "a=1"],
            trailers: ["Example-Dict": "a=2"]
        )
        let response = HTTPMessage(
            status: 200,
            headers: ["Example-Dict": "a=3"],
            trailers: ["Example-Dict": "a=4"],
            request: request
        )
        let components = ["req", "tr;req", "", "tr"].map { "\"example-dict\";key=\"a\"\($0.isEmpty ? "" : ";\($0)")" }
        let base = try Self.base(components.joined(separator: " ") + " \"@query-param\";req;name=\"a\"", of: response)
        #expect(base.lines.map(\.value) == ["1", "2", "3", "4", "1"])
    }

    @Test("limits the components and the size of the base", .shows("M13", "RFC 9421 §2.5"))
    func limits() throws {
        let names = (0...SignatureLimits.components).map { "x\($0)" }
        let many = names.map { "\"\($0)\"" }.joined(separator: " ")
        #expect(Self.code(of: many) == .tooLarge)
        #expect(throws: HTTPSignatureError(.tooLarge, "")) {
            _ = try SignatureBase(
                of: Self.request,
                parameters: SignatureParameters(components: names.map { ComponentIdentifier($0) })
            )
        }
        let large = String(repeating: "a", count: 1 << 20)
        let message = HTTPMessage(method: .get, url: "https://a.example/", headers: ["X": large])
        #expect(Self.code(of: "\"x\"", in: message) == .tooLarge)
        let small = HTTPMessage(method: .get, url: "https://a.example/", headers: ["X": String(large.dropLast(1000))])
        #expect(Self.code(of: "\"x\"", in: small) == nil)
    }
}
