import Foundation
import Networking
import OAuth2
import TestVectors
import Testing

@Suite("client_secret_basic")
struct ClientSecretBasicTests {
    @Test("Creates the header fields in RFC 6749 §2.3.1 and §4.1.3", arguments: ["basic_auth", "basic_auth_2"])
    func rfc6749(example: String) throws {
        let vector = try #require(Vector.object("rfc6749-form-encoding")[example] as? [String: String])
        let header = try header(id: try #require(vector["client_id"]), secret: try #require(vector["client_secret"]))
        #expect(header == vector["header"])
    }

    @Test("Form-encodes the identifier and the secret before joining them")
    func formEncoding() throws {
        let expected =
            "Basic MVBwRyUyRlErMTp6JTJGdFo5VndGWnFBcG1JUSUyQlpIMUk1cExrJTJGdUI0dWQlM0FYMiUyRjhiTCUyQndmRlR0MXJGdyUzRA=="
        #expect(try header(id: "1PpG/Q 1", secret: "z/tZ9VwFZqApmIQ+ZH1I5pLk/uB4ud:X2/8bL+wfFTt1rFw=") == expected)
    }

    @Test("Encodes every byte of RFC 6749 Appendix B")
    func appendixB() throws {
        let vector = try #require(Vector.object("rfc6749-form-encoding")["appendix_b"] as? [String: Any])
        let value = try #require(vector["value_utf8"] as? String)
        let encoded = try #require(vector["form_encoded"] as? String)
        let pair = Data("\(encoded):\(encoded)".utf8).base64EncodedString()
        #expect(try header(id: value, secret: value) == "Basic \(pair)")
    }

    @Test("Doesn't change the request's form")
    func form() throws {
        var request = TokenRequest(server: OAuth2Fixture.server, form: [("grant_type", "client_credentials")])
        try ClientSecretBasic.clientSecretBasic(clientID: "a", secret: Secret("b")).authenticate(&request, at: Date())
        #expect(request.form.map(\.name) == ["grant_type"])
        #expect(request.headers.map(\.name) == ["Authorization"])
    }

    @Test("Sends raw values to servers that don't decode them, but no identifier with a colon")
    func raw() throws {
        var request = TokenRequest(server: OAuth2Fixture.server, form: [])
        let raw = ClientSecretBasic.clientSecretBasic(clientID: "a b", secret: Secret("c:d+/é"), encoding: .raw)
        try raw.authenticate(&request, at: Date())
        #expect(request.headers["Authorization"] == "Basic \(Data("a b:c:d+/é".utf8).base64EncodedString())")
        let colon = ClientSecretBasic.clientSecretBasic(clientID: "a:b", secret: Secret("c"), encoding: .raw)
        #expect(throws: OAuth2Error(.assertionFailed, "")) { try colon.authenticate(&request, at: Date()) }
    }

    private func header(id: String, secret: String) throws -> String? {
        var request = TokenRequest(server: OAuth2Fixture.server, form: [])
        try ClientSecretBasic.clientSecretBasic(clientID: id, secret: Secret(secret)).authenticate(&request, at: Date())
        return request.headers["Authorization"]
    }
}
