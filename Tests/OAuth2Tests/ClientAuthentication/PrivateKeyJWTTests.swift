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

    @Test(
        "The assertion has only iss, sub, aud, iat, exp and jti, and the type of RFC 10070",
        .shows(
            "G6",
            "RFC 10070 §4, §5",
            "RFC 7521 §4.2, RFC 7523 §2.2 (own)",
            "FAPI 2.0 §5.3.3.1 (5)",
            "FAPI 2.0 §5.4.1 (1)"
        )
    )
    func claims() async throws {
        let request = try await request(.privateKeyJWT(clientID: "reports", signingService: service))
        let form = Dictionary(uniqueKeysWithValues: request.form.map { ($0.name, $0.value) })
        #expect(form["client_id"] == "reports")
        #expect(form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
        #expect(Set(form.keys) == ["grant_type", "client_id", "client_assertion_type", "client_assertion"])
        #expect(request.headers.isEmpty)
        let token = try verified(request)
        #expect(token.header == ["alg": "ES256", "kid": "k1", "typ": "client-authentication+jwt"])
        var claims = token.claims
        #expect(claims["jti"]?.string?.count == 32)
        claims["jti"] = nil
        let expected: JSONObject = [
            "iss": "reports", "sub": "reports", "aud": "https://as.example", "iat": 1_700_000_000,
            "exp": 1_700_000_060,
        ]
        #expect(claims == expected)
    }

    @Test("The header can have other members and another type, but not another algorithm")
    func headerMembers() async throws {
        let header: JSONObject = ["typ": "JWT", "x5t#S256": "abc"]
        let token = try await verified(.privateKeyJWT(clientID: "reports", signingService: service, header: header))
        #expect(token.header == ["alg": "ES256", "kid": "k1", "typ": "JWT", "x5t#S256": "abc"])
    }

    @Test("Entra ID gets the token endpoint as audience, and the certificate's thumbprint", .shows("RFC 10070 §4, §5"))
    func entra() async throws {
        let issued = try MockCertificateAuthority().issueClientCertificate(name: "reports")
        let key = try SigningKey(pem: issued.privateKeyPEM)
        let authentication = try StandardClientAuthentication.entra(
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
            try StandardClientAuthentication.entra(clientID: "reports", signingKey: other, certificate: issued.chainPEM)
        }
        #expect(throws: TokenError(.malformedKey, "")) {
            try StandardClientAuthentication.entra(clientID: "reports", signingKey: key, certificate: "none")
        }
    }

    @Test(
        "The audience can be the issuer, an endpoint or a custom value",
        .shows("O8"),
        arguments: [
            (AssertionAudience.issuer, "https://as.example"), (.tokenEndpoint, "https://as.example/token"),
            (.requestURL, "https://as.example/device"), (.custom("urn:as"), "urn:as"),
        ]
    )
    func audiences(audience: AssertionAudience, expected: String) async throws {
        let url = try #require(URL(string: "https://as.example/device"))
        var request = TokenRequest(server: OAuth2Fixture.server, form: [], endpoint: url)
        try await StandardClientAuthentication.privateKeyJWT(
            clientID: "reports",
            signingService: service,
            audience: audience
        ).authenticate(&request, at: date)
        #expect(try verified(request).claims["aud"]?.string == expected)
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

    @Test("Authenticating a request again replaces the assertion by one with a new jti", .shows("G6"))
    func again() async throws {
        let authentication = StandardClientAuthentication.privateKeyJWT(clientID: "reports", signingService: service)
        var request = try await request(authentication)
        var identifiers: Set<String?> = []
        for _ in 1...100 {
            try await authentication.authenticate(&request, at: date)
            #expect(request.form.count { $0.name == "client_assertion" } == 1)
            identifiers.insert(try verified(request).claims["jti"]?.string)
        }
        #expect(identifiers.count == 100)
    }

    @Test("Fails with assertionFailed before sending a request if the client can't authenticate")
    func signingFailure() async throws {
        struct Safe: ClientAuthentication {
            struct Locked: Error {}
            let clientID = "reports"
            func authenticate(_ request: inout TokenRequest, at date: Date) async throws { throw Locked() }
        }
        let broken = BrokenService()
        let failing: [any ClientAuthentication] = [
            StandardClientAuthentication.privateKeyJWT(clientID: "reports", signingService: broken),
            StandardClientAuthentication.privateKeyJWT(
                clientID: "reports",
                signingService: Vault(service: broken)
            ),
            StandardClientAuthentication.privateKeyJWT(
                clientID: "reports",
                signingService: service,
                header: ["alg": "none"]
            ),
            Safe(),
        ]
        for (index, authentication) in failing.enumerated() {
            let fixture = OAuth2Fixture()
            let authenticator = fixture.authenticator(clientAuthentication: authentication)
            let error = await failure { try await authenticator.accessToken() }
            #expect((error?.code, error?.isRetryable) == (.assertionFailed, false), "row \(index)")
            #expect(error?.cause is Safe.Locked == authentication is Safe)
            #expect(fixture.endpoint.requests.isEmpty)
        }
    }

    @Test("A remote service signs")
    func remote() async throws {
        let vault = Vault(service: service)
        let token = try await verified(.privateKeyJWT(clientID: "reports", signingService: vault))
        #expect(token.header == ["alg": "ES256", "kid": "vault", "typ": "client-authentication+jwt"])
        #expect(token.claims["aud"] == "https://as.example")
    }

    // MARK: Helpers

    private func request(_ authentication: StandardClientAuthentication) async throws -> TokenRequest {
        var request = TokenRequest(server: OAuth2Fixture.server, form: [("grant_type", "client_credentials")])
        try await authentication.authenticate(&request, at: date)
        return request
    }

    private func verified(_ authentication: StandardClientAuthentication) async throws -> VerifiedToken {
        try verified(try await request(authentication))
    }

    private func verified(_ request: TokenRequest) throws -> VerifiedToken {
        let assertion = try #require(request.form.first { $0.name == "client_assertion" }?.value)
        let date = date
        var policy = ValidationPolicy(issuer: .skipIssuerCheck, currentDate: { date })
        policy.type = .absentOrOneOf(["JWT", "client-authentication+jwt"])
        policy.audience = .skipAudienceCheck
        return try JWTVerifier(key: service.verificationKey, policy: policy).verify(assertion)
    }
}

/// A service that can't sign.
struct BrokenService: SigningService {
    struct Broken: Error {}
    var algorithm: JWSAlgorithm { .es256 }
    func sign(data: Data) throws -> Data { throw Broken() }
}

/// A remote service that signs with ES256.
struct Vault: SigningService {
    let service: any SigningService
    var algorithm: JWSAlgorithm { .es256 }
    var keyID: String? = "vault"
    func sign(data: Data) async throws -> Data { try await service.sign(data: data) }
}
