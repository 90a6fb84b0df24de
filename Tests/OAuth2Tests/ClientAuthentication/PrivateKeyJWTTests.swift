import Foundation
import MockNetworking
import Networking
import OAuth2
import OpenSSLCrypto
import TestSupport
import Testing
import TokenGeneration

@Suite("private_key_jwt", .limitedConcurrency)
struct PrivateKeyJWTTests {
    private let service: ES256SigningService
    private let date = Date(timeIntervalSince1970: 1_700_000_000.9)

    init() throws {
        service = try ES256SigningService.generate(keyID: "k1")
    }

    @Test("The assertion has only iss, sub, aud, iat, exp and jti")
    func claims() async throws {
        let claims = try await verified(.privateKeyJWT(clientID: "reports", signingService: service)).claims
        #expect(claims["iss"] == "reports")
        #expect(claims["sub"] == "reports")
        #expect(claims["aud"] == "https://as.example")
        #expect(claims["iat"] == 1_700_000_000)
        #expect(claims["exp"] == 1_700_000_060)
        #expect(claims["nbf"] == nil)
        #expect(try #require(claims["jti"]?.string).count == 32)
        #expect(Set(claims.map(\.name)) == ["iss", "sub", "aud", "iat", "exp", "jti"])
    }

    @Test("The header has the signing service's algorithm and key ID, and the type of RFC 10070")
    func header() async throws {
        let token = try await verified(.privateKeyJWT(clientID: "reports", signingService: service))
        #expect(token.header == ["alg": "ES256", "kid": "k1", "typ": "client-authentication+jwt"])
    }

    @Test("The header can have other members and another type, but not another algorithm")
    func headerMembers() async throws {
        let token = try await verified(
            .privateKeyJWT(
                clientID: "reports",
                signingService: service,
                header: ["typ": "JWT", "x5t#S256": "abc"]
            )
        )
        #expect(token.header == ["alg": "ES256", "kid": "k1", "typ": "JWT", "x5t#S256": "abc"])
        await #expect(throws: OAuth2Error(.assertionFailed, "")) {
            try await request(.privateKeyJWT(clientID: "reports", signingService: service, header: ["alg": "none"]))
        }
    }

    @Test("Entra ID gets the token endpoint as audience, and the certificate's thumbprint")
    func entra() async throws {
        let issued = try MockCertificateAuthority().issueClientCertificate(name: "reports")
        let key = try SigningKey(pem: issued.privateKeyPEM)
        let authentication = try JWTClientAuthentication.entra(
            clientID: "reports",
            signingKey: key,
            certificate: issued.chainPEM
        )
        let assertion = try #require(
            try await request(authentication).form.first { $0.name == "client_assertion" }?.value
        )
        let token = try UnverifiedToken(assertion)
        let hash = try Certificate(der: Array(issued.certificateDER)).fingerprint(.sha256)
        let thumbprint = Data(hash).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").dropLast()
        #expect(token.unverifiedHeader["typ"] == "JWT")
        #expect(token.unverifiedHeader["x5t#S256"] == .string(String(thumbprint)))
        #expect(token.unverifiedClaims["aud"] == "https://as.example/token")
        #expect(token.unverifiedClaims["exp"] == 1_700_000_300)
        let other = try SigningKey.generate(.es256)
        #expect(throws: TokenError(.keyMismatch, "")) {
            try JWTClientAuthentication.entra(clientID: "reports", signingKey: other, certificate: issued.chainPEM)
        }
        #expect(throws: TokenError(.malformedKey, "")) {
            try JWTClientAuthentication.entra(clientID: "reports", signingKey: key, certificate: "none")
        }
    }

    @Test("The audience can be the token endpoint or a custom value")
    func audiences() async throws {
        let endpoint = try await verified(
            .privateKeyJWT(clientID: "reports", signingService: service, audience: .tokenEndpoint)
        )
        #expect(endpoint.claims["aud"] == "https://as.example/token")
        let custom = try await verified(
            .privateKeyJWT(clientID: "reports", signingService: service, audience: .custom("urn:as"))
        )
        #expect(custom.claims["aud"] == "urn:as")
    }

    @Test(
        "The lifetime is in whole seconds, from one second to one day",
        arguments: [
            (Duration.seconds(300), 300), (.milliseconds(1_999), 1), (.zero, 1), (.seconds(-5), 1),
            (.seconds(Int64.max), 86_400),
        ]
    )
    func lifetimes(lifetime: Duration, seconds: Int) async throws {
        let token = try await verified(.privateKeyJWT(clientID: "reports", signingService: service, lifetime: lifetime))
        #expect(token.claims["exp"] == .number(JSONNumber(1_700_000_000 + seconds)))
    }

    @Test("Each request has a new jti")
    func uniqueness() async throws {
        let authentication = JWTClientAuthentication.privateKeyJWT(clientID: "reports", signingService: service)
        var identifiers: Set<String> = []
        for _ in 1...100 {
            identifiers.insert(try #require(try await verified(authentication).claims["jti"]?.string))
        }
        #expect(identifiers.count == 100)
    }

    @Test("The form has the client ID and the assertion type, and the header fields no secret")
    func form() async throws {
        let request = try await request(.privateKeyJWT(clientID: "reports", signingService: service))
        let form = Dictionary(uniqueKeysWithValues: request.form.map { ($0.name, $0.value) })
        #expect(form["client_id"] == "reports")
        #expect(form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
        #expect(Set(form.keys) == ["grant_type", "client_id", "client_assertion_type", "client_assertion"])
        #expect(request.headers.isEmpty)
    }

    @Test("Authenticating a request again replaces the assertion")
    func again() async throws {
        var request = try await request(.privateKeyJWT(clientID: "reports", signingService: service))
        let first = request.form.first { $0.name == "client_assertion" }?.value
        try await JWTClientAuthentication.privateKeyJWT(clientID: "reports", signingService: service).authenticate(
            &request,
            at: date
        )
        let assertions = request.form.filter { $0.name == "client_assertion" }.map(\.value)
        #expect(assertions.count == 1)
        #expect(assertions.first != first)
    }

    @Test("Fails before sending a request if the service can't sign")
    func signingFailure() async throws {
        let broken = JWTClientAuthentication.privateKeyJWT(clientID: "reports", signingService: BrokenService())
        await #expect(throws: OAuth2Error(.assertionFailed, "")) { try await request(broken) }
        let fixture = OAuth2Fixture()
        let authenticator = OAuth2Authenticator(
            server: OAuth2Fixture.server,
            clientAuthentication: broken,
            grant: ClientCredentialsGrant(),
            resources: .everyHTTPSOrigin,
            client: NetworkClient(transport: fixture.endpoint)
        )
        let error = await #expect(throws: OAuth2Error.self) { try await authenticator.accessToken() }
        #expect(error?.code == .assertionFailed)
        #expect(error?.isRetryable == false)
        #expect(fixture.endpoint.requests.isEmpty)
    }

    @Test("A remote service signs")
    func remote() async throws {
        let authentication = JWTClientAuthentication.privateKeyJWT(
            clientID: "reports",
            remoteSigningService: Vault(service: service)
        )
        let token = try await verified(authentication)
        #expect(token.header == ["alg": "ES256", "kid": "vault", "typ": "client-authentication+jwt"])
        #expect(token.claims["aud"] == "https://as.example")
        let broken = JWTClientAuthentication.privateKeyJWT(
            clientID: "reports",
            remoteSigningService: Vault(service: BrokenService())
        )
        await #expect(throws: OAuth2Error(.assertionFailed, "")) { try await request(broken) }
    }

    @Test("The audience can be the URL of another endpoint that receives the request")
    func requestURL() async throws {
        let url = try #require(URL(string: "https://as.example/device"))
        var request = TokenRequest(server: OAuth2Fixture.server, form: [], endpoint: url)
        let authentication = JWTClientAuthentication.privateKeyJWT(
            clientID: "reports",
            signingService: service,
            audience: .requestURL
        )
        try await authentication.authenticate(&request, at: date)
        let assertion = try #require(request.form.first { $0.name == "client_assertion" }?.value)
        #expect(try UnverifiedToken(assertion).unverifiedClaims["aud"] == "https://as.example/device")
    }

    @Test("Reports any error of a custom authentication as assertionFailed")
    func customAuthentication() async throws {
        struct Safe: ClientAuthentication {
            struct Locked: Error {}
            let clientID = "reports"
            func authenticate(_ request: inout TokenRequest, at date: Date) async throws { throw Locked() }
        }
        let fixture = OAuth2Fixture()
        let authenticator = OAuth2Authenticator(
            server: OAuth2Fixture.server,
            clientAuthentication: Safe(),
            grant: ClientCredentialsGrant(),
            resources: .everyHTTPSOrigin,
            client: NetworkClient(transport: fixture.endpoint)
        )
        let error = await #expect(throws: OAuth2Error.self) { try await authenticator.accessToken() }
        #expect(error?.code == .assertionFailed)
        #expect(error?.cause is Safe.Locked)
        #expect(fixture.endpoint.requests.isEmpty)
    }

    // MARK: Helpers

    private func request(_ authentication: JWTClientAuthentication) async throws -> TokenRequest {
        var request = TokenRequest(server: OAuth2Fixture.server, form: [("grant_type", "client_credentials")])
        try await authentication.authenticate(&request, at: date)
        return request
    }

    private func verified(_ authentication: JWTClientAuthentication) async throws -> VerifiedToken {
        let form = try await request(authentication).form
        let assertion = try #require(form.first { $0.name == "client_assertion" }?.value)
        let date = date
        var policy = ValidationPolicy(issuer: .skipIssuerCheck, currentDate: { date })
        policy.type = .absentOrOneOf(["JWT", "client-authentication+jwt"])
        policy.audience = .skipAudienceCheck
        return try JWTVerifier(key: service.verificationKey, policy: policy).verify(assertion)
    }
}

private struct BrokenService: SigningService {
    struct Broken: Error {}
    var algorithm: JWSAlgorithm { .es256 }
    func sign(data: Data) throws -> Data { throw Broken() }
}

/// A remote service that signs with ES256.
struct Vault: RemoteSigningService {
    let service: any SigningService
    var algorithm: JWSAlgorithm { .es256 }
    var keyID: String? = "vault"
    func sign(_ message: Data) async throws -> RemoteSignature { .raw(try service.sign(data: message)) }
}
