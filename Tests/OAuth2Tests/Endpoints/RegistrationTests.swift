import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("Client registration", .limitedConcurrency)
struct RegistrationTests {
    private static let secret = "S3cret-of-a-registration"
    private static let answer = """
        {"client_id":"c1","client_secret":"\(secret)","client_secret_expires_at":1700000000,
         "client_id_issued_at":1600000000,"registration_access_token":"\(secret)-t",
         "registration_client_uri":"https://id.example/register/c1","client_name":"Reports","grant_types":["client_credentials"]}
        """

    @Test("Registers a client and reads the complete response", .shows("O11", "RFC 7591, RFC 7592"))
    func register() async throws {
        let fixture = EndpointFixture(.json(Self.answer, status: 201))
        let key = try SigningKey.generate(.es256).verificationKey
        var metadata = ClientMetadata(["client_name": "Reports"])
        metadata.redirectURIs = ["https://api.example/callback"]
        metadata.grantTypes = ["client_credentials"]
        metadata.members["response_types"] = ["code"]
        metadata.tokenEndpointAuthenticationMethod = "private_key_jwt"
        metadata.scope = ["read", "write"]
        metadata.keys = [key]
        let client = try await fixture.registrar().register(metadata, initialAccessToken: Secret("initial"))
        let request = try #require(fixture.transport.requests.first)
        #expect(request.method == .post && request.url.path == "/register")
        #expect(request.headers["Authorization"] == "Bearer initial")
        #expect(request.headers["Content-Type"] == "application/json")
        let sent = try JSONObject(parsing: request.body)
        #expect((sent["scope"], sent["redirect_uris"]) == ("read write", ["https://api.example/callback"]))
        #expect(sent["token_endpoint_auth_method"] == "private_key_jwt")
        let jwk = sent["jwks"]?.object?["keys"]?.array?.first?.object
        #expect(jwk?["kid"]?.string == key.thumbprint && jwk?["d"] == nil && jwk?["x"] != nil)

        #expect(client.clientID == "c1")
        #expect(client.clientSecret == Secret(Self.secret))
        #expect(client.clientSecretExpiry == Date(timeIntervalSince1970: 1_700_000_000))
        #expect(client.registrationAccessToken == Secret(Self.secret + "-t"))
        #expect(client.registrationURL?.absoluteString == "https://id.example/register/c1")
        #expect(client.metadata.members == ["client_name": "Reports", "grant_types": ["client_credentials"]])
        var dumped = "\(client)"
        dump(client, to: &dumped)
        #expect(!dumped.contains(Self.secret))
    }

    @Test("Omits empty metadata, and reads members of the right type only", .shows("FAPI 2.0 §5.2.2.1"))
    func emptyMetadata() throws {
        var metadata = ClientMetadata(["scope": "a", "grant_types": ["b"], "jwks": ["keys": [7, ["kty": "??"]]]])
        #expect(metadata.scope == ["a"] && metadata.grantTypes == ["b"] && metadata.keys.isEmpty)
        metadata.scope = []
        metadata.grantTypes = []
        metadata.keys = []
        metadata.tokenEndpointAuthenticationMethod = nil
        #expect(metadata.members.isEmpty)
        let key = try SigningKey.generate(.es256).verificationKey
        metadata.keys = [key]
        #expect(metadata.keys.map(\.thumbprint) == [key.thumbprint])
        var aliased = ClientMetadata(["use_mtls_endpoint_aliases": "true"])
        #expect(!aliased.usesMutualTLSAliases)
        for (uses, members) in [(true, ["use_mtls_endpoint_aliases": true]), (false, [:])] as [(Bool, JSONObject)] {
            aliased.usesMutualTLSAliases = uses
            #expect(aliased.members == members)
        }
    }

    @Test(
        "Reads, updates and deletes a registration, and keeps credentials that a response omits",
        .shows("O11", "RFC 7591, RFC 7592")
    )
    func management() async throws {
        let fixture = EndpointFixture(
            .json(#"{"client_id":"c1","client_name":"Reports"}"#),
            .json(#"{"client_id":"c1","client_name":"New","registration_access_token":"t2"}"#),
            .status(204)
        )
        let registrar = fixture.registrar()
        let read = try await registrar.read(registered)
        #expect(read.clientSecret == registered.clientSecret)
        #expect(read.registrationAccessToken == registered.registrationAccessToken)
        #expect(read.registrationURL == registered.registrationURL)
        let updated = try await registrar.update(
            read,
            to: ClientMetadata(["client_name": "New", "client_secret": "x", "registration_access_token": "y"])
        )
        #expect(updated.registrationAccessToken == Secret("t2"))
        #expect(updated.metadata.members == ["client_name": "New"])
        try await registrar.delete(updated)
        let requests = fixture.transport.requests
        #expect(requests.map(\.method) == [.get, .put, .delete])
        #expect(requests.allSatisfy { $0.url.path == "/register/c1" })
        #expect(
            requests.map { $0.headers["Authorization"] } == [
                "Bearer \(Self.secret)", "Bearer \(Self.secret)", "Bearer t2",
            ]
        )
        #expect(try JSONObject(parsing: requests[1].body) == ["client_name": "New", "client_id": "c1"])
    }

    @Test(
        "The error has the server's code",
        .shows("RFC 7591, RFC 7592"),
        arguments: ["invalid_redirect_uri", "invalid_client_metadata", "invalid_software_statement"]
    )
    func refusal(serverCode: String) async throws {
        let error = await failure {
            try await EndpointFixture(.error(serverCode)).registrar().register(ClientMetadata())
        }
        #expect((error?.code, error?.serverCode) == (.requestRejected, serverCode))
    }

    @Test(
        "Rejects an invalid registration response",
        .shows("G11"),
        arguments: [
            "{}", #"{"client_id":7}"#, #"{"client_id":""}"#, #"{"client_id":"a","client_secret":7}"#,
            #"{"client_id":"a","client_secret":"b","client_secret_expires_at":"never"}"#,
            #"{"client_id":"a","registration_access_token":"a\r\nb"}"#,
            #"{"client_id":"a","registration_access_token":""}"#, #"{"client_id":"a","registration_client_uri":"/r"}"#,
            #"{"client_id":"a","registration_client_uri":"http://id.example/r"}"#,
        ]
    )
    func violations(json: String) async {
        let code = await failureCode {
            try await EndpointFixture(.json(json, status: 201)).registrar().register(ClientMetadata())
        }
        #expect(code == (json.contains("http:") ? .insecureTransport : .protocolViolation))
        // A registration of another client.
        let other = EndpointFixture(.json(#"{"client_id":"c2"}"#))
        #expect(await failureCode { try await other.registrar().read(registered) } == .protocolViolation)
    }

    @Test("Retries reading a registration, but not creating one")
    func repetition() async {
        for step in [
            MockTransport.Step.status(503), .text("<html>"), .failure(NetworkError(.connectionLost, "no luck")),
        ] {
            let fixture = EndpointFixture(step, step, attempts: 2)
            await #expect(throws: OAuth2Error.self) {
                try await fixture.registrar(attempts: 2).register(ClientMetadata())
            }
            #expect(fixture.transport.requests.count == 1)
            await #expect(throws: OAuth2Error.self) {
                try await fixture.registrar(attempts: 2).update(registered, to: .init())
            }
            #expect(fixture.transport.requests.count == 2)
        }
        let fixture = EndpointFixture(.status(503), .json(#"{"client_id":"c1"}"#))
        #expect(await failureCode { try await fixture.registrar(attempts: 2).read(registered) } == nil)
    }

    @Test("Throws an error if a registration can't be managed or deleted")
    func unmanaged() async {
        let fixture = EndpointFixture(.status(202))
        let unmanaged = RegisteredClient(clientID: "c1")
        #expect(await failureCode { try await fixture.registrar().read(unmanaged) } == .endpointMissing)
        #expect(await failureCode { try await fixture.registrar().delete(registered) } == .protocolViolation)
    }

    private var registered: RegisteredClient {
        RegisteredClient(
            clientID: "c1",
            clientSecret: Secret("old"),
            registrationAccessToken: Secret(Self.secret),
            registrationURL: URL(string: "https://id.example/register/c1")
        )
    }
}
