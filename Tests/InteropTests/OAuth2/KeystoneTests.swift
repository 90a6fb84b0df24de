import Foundation
import FoundationNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

/// Tests against OpenStack's Keystone as an issuer of OAuth 2 tokens, which `Tests/Interop/servers`
/// has started.
@Suite(
    "Keystone",
    .serialized,
    .enabled(if: Interop.variable("INTEROP_KEYSTONE") != nil, Interop.serversHint),
    .timeLimit(.minutes(20))
)
struct KeystoneTests {
    /// The identifiers that `keystone_server.py` has written.
    private let facts = Result {
        try JSONObject(parsing: Data(contentsOf: URL(filePath: Interop.required("INTEROP_KEYSTONE"))))
    }

    private func fact(_ name: String) throws -> String { try #require(try facts.get()[name]?.string) }

    private func url(_ path: String) throws -> URL { try #require(URL(string: try fact("base") + path)) }

    private func tls(presenting certificate: String? = nil) throws -> TLSConfiguration {
        var tls = try TLSPeer.trust()
        tls.clientIdentity = try certificate.map {
            try ClientIdentity(
                certificateChainFile: TLSPeer.file("\($0).pem"),
                privateKeyFile: TLSPeer.file("\($0)-key.pem")
            )
        }
        return tls
    }

    /// Returns the result of a token request, with a client certificate or without one.
    private func token(
        _ authentication: any ClientAuthentication,
        presenting certificate: String? = nil,
        for grant: any Grant = ClientCredentialsGrant()
    ) async throws -> AccessToken {
        // Keystone has no metadata.
        let server = AuthorizationServer(issuer: try fact("base"), tokenEndpoint: try url("/v3/OS-OAUTH2/token"))
        return try await TLSPeer.withClient(try tls(presenting: certificate)) { client in
            try await OAuth2Client(
                server: server,
                clientAuthentication: authentication,
                client: client,
                timing: .init(attempts: 1)
            )
            .tokens(for: grant).accessToken
        }
    }

    /// Returns Keystone's description of a token, which takes the place of introspection.
    private func description(of token: AccessToken) async throws -> JSONObject {
        var request = URLRequest(url: try url("/v3/auth/tokens"))
        request.setValue(try fact("admin"), forHTTPHeaderField: "X-Auth-Token")
        request.setValue(token.value.expose { $0 }, forHTTPHeaderField: "X-Subject-Token")
        let answer = try await TLSPeer.withClient(try tls()) { [request] in try await $0.makeRequest(request) }
        return try #require(try JSONObject(parsing: answer)["token"]?.object)
    }

    @Test("Authenticates with a certificate, and gets a token that is bound to it", .shows("RFC 8705 §2, §5"))
    func certificate() async throws {
        let user = try fact("user")
        let token = try await token(StandardClientAuthentication.tlsClientAuth(clientID: user), presenting: "client")
        #expect(token.type == "Bearer" && token.expiry.map { $0 > .now } == true)
        let found = try await description(of: token)
        #expect(found["user"]?.object?["id"] == .string(user))
        #expect(found["project"]?.object?["id"] == .string(try fact("project")))

        // Keystone hashes the certificate's PEM, not its DER as RFC 8705 §3.1 says.
        let thumbprint = try #require(found["oauth2_credential"]?.object?["x5t#S256"]?.string)
        #expect(try thumbprint == fact("textThumbprint"))
        #expect(try thumbprint != fact("thumbprint"))
    }

    @Test("Verifies the token's signature, and that of a token that Keystone hasn't signed")
    func signature() async throws {
        let user = try fact("user")
        let token = try await token(StandardClientAuthentication.tlsClientAuth(clientID: user), presenting: "client")
        var policy = ValidationPolicy()
        policy.issuer = .skipIssuerCheck
        policy.audience = .skipAudienceCheck
        let verifier = JWTVerifier(key: try VerificationKey(pem: fact("key"), algorithm: .es256), policy: policy)
        let verified = try token.value.expose { try verifier.verify($0) }
        #expect(verified.registered.subject == user)
        #expect(verified.claims["openstack_methods"] == ["oauth2_credential"])
        let other = JWTVerifier(key: try SigningKey.generate(.es256).verificationKey, policy: policy)
        #expect(throws: TokenError(.signatureInvalid, "")) { try token.value.expose { try other.verify($0) } }
    }

    @Test("Keystone rejects another client's certificate, an unknown client, and none")
    func certificates() async throws {
        let user = try fact("user")
        for (id, certificate) in [(user, "another"), ("unknown", "client"), (user, nil)] {
            let authentication: any ClientAuthentication =
                certificate == nil
                ? StandardClientAuthentication.none(clientID: id)
                : StandardClientAuthentication.tlsClientAuth(clientID: id)
            let error = await #expect(throws: OAuth2Error.self) {
                try await token(authentication, presenting: certificate)
            }
            #expect(error?.code == .invalidClient && error?.status == 401)
        }
        // Its front ends the connection, because the certificate isn't under their authority.
        let stranger = await #expect(throws: OAuth2Error.self) {
            try await token(StandardClientAuthentication.tlsClientAuth(clientID: user), presenting: "stranger")
        }
        #expect(stranger?.code == .serverUnreachable)
        // The library doesn't send the client ID alone where a certificate is the proof.
        let forgotten = await #expect(throws: OAuth2Error.self) {
            try await token(StandardClientAuthentication.tlsClientAuth(clientID: user))
        }
        #expect(forgotten?.code == .assertionFailed)
    }

    @Test("Authenticates with an application credential, which Keystone doesn't decode")
    func secret() async throws {
        func credential(
            _ secret: Secret,
            _ encoding: StandardClientAuthentication.Encoding
        ) throws -> StandardClientAuthentication {
            .clientSecretBasic(clientID: try fact("credential"), secret: secret, encoding: encoding)
        }
        let secret = Secret(try fact("secret"))
        let token = try await token(credential(secret, .raw))
        #expect(try await description(of: token)["methods"] == ["application_credential"])
        let encoded = await #expect(throws: OAuth2Error.self) { try await self.token(credential(secret, .form)) }
        #expect(encoded?.code == .invalidClient && encoded?.message.contains("Encoding.raw") == true)
        let wrong = await #expect(throws: OAuth2Error.self) { try await self.token(credential(Secret("wrong"), .raw)) }
        #expect(wrong?.code == .invalidClient)
    }

    @Test("Keystone refuses other grants")
    func grants() async throws {
        let error = await #expect(throws: OAuth2Error.self) {
            try await token(
                StandardClientAuthentication.tlsClientAuth(clientID: fact("user")),
                presenting: "client",
                for: RefreshTokenGrant(refreshToken: Secret("dead"))
            )
        }
        #expect(error?.serverCode == "unsupported_grant_type")
    }

    @Test("Keystone's API accepts a bound token without the certificate, and ends it")
    func revocation() async throws {
        let token = try await token(
            StandardClientAuthentication.tlsClientAuth(clientID: fact("user")),
            presenting: "client"
        )
        var request = URLRequest(url: try url("/v3/auth/tokens"))
        request.httpMethod = "DELETE"
        for name in ["X-Auth-Token", "X-Subject-Token"] {
            request.setValue(token.value.expose { $0 }, forHTTPHeaderField: name)
        }
        _ = try await TLSPeer.withClient(try tls()) { [request] in try await $0.makeRequest(request) }
        let error = await #expect(throws: ServerError.self) { try await description(of: token) }
        #expect(error?.errorCode == 404)
    }
}
