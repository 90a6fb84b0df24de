import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

@testable import OAuth2

/// Token requests to a server whose token endpoint takes JSON objects.
@Suite("JSON token requests", .limitedConcurrency)
struct JSONTokenRequestTests {
    private static let subject = #"S3cret-subject "with" \ and / and ü"#

    private func client(
        _ step: MockTransport.Step,
        _ authentication: any ClientAuthentication = .none(clientID: "job", sendsClientID: false)
    ) -> (client: OAuth2Client, transport: MockTransport) {
        let fixture = EndpointFixture(step, clientAuthentication: authentication) {
            $0.requiresJSONTokenRequests = true
        }
        return (fixture.oauth, fixture.transport)
    }

    private func exchange(audiences: [String] = [], scope: String? = nil) -> TokenExchangeGrant {
        TokenExchangeGrant(
            subject: StaticTokenSource(AccessToken(value: Secret(Self.subject), requested: .now)),
            subjectTokenType: .jwt,
            identifier: "job",
            audiences: audiences,
            scope: scope,
            additionalParameters: ["identity_provider_id": "idp_1", "service_account_id": "sa_2"]
        )
    }

    private static var issued: MockTransport.Step {
        .json(#"{"access_token":"t","token_type":"Bearer","issued_token_type":"urn:x","expires_in":60}"#)
    }

    @Test("Sends an exchange as a JSON object without a client_id", .shows("O43"))
    func body() async throws {
        let (client, transport) = client(Self.issued)
        _ = try await client.tokens(for: exchange())
        let request = try #require(transport.requests.first)
        #expect(request.method == .post)
        #expect(request.headers["Content-Type"] == "application/json")
        #expect(request.headers["Accept"] == "application/json")
        #expect(request.headers["Authorization"] == nil)
        #expect(
            String(decoding: request.body, as: UTF8.self) == """
                {"grant_type":"urn:ietf:params:oauth:grant-type:token-exchange",\
                "identity_provider_id":"idp_1","service_account_id":"sa_2",\
                "subject_token":"S3cret-subject \\"with\\" \\\\ and / and ü",\
                "subject_token_type":"urn:ietf:params:oauth:token-type:jwt"}
                """
        )
    }

    @Test("A parameter with several values is an array, and the client's credential is a member")
    func repeatedParameters() async throws {
        let (client, transport) = client(Self.issued, .clientSecretPost(clientID: "job", secret: Secret("p")))
        _ = try await client.tokens(for: exchange(audiences: ["a", "b", "c"], scope: "read"))
        let body = try #require(transport.requests.first.map { String(decoding: $0.body, as: UTF8.self) })
        #expect(body.hasPrefix(#"{"audience":["a","b","c"],"client_id":"job","client_secret":"p","grant_type":"#))
        #expect(body.contains(#","scope":"read","service_account_id":"sa_2","#))
    }

    @Test("A refresh is a JSON object too; a revocation stays a form")
    func otherRequests() async throws {
        let (client, transport) = client(Self.issued)
        _ = try await client.tokens(refreshing: Secret("r"))
        let (revoking, revocation) = self.client(.status(200))
        try await revoking.revoke(Secret("r"))
        let bodies = [transport, revocation].map { String(decoding: $0.requests[0].body, as: UTF8.self) }
        #expect(bodies == [#"{"grant_type":"refresh_token","refresh_token":"r"}"#, "token=r"])
        #expect(revocation.requests[0].headers["Content-Type"] == "application/x-www-form-urlencoded")
    }

    @Test("Errors and descriptions contain no secret of the object, even if the server repeats it", .shows("O43"))
    func secrecy() async throws {
        let echo = #"{"error":"invalid_grant","error_description":"S3cret-subject \"with\" \\ and \/ and \u00fc"}"#
        let (client, _) = client(.json(echo, status: 400))
        let error = try #require(await #expect(throws: OAuth2Error.self) { try await client.tokens(for: exchange()) })
        #expect(error.code == .requestRejected)
        for text in EndpointFixture.texts(of: error) { #expect(!text.contains("S3cret")) }
        var server = EndpointFixture.server
        server.requiresJSONTokenRequests = true
        let request = TokenRequest(server: server, form: [("subject_token", Self.subject)])
        var dumped = ""
        dump(request, to: &dumped)
        for text in ["\(request)", dumped] { #expect(!text.contains("S3cret")) }
    }

    @Test("Logs hide what they hide of a form")
    func logs() throws {
        let form = [("grant_type", "authorization_code"), ("code", "S3cret"), ("client_id", "job")]
        var server = EndpointFixture.server
        for isJSON in [false, true] {
            server.requiresJSONTokenRequests = isJSON
            let request = try TokenRequest(server: server, form: form).urlRequest
            let type = request.value(forHTTPHeaderField: "Content-Type")
            let body = try #require(request.httpBody)
            let shown = try #require(Redaction.standard.redacted(body, contentType: type))
            #expect(!shown.contains("S3cret") && shown.contains("job") && shown.contains("code"), "\(shown)")
        }
        let other = Redaction.standard.redacted(Data(#"{"code":"E17"}"#.utf8), contentType: "application/json")
        #expect(other == #"{"code":"E17"}"#)
    }
}
