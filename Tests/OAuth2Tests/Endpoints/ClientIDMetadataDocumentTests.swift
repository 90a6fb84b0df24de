import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("Client ID metadata documents", .limitedConcurrency)
struct ClientIDMetadataDocumentTests {
    private static let clientID = "https://app.example/client.json"
    private static let redirectURI = "https://app.example/callback"

    private func document(
        _ members: JSONObject = [:],
        clientID: String = clientID
    ) throws(OAuth2Error) -> ClientIDMetadataDocument {
        var metadata = ClientMetadata(["client_name": "Reports"])
        metadata.redirectURIs = [Self.redirectURI]
        for member in members { metadata.members[member.name] = member.value }
        return try ClientIDMetadataDocument(clientID: clientID, metadata: metadata)
    }

    @Test("A document has its own URL as client_id, and says that the client is public", .shows("O44"))
    func body() throws {
        let document = try document()
        #expect(
            String(decoding: document.body, as: UTF8.self) == """
                {"client_id":"https://app.example/client.json","client_name":"Reports",\
                "redirect_uris":["https://app.example/callback"],"token_endpoint_auth_method":"none"}
                """
        )
        #expect(document.headers["Content-Type"] == "application/json")
        #expect(document.headers["Cache-Control"] == "max-age=3600")
        #expect(try self.document(["client_id": .string(Self.clientID)]) == document)
    }

    @Test(
        "Accepts URLs with a path",
        arguments: [
            "https://app.example/", "https://app.example:8443/a/b.json", "https://app.example/a..b/.well-known/c",
        ]
    )
    func urls(_ url: String) throws {
        #expect(try document(clientID: url).clientID == url)
    }

    @Test(
        "Rejects URLs that can't be client IDs",
        .shows("Client ID Metadata Document (draft 01) §3, §4.1, §6.6"),
        arguments: [
            "", "client", "http://app.example/c", "https://app.example", "https:///c", "HTTPS://app.example/c",
            "https://a@app.example/c", "https://a:b@app.example/c", "https://app.example/c#f", "https://app.example/c#",
            "https://app.example/c?q", "https://app.example?q", "https://app.example/a/../c", "https://app.example/./c",
            "https://app.example/a/%2E%2e/c", "https://app.example/a/..", "https://app.example/ü",
            "https://app.example/ c",
        ]
    )
    func otherURLs(_ url: String) {
        #expect(throws: OAuth2Error(.malformedRequest, "")) { try document(clientID: url) }
    }

    @Test(
        "Rejects metadata with a shared secret, another client ID or unusable redirects",
        .shows("G15", "Client ID Metadata Document (draft 01) §3, §4.1, §6.6")
    )
    func metadata() async throws {
        let cases: [JSONObject] = [
            ["client_secret": "S3cret"], ["client_secret_expires_at": 0], ["registration_access_token": "S3cret"],
            ["token_endpoint_auth_method": "client_secret_basic"],
            ["token_endpoint_auth_method": "client_secret_post"], ["token_endpoint_auth_method": "client_secret_jwt"],
            ["token_endpoint_auth_method": "private_key_jwt"],
            ["token_endpoint_auth_method": "private_key_jwt", "jwks": ["keys": []]],
            ["client_id": "https://app.example/other.json"], ["client_id": 7],
            ["jwks": ["keys": []], "jwks_uri": "https://app.example/jwks"],
            ["redirect_uris": []], ["redirect_uris": ["/callback"]], ["redirect_uris": ["https://app.example/c#f"]],
            ["client_name": .string(String(repeating: "a", count: 5_000))],
        ]
        for members in cases {
            let error = await failure { try document(members) }
            #expect(error?.code == .malformedRequest, "\(members.serialized())")
            #expect(error?.description.contains("S3cret") == false)
        }
        #expect(try document(["redirect_uris": [], "grant_types": ["client_credentials"]]).metadata.redirectURIs == [])
    }

    @Test("Publishes public keys, and no others", .shows("G15"))
    func keys() throws {
        let key = try SigningKey.generate(.es256)
        var metadata = ClientMetadata()
        metadata.grantTypes = ["client_credentials"]
        metadata.tokenEndpointAuthenticationMethod = "private_key_jwt"
        metadata.keys = [key.verificationKey]
        let document = try ClientIDMetadataDocument(clientID: Self.clientID, metadata: metadata)
        #expect(document.metadata.keys.map(\.thumbprint) == [key.verificationKey.thumbprint])
        let secret: JSONObject = ["kty": "oct", "k": "AAAA"]
        for jwk in [secret, try key.privateJWK().members] {
            #expect(throws: OAuth2Error(.malformedRequest, "")) {
                try self.document(["jwks": ["keys": [.object(jwk)]]])
            }
        }
    }

    @Test("The mock server knows a client by its document, and accepts only its redirects and keys", .shows("O44"))
    func mockServer() async throws {
        let key = try SigningKey.generate(.es256)
        var configuration = MockAuthorizationServer.Configuration()
        var service = ClientMetadata(["grant_types": ["client_credentials"]])
        service.tokenEndpointAuthenticationMethod = "private_key_jwt"
        service.keys = [key.verificationKey]
        let serviceID = "https://service.example/client"
        configuration.clientDocuments = [
            try document(["scope": "read"]), try ClientIDMetadataDocument(clientID: serviceID, metadata: service),
        ]
        let server = try MockAuthorizationServer.start(configuration: configuration)
        #expect(server.metadata.metadata["client_id_metadata_document_supported"] == true)
        func client(_ authentication: any ClientAuthentication) -> OAuth2Client {
            OAuth2Client(server: server.metadata, clientAuthentication: authentication)
        }
        let app = client(.none(clientID: Self.clientID))
        let request = try app.authorizationRequest(redirectURI: Self.redirectURI, scope: "read")
        let redirect = try await server.visit(try request.url(at: server.metadata))
        let tokens = try await app.tokens(
            for: try request.grant(from: redirect, of: server.metadata),
            idToken: .skipIDTokenCheck
        )
        #expect(server.isActive(tokens.accessToken.value.expose { $0 }))

        let signing = try ES256SigningService(key: key)
        _ = try await client(.privateKeyJWT(clientID: serviceID, signingService: signing)).tokens(
            for: ClientCredentialsGrant()
        )
        let unknown = client(.none(clientID: "https://other.example/client"))
        let error = await failure { try await unknown.tokens(refreshing: Secret("r")) }
        #expect(error?.code == .invalidClient)
        let plain = try MockAuthorizationServer.start()
        #expect(plain.metadata.metadata["client_id_metadata_document_supported"] == nil)
        let remote =
            ["token_endpoint_auth_method": "private_key_jwt", "jwks_uri": "https://app.example/jwks"] as JSONObject
        configuration.clientDocuments = [try document(remote)]
        let failure = #expect(throws: MockError.self) {
            try MockAuthorizationServer.start(configuration: configuration)
        }
        #expect(failure?.code == .cannotStart)
        await server.stop()
        await plain.stop()
    }
}
