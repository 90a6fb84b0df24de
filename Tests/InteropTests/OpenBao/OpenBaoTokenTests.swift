import Foundation
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration
import WorkloadIdentity

/// A key of OpenBao's transit engine.
private struct TransitKey: SigningService {
    let bao: OpenBao
    let name: String
    let algorithm: JWSAlgorithm
    let publicKey: VerificationKey?

    /// Creates a key in the engine, and reads its public key.
    static func create(_ type: String, _ algorithm: JWSAlgorithm, at bao: OpenBao) async throws -> TransitKey {
        let name = UUID().uuidString
        try await bao.call("POST", "transit/keys/\(name)", ["type": .string(type)])
        let versions = try await bao.call("GET", "transit/keys/\(name)")["data"]?.object?["keys"]?.object
        let text = try #require(versions?["1"]?.object?["public_key"]?.string)
        let key: VerificationKey
        if type == "ed25519" {
            let x = SignedText.base64URL(try #require(Data(base64Encoded: text)))
            let jwk = try JWK(["kty": "OKP", "crv": "Ed25519", "x": .string(x)])
            key = try VerificationKey(jwk: jwk, algorithm: algorithm)
        } else {
            key = try VerificationKey(pem: text, algorithm: algorithm)
        }
        return TransitKey(bao: bao, name: name, algorithm: algorithm, publicKey: key)
    }

    func sign(data: Data) async throws -> Data {
        let bits = algorithm.rawValue.suffix(3)
        let answer = try await bao.call(
            "POST",
            "transit/sign/\(name)",
            [
                "input": .string(data.base64EncodedString()),
                "hash_algorithm": .string(algorithm.rawValue.hasPrefix("Ed") ? "sha2-256" : "sha2-\(bits)"),
                // `r ‖ s` instead of DER, and base64url for all.
                "marshaling_algorithm": "jws",
                // For RSA. The default salt is as long as the key permits.
                "signature_algorithm": algorithm.rawValue.hasPrefix("PS") ? "pss" : "pkcs1v15",
                "salt_length": "hash",
            ]
        )
        let signature = try #require(answer["data"]?.object?["signature"]?.string)
        let text = signature.split(separator: ":")[2].replacing("-", with: "+").replacing("_", with: "/")
        return try #require(Data(base64Encoded: text + String(repeating: "=", count: -text.count & 3)))
    }
}

@Suite(
    "Tokens with OpenBao",
    .enabled(if: Interop.isPrepared, Interop.hint),
    .timeLimit(.minutes(20)),
    .limitedConcurrency
)
struct OpenBaoTokenTests {
    private static func claims(
        issuer: String = "https://issuer.example",
        audience: String = "https://bao.example",
        validFor: TimeInterval = 300
    ) -> RegisteredClaims {
        RegisteredClaims(
            issuer: issuer,
            subject: "reports",
            audience: [audience],
            expiration: Date() + validFor,
            issuedAt: Date() + min(0, validFor * 2)
        )
    }

    // MARK: Transit

    private static let transitTypes: [(String, JWSAlgorithm)] = [
        ("ecdsa-p256", .es256), ("ecdsa-p384", .es384), ("ecdsa-p521", .es512), ("rsa-2048", .rs256),
        ("rsa-3072", .rs512), ("rsa-2048", .ps256), ("rsa-2048", .ps384), ("ed25519", .edDSA), ("ed25519", .ed25519),
    ]

    @Test("Signs with a key of the transit engine, and detects a signature of its successor", arguments: transitTypes)
    func transit(type: String, algorithm: JWSAlgorithm) async throws {
        let bao = try OpenBao.single
        try await bao.enable("transit")
        let signer = try await TransitKey.create(type, algorithm, at: bao)
        let token = try await signer.token(for: Self.claims())
        let policy = ValidationPolicy(issuer: "https://issuer.example", audience: "https://bao.example")
        let verified = try JWTVerifier(key: #require(signer.publicKey), policy: policy).verify(token)
        #expect(verified.registered.subject == "reports")

        try await bao.call("POST", "transit/keys/\(signer.name)/rotate")
        await #expect(throws: TokenError(.signingFailed, "")) { try await signer.token(for: Self.claims()) }
    }

    // MARK: Login

    /// Enables an authentication method that accepts tokens of a key.
    private func login(_ pem: String, at bao: OpenBao) async throws -> String {
        let mount = "jwt-\(UUID().uuidString)"
        try await bao.call("POST", "sys/auth/\(mount)", ["type": "jwt"])
        let configuration: JSONObject = [
            "jwt_validation_pubkeys": [.string(pem)], "bound_issuer": "https://issuer.example",
        ]
        try await bao.call("POST", "auth/\(mount)/config", configuration)
        let role: JSONObject = [
            "role_type": "jwt", "user_claim": "sub", "bound_audiences": ["https://bao.example"],
            "token_ttl": "600", "token_policies": ["default"],
        ]
        try await bao.call("POST", "auth/\(mount)/role/reports", role)
        return mount
    }

    private func source(_ mount: String, _ token: String, at bao: OpenBao) throws -> VaultLoginSource {
        try VaultLoginSource(
            server: bao.urls[0],
            role: "reports",
            jwt: StaticTokenSource(AccessToken(value: Secret(token), requested: .now)),
            mount: mount
        )
    }

    @Test(
        "Logs in with a token of the library, and renews the lease",
        .shows("O39"),
        arguments: [JWSAlgorithm.es256, .es384, .es512, .rs256, .ps256, .edDSA]
    )
    func logins(algorithm: JWSAlgorithm) async throws {
        let bao = try OpenBao.single
        let key = try SigningKey.generate(algorithm)
        let mount = try await login(key.verificationKey.pem(), at: bao)
        let source = try source(mount, key.sign(Self.claims()), at: bao)
        let token = try await source.token()
        let found = try await bao.call("GET", "auth/token/lookup-self", token: token.value.expose { $0 })
        #expect(found["data"]?.object?["path"] == .string("auth/\(mount)/login"))
        #expect(try await source.token().value == token.value)
    }

    @Test("Logs in with a token that the transit engine signs", .shows("O39"))
    func transitLogin() async throws {
        let bao = try OpenBao.single
        try await bao.enable("transit")
        let signer = try await TransitKey.create("ecdsa-p256", .es256, at: bao)
        let mount = try await login(#require(signer.publicKey).pem(), at: bao)
        _ = try await source(mount, await signer.token(for: Self.claims()), at: bao).token()
    }

    @Test("OpenBao rejects tokens for another audience, of another issuer or key, expired or with Ed25519")
    func rejectedLogins() async throws {
        let bao = try OpenBao.single
        let key = try SigningKey.generate(.es256)
        let mount = try await login(key.verificationKey.pem(), at: bao)
        // OpenBao's library knows only the older name of the algorithm.
        let renamed = try SigningKey.generate(.ed25519)
        let other = try await login(renamed.verificationKey.pem(), at: bao)
        let tokens = [
            (mount, try key.sign(Self.claims(audience: "https://other.example"))),
            (mount, try key.sign(Self.claims(issuer: "https://other.example"))),
            (mount, try key.sign(Self.claims(validFor: -3_600))),
            (mount, try SigningKey.generate(.es256).sign(Self.claims())),
            (other, try renamed.sign(Self.claims())),
        ]
        for (mount, token) in tokens {
            let error = await #expect(throws: WorkloadIdentityError.self) {
                try await source(mount, token, at: bao).token()
            }
            #expect(error?.code == .platformRejected && error?.status == 400)
        }
    }

    // MARK: OpenID provider

    @Test("Signs in with OpenBao as the OpenID provider, and verifies the ID token")
    func provider() async throws {
        let bao = try OpenBao.single
        try await bao.call("POST", "sys/auth/userpass", ["type": "userpass"])
        try await bao.call("POST", "auth/userpass/users/ada", ["password": "engine-1843"])
        let session = try await bao.call("POST", "auth/userpass/login/ada", ["password": "engine-1843"])
        let user = try #require(session["auth"]?.object)
        let registration: JSONObject = [
            "redirect_uris": ["https://client.example/callback"], "assignments": ["allow_all"], "key": "default",
        ]
        try await bao.call("POST", "identity/oidc/client/app", registration)
        let registered = try #require(try await bao.call("GET", "identity/oidc/client/app")["data"]?.object)
        let clientID = try #require(registered["client_id"]?.string)
        let secret = Secret(try #require(registered["client_secret"]?.string))

        let issuer = "\(bao.urls[0])/v1/identity/oidc/provider/default"
        var options = AuthorizationServerDiscovery.Options()
        options.documents = [.openID]
        let server = try await AuthorizationServerDiscovery(issuer: issuer, client: NetworkClient(), options: options)
            .server()
        func oauth(_ secret: Secret) -> OAuth2Client {
            OAuth2Client(server: server, clientAuthentication: .clientSecretBasic(clientID: clientID, secret: secret))
        }
        let client = oauth(secret)
        /// Returns a request and the URL of the redirect that OpenBao's web page would send.
        func authorize() async throws -> (AuthorizationRequest, URL) {
            let request = try client.authorizationRequest(
                redirectURI: "https://client.example/callback",
                scope: "openid"
            )
            let query = try #require(URLComponents(url: request.url(at: server), resolvingAgainstBaseURL: false))
            let answer = try await bao.call(
                "GET",
                "identity/oidc/provider/default/authorize?\(try #require(query.percentEncodedQuery))",
                token: user["client_token"]?.string
            )
            var redirect = try #require(URLComponents(string: "https://client.example/callback"))
            redirect.queryItems = ["code", "state"].map { URLQueryItem(name: $0, value: answer[$0]?.string) }
            return (request, try #require(redirect.url))
        }

        let verifier = IDTokenVerifier(issuer: issuer, clientID: clientID)
        let (request, redirect) = try await authorize()
        let tokens = try await client.tokens(
            for: request.grant(from: redirect, of: server),
            idToken: .verified(by: verifier)
        )
        let subject = try #require(tokens.idToken?.registered.subject)
        #expect(.string(subject) == user["entity_id"])
        #expect(tokens.idToken?.header["alg"] == "RS256")
        let authorized = NetworkClient(interceptors: [
            OAuth2Authenticator(source: StaticTokenSource(tokens.accessToken), resources: .everyHTTPSOrigin)
        ])
        #expect(try await client.userInfo(subject: subject, authorized: authorized).subject == subject)

        // A token for another client, a wrong secret, and the code of another request.
        let other = try await authorize()
        let foreign = IDTokenVerifier(issuer: issuer, clientID: "another-client")
        let error = await #expect(throws: OAuth2Error.self) {
            let grant = try other.0.grant(from: other.1, of: server)
            return try await client.tokens(for: grant, idToken: .verified(by: foreign))
        }
        #expect(error?.code == .protocolViolation && (error?.cause as? TokenError)?.code == .audienceMismatch)
        let third = try await authorize()
        let rejected = await #expect(throws: OAuth2Error.self) {
            let grant = try third.0.grant(from: third.1, of: server)
            return try await oauth(Secret("wrong")).tokens(for: grant, idToken: .verified(by: verifier))
        }
        #expect(rejected?.serverCode == "invalid_client")
        let stolen = try await authorize()
        let swapped = try AuthorizationRequest(
            clientID: clientID,
            redirectURI: "https://client.example/callback",
            scope: "openid",
            state: stolen.0.state
        )
        let forged = await #expect(throws: OAuth2Error.self) {
            let grant = try swapped.grant(from: stolen.1, of: server)
            return try await client.tokens(for: grant, idToken: .verified(by: verifier))
        }
        #expect(forged?.serverCode == "invalid_grant")
    }
}
