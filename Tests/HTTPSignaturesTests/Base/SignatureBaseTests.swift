import Foundation
import Networking
import TestVectors
import Testing

@testable import HTTPSignatures

@Suite(.serialized)
struct SignatureBaseTests {
    struct ComponentVector: Decodable, Sendable, CustomTestStringConvertible {
        let id: String
        let message: MessageVector
        let lines: [String]
        let types: [String: String]?

        enum CodingKeys: String, CodingKey {
            case id, message, lines
            case types = "field_types"
        }

        var testDescription: String { id }

        private struct File: Decodable { let cases: [ComponentVector] }

        static let all = (try? Vector.decode("rfc9421-components", as: File.self))?.cases ?? []
    }

    @Test("the files have all published cases")
    func counts() {
        #expect(ComponentVector.all.count == 21)
        #expect(SignatureVector.all.count == 20)
    }

    @Test("derives the values of RFC 9421 §2", arguments: ComponentVector.all)
    func components(_ vector: ComponentVector) throws {
        let message = try vector.message.message()
        var components: [ComponentIdentifier] = []
        for line in vector.lines {
            let end = try #require(line.firstRange(of: ": ")).lowerBound
            let list = try StructuredField.InnerList(parsing: ["(\(line[..<end]))"])
            components += try list.items.map(ComponentIdentifier.init)
        }
        let base = try SignatureBase(
            of: message,
            parameters: SignatureParameters(components: components),
            fieldTypes: vector.types == nil ? [:] : ["example-dict": .dictionary]
        )
        #expect(base.lines.map { "\($0.component): \($0.value)" } == vector.lines)
        let last = "\"@signature-params\": (\(components.map(\.description).joined(separator: " ")))"
        #expect(base.text == (vector.lines + [last]).joined(separator: "\n"))
    }

    @Test("builds the published signature bases", arguments: SignatureVector.all)
    func bases(_ vector: SignatureVector) throws {
        let base = try SignatureBase(of: vector.httpMessage(), parameters: vector.signatureParameters())
        #expect(base.text == vector.base)
    }

    @Test("takes the parameters of the received field, in their order", arguments: SignatureVector.all)
    func parameters(_ vector: SignatureVector) throws {
        let received = try SignatureFields(vector.httpMessage().headers).signature(vector.label).parameters
        #expect(try received.serialized() == vector.parameters)
        #expect(received == (try vector.signatureParameters()))
    }

    @Test("keeps the order of parameters that a canonical order would change")
    func order() throws {
        let text = "(\"d\";tr;key=\"a\" \"@method\");zz;keyid=\"k\";created=1;unknown=?0;a=:AA==:"
        let parameters = try SignatureParameters(StructuredField.InnerList(parsing: ["  \(text)"]))
        #expect(try parameters.serialized() == text)
    }

    @Test("identifies a component regardless of the order of its parameters")
    func identity() {
        let field = ComponentIdentifier("d")
        #expect(field.member("a").ofRequest == field.ofRequest.member("a"))
        #expect(field.member("a").structured == field.member("a"))
        #expect(field.member("a") != field.member("b"))
        #expect(field.structured != field)
        #expect(Set([field.member("a").trailer, field.trailer.member("a")]).count == 1)
    }

    @Test("hides credentials in the description, but not in the text")
    func redaction() throws {
        let headers: HTTPHeaders = [
            "Authorization": "Bearer s3cret-token", "Cookie": "session=s3cret",
            "DPoP": "eyJ0eXAiOiJkcG9wK2p3dCJ9.e30.AA",
            "Date": "today",
        ]
        let message = HTTPMessage(
            method: .get,
            url: "https://api.example/a?access_token=s3cret&page=2",
            headers: headers
        )
        let parameters = SignatureParameters(components: [
            "authorization", "cookie", "dpop", ComponentIdentifier("authorization").binary, "date", .targetURI, .query,
            .queryParameter("access_token"), .queryParameter("page"),
        ])
        let base = try SignatureBase(of: message, parameters: parameters)
        let shown = base.description + String(reflecting: base) + base.lines.map { "\($0)" }.joined()
        #expect(base.text.contains("s3cret-token"))
        #expect(!shown.contains("s3cret"))
        #expect(!shown.contains("eyJ0"))
        #expect(!shown.contains(Data("Bearer s3cret-token".utf8).base64EncodedString()))
        #expect(base.description.contains("\"date\": today"))
        #expect(base.description.contains("page=2"))
        #expect(base.description.hasSuffix("\"@query-param\";name=\"page\")"))
    }
}
