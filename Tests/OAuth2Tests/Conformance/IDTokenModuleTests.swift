import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

/// The scenarios of oauth4webapi's conformance modules about ID tokens, under their original names,
/// each with a complete sign-in.
@Suite("Conformance modules: ID tokens", .limitedConcurrency)
struct IDTokenModuleTests {
    typealias Fault = MockAuthorizationServer.IDTokenFault

    // MARK: From the token endpoint

    @Test(
        "Accepts valid ID tokens, and each invalid one has its own error",
        .shows(
            "K13",
            "FAPI 2.0 §5.4.1 (1.3)",
            "iat-is-week-in-past",
            "idtoken-sig-none",
            "invalid-aud",
            "invalid-expired-exp",
            "invalid-iss",
            "invalid-missing-aud",
            "invalid-missing-exp",
            "invalid-missing-iss",
            "invalid-missing-nonce",
            "invalid-nonce",
            "invalid-null-alg",
            "invalid-secondary-aud",
            "invalid-sig-es256",
            "invalid-signature",
            "kid-absent-single-jwks",
            "missing-athash",
            "missing-aud",
            "missing-iat",
            "missing-sub",
            "nonce-invalid",
            "oidcc-client-test",
            "valid-aud-as-array"
        ),
        arguments: [
            ("oidcc-client-test", nil, nil), ("valid-aud-as-array", .claims(["aud": ["public"]]), nil),
            ("kid-absent-single-jwks", .withoutKeyID, nil), ("missing-athash", .claims(["at_hash": nil]), nil),
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
            ("an unpublished key", .unknownKey, .unknownKey),
            ("invalid-athash", .wrongAccessTokenHash, .hashMismatch),
        ] as [(String, Fault?, TokenError.Code?)]
    )
    func verification(module: String, fault: Fault?, code: TokenError.Code?) async throws {
        try await ServerFixture.with { fixture in
            if code == nil {
                let token = try await signIn(fixture, fault)
                #expect(token.registered.audience == ["public"], "\(module)")
            } else {
                #expect(await flaw { try await signIn(fixture, fault) } == code, "\(module)")
            }
            // The next ID token is valid.
            let next = try await signIn(fixture)
            #expect(next.registered.subject == "ada")
        }
    }

    @Test("Requires a rule for a requested ID token and the provider's keys before using the code", .shows("K13"))
    func withoutRule() async throws {
        try await ServerFixture.with { fixture in
            let client = fixture.client()
            let grant = try await fixture.code(client, scope: "openid read")
            let before = fixture.server.tokenRequestCount
            let error = await failure { try await client.tokens(for: grant) }
            #expect(error?.code == .malformedRequest)
            #expect(error?.message.contains("skipIDTokenCheck") == true)
            let elsewhere = try #require(URL(string: "http://127.0.0.1:1/jwks"))
            for fault in [MockAuthorizationServer.Fault.huge(), .redirect(to: elsewhere), .members(["keys": "none"])] {
                fixture.server.misbehave(at: .keys, fault)
                let code = await failureCode { try await client.tokens(for: grant, idToken: fixture.idToken(client)) }
                #expect(code == .protocolViolation)
            }
            #expect(fixture.server.tokenRequestCount == before)
            let tokens = try await client.tokens(for: grant, idToken: fixture.idToken(client))
            #expect(tokens.idToken?.registered.subject == "ada")
        }
    }

    @Test("Rejects a verifier without a requested ID token, without using the code")
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
        "Rejects a token response without the requested ID token",
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

    @Test(
        "Checks the request's max_age in the ID token",
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
            if let fault { fixture.server.misbehave(.signedToken(fault)) }
            let grant = try await request.grant(from: redirect, of: client.server)
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

    @Test("Rejects a max_age that isn't a number of seconds", arguments: ["", "-1", "1.5", "a day", "99999999999"])
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

    @Test(
        "nonce-unless-code-flow: a sign-in without a nonce rejects an ID token with one",
        .shows("nonce-unless-code-flow")
    )
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

    @Test(
        "kid-absent-multiple-jwks: rejects a token without kid if there are several keys",
        .shows("kid-absent-multiple-jwks")
    )
    func ambiguousKey() async throws {
        try await ServerFixture.with { fixture in
            try fixture.server.rotateKeys()
            #expect(fixture.server.keys.keys.count == 2)
            await #expect(throws: TokenError(.ambiguousKey, "")) { try await signIn(fixture, .withoutKeyID) }
            let next = try await signIn(fixture)
            #expect(next.registered.subject == "ada")
        }
    }

    @Test(
        "idtoken-sig-rs256, invalid-sig-rs256: verifies RS256, the default of client registration",
        .shows("idtoken-sig-rs256", "invalid-sig-rs256")
    )
    func rs256() async throws {
        try await ServerFixture.with({ $0.signingAlgorithm = .rs256 }) { fixture in
            let verifier = IDTokenVerifier(
                issuer: fixture.server.metadata.issuer,
                clientID: "public",
                keys: .fixed(fixture.server.keys)
            )
            let signedIn = try await signIn(fixture, verifier: verifier)
            #expect(signedIn.registered.subject == "ada")
            await #expect(throws: TokenError(.signatureInvalid, "")) {
                try await signIn(fixture, .mixedUpKeys, verifier: verifier)
            }
        }
    }

    @Test(
        "invalid-sig-hs256: rejects a token signed with another secret or with the public key",
        .shows("invalid-sig-hs256")
    )
    func hs256() async throws {
        try await ServerFixture.with { fixture in
            let verifier = IDTokenVerifier(
                issuer: fixture.server.metadata.issuer,
                clientID: "public",
                keys: .key(try VerificationKey(secret: Data(ServerFixture.secret.utf8), algorithm: .hs256))
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

    @Test(
        "invalid-alternate-alg: rejects an unregistered algorithm with any key",
        .shows("FAPI 2.0 §5.4.1 (1)", "invalid-alternate-alg")
    )
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

    @Test("encrypted-idtoken: accepts an ID token that is signed and then encrypted", .shows("encrypted-idtoken"))
    func encrypted() async throws {
        try await ServerFixture.with { fixture in
            let peer = try EncryptedPeer(fixture, .idToken, .rsaOAEP, .a128CBCHS256)
            let tokens = try await peer.signIn(try peer.idTokenVerifier())
            #expect(tokens.idToken?.registered.subject == "ada")
        }
    }

    @Test(
        "encrypted-idtoken-usingrsa15: rejects RSA1_5, and encryption that isn't registered",
        .shows("encrypted-idtoken-usingrsa15")
    )
    func weakEncryption() async throws {
        try await ServerFixture.with { fixture in
            let peer = try EncryptedPeer(fixture, .idToken, .rsaOAEP)
            let header = Base64URLText.encode(Data(#"{"alg":"RSA1_5","enc":"A128GCM","cty":"JWT"}"#.utf8))
            let verifiers = [(try peer.idTokenVerifier(), TokenError.Code.unsupportedAlgorithm)]
            for (verifier, code) in verifiers + [(fixture.idTokenVerifier(clientID: "secured"), .malformedToken)] {
                fixture.server.misbehave(.members(["id_token": .string("\(header).a2V5.aXY.dGV4dA.dGFn")]))
                let error = await failure { try await peer.signIn(verifier) }
                #expect((error?.code, (error?.cause as? TokenError)?.code) == (.protocolViolation, code))
            }
            let registered = ClientMetadata(["id_token_encrypted_response_alg": "RSA1_5"])
            #expect(throws: TokenError(.unsupportedAlgorithm, "")) { try registered.decrypter(for: .idToken) }
        }
    }

    // MARK: Detached signatures of authorization responses

    @Test(
        "Checks the hashes of the code and the state in an authorization response's ID token",
        .shows("invalid-chash", "invalid-missing-shash", "invalid-shash", "missing-chash"),
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

    // MARK: Helpers

    private func verifier(_ fixture: ServerFixture, _ algorithms: Set<JWSAlgorithm> = [.es256]) -> IDTokenVerifier {
        fixture.idTokenVerifier(algorithms)
    }

    /// Signs a user in.
    ///
    /// - Throws: `TokenError`, the cause of the client's error.
    private func signIn(
        _ fixture: ServerFixture,
        _ fault: Fault? = nil,
        verifier: IDTokenVerifier? = nil
    ) async throws -> VerifiedToken {
        let client = fixture.client()
        let request = try client.authorizationRequest(redirectURI: ServerFixture.redirectURI, scope: "openid")
        let redirect = try await fixture.server.visit(request.url(at: client.server), client: fixture.network)
        if let fault { fixture.server.misbehave(.signedToken(fault)) }
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
