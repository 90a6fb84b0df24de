import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

/// The scenarios of oauth4webapi's conformance modules that are about ID tokens, named as they are there: each through a whole sign-in.
@Suite("Conformance modules: ID tokens", .timeLimit(.minutes(10)), .limitedConcurrency)
struct IDTokenModuleTests {
    typealias Fault = MockAuthorizationServer.IDTokenFault

    // MARK: From the token endpoint

    @Test(
        "Good ones",
        arguments: [
            ("oidcc-client-test", nil), ("valid-aud-as-array", .claims(["aud": ["public"]])),
            ("kid-absent-single-jwks", .withoutKeyID), ("missing-athash", .claims(["at_hash": nil])),
        ] as [(String, Fault?)]
    )
    func good(module: String, fault: Fault?) async throws {
        try await ServerFixture.with { fixture in
            let token = try await signIn(fixture, fault)
            #expect(token.registered.subject == "ada", "\(module)")
            #expect(token.registered.audience == ["public"], "\(module)")
        }
    }

    @Test(
        "Each that is not good has its error",
        arguments: [
            ("iat-is-week-in-past", .old(.seconds(604_800)), .tooOld),
            ("idtoken-sig-none", .unsigned, .algorithmMismatch),
            ("invalid-null-alg", .withoutAlgorithm, .malformedToken),
            ("invalid-aud", .wrongAudience, .audienceMismatch),
            ("invalid-expired-exp", .claims(["exp": 1]), .expired), ("invalid-iss", .wrongIssuer, .issuerMismatch),
            ("invalid-missing-aud", .claims(["aud": nil]), .missingClaim),
            ("invalid-missing-exp", .claims(["exp": nil]), .missingClaim),
            ("invalid-missing-iss", .claims(["iss": nil]), .missingClaim),
            ("invalid-missing-nonce", .claims(["nonce": nil]), .missingClaim),
            ("invalid-nonce", .wrongNonce, .nonceMismatch), ("nonce-invalid", .claims(["nonce": "x"]), .nonceMismatch),
            ("invalid-secondary-aud", .claims(["aud": ["public", "another"]]), .audienceMismatch),
            ("invalid-sig-es256", .mixedUpKeys, .signatureInvalid),
            ("invalid-signature", .mixedUpKeys, .signatureInvalid),
            ("missing-aud", .claims(["aud": nil]), .missingClaim),
            ("missing-iat", .claims(["iat": nil]), .missingClaim),
            ("missing-sub", .claims(["sub": nil]), .missingClaim),
            ("an empty sub", .claims(["sub": ""]), .malformedClaim),
            ("a key that is not published", .unknownKey, .unknownKey),
            ("invalid-athash", .wrongAccessTokenHash, .hashMismatch),
        ] as [(String, Fault, TokenError.Code)]
    )
    func refused(module: String, fault: Fault, code: TokenError.Code) async throws {
        try await ServerFixture.with { fixture in
            let error = await #expect(throws: TokenError.self, "\(module)") { try await signIn(fixture, fault) }
            #expect(error?.code == code, "\(module)")
            // And the next one is good.
            let next = try await signIn(fixture)
            #expect(next.registered.subject == "ada")
        }
    }

    @Test("A grant that asked for an ID token is not redeemed without a rule for it, and its code stays good")
    func withoutRule() async throws {
        try await ServerFixture.with { fixture in
            let client = fixture.client()
            let grant = try await fixture.code(client, scope: "openid read")
            let before = fixture.server.tokenRequestCount
            let error = await #expect(throws: OAuth2Error.self) { try await client.tokens(for: grant) }
            #expect(error?.code == .malformedRequest)
            #expect(error?.message.contains("skipIDTokenCheck") == true)
            #expect(fixture.server.tokenRequestCount == before)
            let tokens = try await client.tokens(for: grant, idToken: fixture.idToken(client))
            #expect(tokens.idToken?.registered.subject == "ada")
        }
    }

    @Test("Where no ID token was asked for, a verifier has nothing to verify, and the code stays good")
    func notRequested() async throws {
        try await ServerFixture.with { fixture in
            let client = fixture.client()
            let grant = try await fixture.code(client, scope: "read")
            await #expect(throws: OAuth2Error(.malformedRequest, "")) {
                try await client.tokens(for: grant, idToken: fixture.idToken(client))
            }
            await #expect(throws: OAuth2Error(.malformedRequest, "")) {
                try await client.tokens(for: ClientCredentialsGrant(), idToken: fixture.idToken(client))
            }
            #expect(try await client.tokens(for: grant).idToken == nil)
        }
    }

    @Test(
        "A server that issues no ID token, though one was asked for, is not believed",
        arguments: [nil, "", 7] as [JSONValue?]
    )
    func missing(member: JSONValue?) async throws {
        try await ServerFixture.with { fixture in
            let client = fixture.client()
            let grant = try await fixture.code(client, scope: "openid")
            fixture.server.misbehave(.members(["id_token": member]))
            await #expect(throws: OAuth2Error(.protocolViolation, "")) {
                try await client.tokens(for: grant, idToken: fixture.idToken(client))
            }
        }
    }

    @Test("While the provider's keys can't be had, the code is not spent")
    func withoutKeys() async throws {
        try await ServerFixture.with { fixture in
            let client = fixture.client()
            let grant = try await fixture.code(client, scope: "openid")
            let before = fixture.server.tokenRequestCount
            fixture.server.misbehave(at: .keys, .huge())
            await #expect(throws: OAuth2Error.self) {
                try await client.tokens(for: grant, idToken: fixture.idToken(client))
            }
            #expect(fixture.server.tokenRequestCount == before)
            let tokens = try await client.tokens(for: grant, idToken: fixture.idToken(client))
            #expect(tokens.idToken?.registered.subject == "ada")
        }
    }

    @Test(
        "max_age of the request is checked in the ID token",
        arguments: [
            ("60", .claims(["auth_time": 1]), .tooOld), ("60", .claims(["auth_time": nil]), .missingClaim),
            ("3600", nil, nil),
        ]
            as [(String, Fault?, TokenError.Code?)]
    )
    func maximumAge(seconds: String, fault: Fault?, expected: TokenError.Code?) async throws {
        try await ServerFixture.with { fixture in
            let client = fixture.client()
            let request = try client.authorizationRequest(
                redirectURI: ServerFixture.redirectURI,
                scope: "openid",
                additionalParameters: ["max_age": seconds]
            )
            let redirect = try await fixture.server.visit(request.url(at: client.server), client: fixture.network)
            if let fault { fixture.server.misbehave(.idToken(fault)) }
            let grant = try request.grant(from: redirect, of: client.server)
            guard let expected else {
                #expect(try await client.tokens(for: grant, idToken: fixture.idToken(client)).idToken != nil)
                return
            }
            let error = await #expect(throws: OAuth2Error.self) {
                try await client.tokens(for: grant, idToken: fixture.idToken(client))
            }
            #expect((error?.cause as? TokenError)?.code == expected)
        }
    }

    @Test("A max_age that is no number of seconds is refused", arguments: ["", "-1", "1.5", "a day", "99999999999"])
    func malformedMaximumAge(text: String) {
        #expect(throws: OAuth2Error(.malformedRequest, "")) {
            try AuthorizationRequest(
                clientID: "a",
                redirectURI: "urn:a",
                scope: "openid",
                additionalParameters: ["max_age": text]
            )
        }
    }

    @Test("nonce-unless-code-flow: a sign-in without a nonce has an ID token without one, and takes none with")
    func withoutNonce() async throws {
        try await ServerFixture.with { fixture in
            let client = fixture.client()
            let tokens = try await client.tokens(
                for: fixture.code(client, scope: "openid"),
                idToken: .skipIDTokenCheck
            )
            #expect(tokens.idToken == nil)
            let verifier = verifier(fixture)
            let token = try #require(tokens.unverifiedIDToken).expose { $0 }
            await #expect(throws: TokenError(.nonceMismatch, "")) { try await verifier.verify(token, nonce: nil) }
            let plain = try fixture.server.issueIDToken(clientID: "public", subject: "ada")
            #expect(try await verifier.verify(plain, nonce: nil).registered.subject == "ada")
        }
    }

    @Test("kid-absent-multiple-jwks: with several keys, a token that names none of them is refused")
    func ambiguousKey() async throws {
        try await ServerFixture.with { fixture in
            try fixture.server.rotateKeys()
            #expect(fixture.server.keys.keys.count == 2)
            await #expect(throws: TokenError(.ambiguousKey, "")) { try await signIn(fixture, .withoutKeyID) }
            let next = try await signIn(fixture)
            #expect(next.registered.subject == "ada")
        }
    }

    @Test("idtoken-sig-rs256, invalid-sig-rs256: the algorithm that clients are registered for by default")
    func rs256() async throws {
        try await ServerFixture.with({ $0.signingAlgorithm = .rs256 }) { fixture in
            let verifier = IDTokenVerifier(
                issuer: fixture.server.metadata.issuer,
                clientID: "public",
                keys: fixture.server.keys
            )
            let signedIn = try await signIn(fixture, verifier: verifier)
            #expect(signedIn.registered.subject == "ada")
            await #expect(throws: TokenError(.signatureInvalid, "")) {
                try await signIn(fixture, .mixedUpKeys, verifier: verifier)
            }
        }
    }

    @Test("invalid-sig-hs256: a token that is signed with another secret than the client's, or with the public key")
    func hs256() async throws {
        try await ServerFixture.with { fixture in
            let verifier = IDTokenVerifier(
                issuer: fixture.server.metadata.issuer,
                clientID: "public",
                key: try VerificationKey(secret: Data(ServerFixture.secret.utf8), algorithm: .hs256)
            )
            func signed(with secret: String) throws -> Fault {
                let key = try SigningKey(secret: Data(secret.utf8), algorithm: .hs256)
                return .signed(by: key)
            }
            let good = try signed(with: ServerFixture.secret)
            let signedIn = try await signIn(fixture, good, verifier: verifier)
            #expect(signedIn.registered.subject == "ada")
            await #expect(throws: TokenError(.signatureInvalid, "")) {
                try await signIn(fixture, signed(with: String(ServerFixture.secret.reversed())), verifier: verifier)
            }
            let published = try #require(fixture.server.keys.keys[0].members["x"]?.string)
            await #expect(throws: TokenError(.algorithmMismatch, "")) {
                try await signIn(fixture, signed(with: published))
            }
        }
    }

    @Test("invalid-alternate-alg: another algorithm than the client is registered for, by whatever key")
    func alternateAlgorithm() async throws {
        try await ServerFixture.with { fixture in
            for algorithm in [JWSAlgorithm.es384, .ps256, .edDSA] {
                let service = try SigningKey.generate(algorithm).identified(by: fixture.server.keys.keys[0].keyID)
                await #expect(throws: TokenError(.algorithmMismatch, "")) {
                    try await signIn(fixture, .signed(by: service))
                }
            }
        }
    }

    @Test(
        "encrypted-idtoken, encrypted-idtoken-usingrsa15: what is encrypted is refused, and said to be so",
        arguments: ["RSA-OAEP", "RSA1_5"]
    )
    func encrypted(algorithm: String) async throws {
        try await ServerFixture.with { fixture in
            let client = fixture.client()
            let grant = try await fixture.code(client, scope: "openid")
            let header = Base64URLText.encode(Data(#"{"alg":"\#(algorithm)","enc":"A128GCM","cty":"JWT"}"#.utf8))
            fixture.server.misbehave(.members(["id_token": .string("\(header).a2V5.aXY.dGV4dA.dGFn")]))
            let error = await #expect(throws: OAuth2Error.self) {
                try await client.tokens(for: grant, idToken: fixture.idToken(client))
            }
            #expect(error?.code == .protocolViolation)
            #expect((error?.cause as? TokenError)?.code == .malformedToken)
            #expect((error?.cause as? TokenError)?.message.contains("JWE") == true)
        }
    }

    // MARK: Beside a code, as a detached signature of the answer

    @Test(
        "Hashes of the code and the state that come with a token from the authorization endpoint",
        arguments: [
            ("good", nil, nil), ("invalid-chash", .wrongCodeHash, .hashMismatch),
            ("missing-chash", .claims(["c_hash": nil]), .missingClaim),
            ("invalid-shash", .claims(["s_hash": "AAAAAAAAAAAAAAAAAAAAAA"]), .hashMismatch),
            ("invalid-missing-shash", .claims(["s_hash": nil]), .missingClaim),
        ] as [(String, Fault?, TokenError.Code?)],
        [JWSAlgorithm.es256, .ps256, .es384, .edDSA]
    )
    func detached(module: (String, Fault?, TokenError.Code?), algorithm: JWSAlgorithm) async throws {
        let (name, fault, code) = module
        try await ServerFixture.with({ $0.signingAlgorithm = algorithm }) { fixture in
            let token = try fixture.server.issueIDToken(
                clientID: "public",
                subject: "ada",
                nonce: "n",
                code: "code",
                state: "state",
                fault: fault
            )
            let verifier = verifier(fixture, [algorithm])
            let verification = { try await verifier.verify(token, nonce: "n", code: "code", state: "state") }
            guard let code else {
                #expect(try await verification().registered.subject == "ada")
                return
            }
            let error = await #expect(throws: TokenError.self, "\(name)") { try await verification() }
            #expect(error?.code == code, "\(name)")
        }
    }

    // MARK: A sign-in

    private func verifier(_ fixture: ServerFixture, _ algorithms: Set<JWSAlgorithm> = [.es256]) -> IDTokenVerifier {
        fixture.idTokenVerifier(algorithms)
    }

    /// Signs a user in.
    ///
    /// - Throws: `TokenError`, which is the cause of what the client throws.
    private func signIn(
        _ fixture: ServerFixture,
        _ fault: Fault? = nil,
        verifier: IDTokenVerifier? = nil
    ) async throws -> VerifiedToken {
        let client = fixture.client()
        let request = try client.authorizationRequest(redirectURI: ServerFixture.redirectURI, scope: "openid")
        let redirect = try await fixture.server.visit(request.url(at: client.server), client: fixture.network)
        if let fault { fixture.server.misbehave(.idToken(fault)) }
        do {
            let tokens = try await client.tokens(
                for: request.grant(from: redirect, of: client.server),
                idToken: .verified(by: verifier ?? self.verifier(fixture))
            )
            return try #require(tokens.idToken)
        } catch let error as OAuth2Error {
            let cause = try #require(error.cause as? TokenError, "\(error)")
            #expect(error.code == .protocolViolation)
            throw cause
        }
    }
}
