import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

/// Encrypted messages between a client and a server, on real sockets.
@Suite("Encrypted messages", .limitedConcurrency)
struct EncryptedMessageTests {
    typealias Fault = MockAuthorizationServer.EncryptionFault

    /// The faults, with the code of the cause.
    private static var faults: [(Fault, TokenError.Code)] {
        [
            (.unencrypted, .algorithmMismatch), (.wrongKey, .decryptionFailed), (.wrongAlgorithm, .algorithmMismatch),
            (.wrongEncryption, .algorithmMismatch), (.unsigned, .typeMismatch), (.wrongContentType, .typeMismatch),
            (.nestedTwice, .malformedToken), (.altered, .decryptionFailed),
        ]
    }

    // MARK: ID tokens

    @Test(
        "Accepts encrypted ID tokens of every kind of key",
        .shows("O26", "OpenID Connect Core §2, §10.2; Registration §2"),
        arguments: [
            (JWEAlgorithm.rsaOAEP, JWEEncryption.a128CBCHS256), (.rsaOAEP256, .a256GCM), (.ecdhES, .a128GCM),
            (.ecdhESA256KW, .a256CBCHS512), (.dir, .a128CBCHS256), (.a192KW, .a256GCM), (.a256GCMKW, .a192CBCHS384),
        ]
    )
    func idTokens(algorithm: JWEAlgorithm, encryption: JWEEncryption) async throws {
        try await ServerFixture.with { fixture in
            let peer = try EncryptedPeer(fixture, .idToken, algorithm, encryption)
            let verifier = try peer.idTokenVerifier()
            let tokens = try await peer.signIn(verifier)
            #expect(tokens.idToken?.registered.subject == "ada")
            let text = try #require(tokens.unverifiedIDToken).expose { $0 }
            let header = try UnverifiedJWE(compact: text).unverifiedProtectedHeader
            #expect(header["alg"]?.string == algorithm.rawValue && header["enc"]?.string == encryption.rawValue)
            #expect(header["cty"] == "JWT")
            // The signed token inside isn't accepted without its encryption.
            let inner = try String(
                decoding: #require(verifier.decrypter).decrypt(compact: text).plaintext,
                as: UTF8.self
            )
            await #expect(throws: TokenError(.algorithmMismatch, "")) { try await verifier.verify(inner, nonce: nil) }
        }
    }

    @Test(
        "Each fault of the encryption of an ID token has its own error",
        .shows("E20", "E21", "OpenID Connect Core §2, §10.2; Registration §2"),
        arguments: [JWEAlgorithm.ecdhESA128KW, .rsaOAEP256, .dir]
    )
    func badIDTokens(algorithm: JWEAlgorithm) async throws {
        try await ServerFixture.with { fixture in
            let peer = try EncryptedPeer(fixture, .idToken, algorithm)
            try await check(Self.faults + [(.oversized, .tooLarge)], at: .token, of: fixture) {
                try await peer.signIn(try peer.idTokenVerifier())
            }
        }
    }

    /// Checks the error of a call for each fault of an encryption.
    private func check<Result>(
        _ faults: [(Fault, TokenError.Code)],
        at endpoint: MockAuthorizationServer.Endpoint,
        of fixture: ServerFixture,
        _ call: () async throws -> Result
    ) async throws {
        for (fault, code) in faults {
            fixture.server.misbehave(at: endpoint, .encryption(fault))
            let error = await failure(call)
            #expect(error?.code == .protocolViolation, "\(fault)")
            #expect((error?.cause as? TokenError)?.code == code, "\(fault)")
        }
    }

    @Test("Verifies the signature and the claims inside the encryption")
    func innerFaults() async throws {
        try await ServerFixture.with { fixture in
            let peer = try EncryptedPeer(fixture, .idToken, .ecdhES)
            let faults: [(MockAuthorizationServer.IDTokenFault, TokenError.Code)] = [
                (.unsigned, .algorithmMismatch), (.mixedUpKeys, .signatureInvalid), (.unknownKey, .unknownKey),
                (.wrongNonce, .nonceMismatch), (.wrongIssuer, .issuerMismatch), (.wrongAudience, .audienceMismatch),
            ]
            for (fault, code) in faults {
                fixture.server.misbehave(.signedToken(fault))
                #expect(await flaw { try await peer.signIn(try peer.idTokenVerifier()) } == code)
            }
        }
    }

    @Test("Rejects an encrypted ID token if no encryption is registered, and names the reason", .shows("E20"))
    func unexpected() async throws {
        try await ServerFixture.with { fixture in
            let client = fixture.client()
            fixture.server.misbehave(.encryption(.unexpected))
            let grant = try await fixture.code(client, scope: "openid")
            let error = await #expect(throws: OAuth2Error.self) {
                try await client.tokens(for: grant, idToken: fixture.idToken(client))
            }
            let cause = try #require(error?.cause as? TokenError)
            #expect(cause.code == .malformedToken && cause.message.contains("the ID token is encrypted"))
        }
    }

    // MARK: Authorization responses and requests

    @Test(
        "Accepts encrypted authorization responses, and each fault has its own error",
        .shows("E21", "O26", "JARM §2")
    )
    func authorizationResponses() async throws {
        try await ServerFixture.with { fixture in
            let peer = try EncryptedPeer(fixture, .authorizationResponse, .rsaOAEP256, .a256GCM)
            var verifier = SignedResponseVerifier(keys: .fixed(fixture.server.keys), algorithms: [.es256])
            verifier.decrypter = try peer.decrypter()
            _ = try await peer.client.tokens(for: try await peer.signedGrant(verifier))
            let decrypting = verifier
            try await check(Self.faults, at: .authorization, of: fixture) { try await peer.signedGrant(decrypting) }
            verifier.decrypter = nil
            let plain = verifier
            #expect(await flaw { try await peer.signedGrant(plain) } == .malformedToken)
        }
    }

    @Test("The server decrypts authorization requests for its published key", .shows("RFC 9101"))
    func requests() async throws {
        let serverKey = try DecryptionKey.generate(.rsaOAEP256).identified(by: "enc-1")
        try await ServerFixture.with({ $0.decryptionKeys = [serverKey] }) { fixture in
            let client = fixture.client(try fixture.keyed())
            let request = try client.authorizationRequest(redirectURI: ServerFixture.redirectURI, scope: "read")
            let signed = try await SignedAuthorizationRequest(
                request,
                for: client.server,
                signingService: try ES256SigningService(key: fixture.key)
            )
            let keys = RemoteKeySet(url: try #require(await client.server.keySetURL), client: fixture.network)
            let key = try await keys.encryptionKey(for: .rsaOAEP256)
            #expect(key.keyID == "enc-1")
            let encrypted = try signed.encrypted(for: key)
            let text = try #require(encrypted.parameters.last?.value)
            let header = try UnverifiedJWE(compact: text).unverifiedProtectedHeader
            #expect(header["enc"] == "A128CBC-HS256" && header["cty"] == "JWT" && header["kid"] == "enc-1")
            #expect(!"\(encrypted)".contains(text))
            let redirect = try await fixture.server.visit(encrypted.url(at: client.server), client: fixture.network)
            _ = try await client.tokens(for: try await request.grant(from: redirect, of: client.server))
            let pushed = try await client.push(parameters: encrypted.parameters)
            #expect(fixture.server.pushedAuthorizationRequest(pushed.requestURI)?["state"] == request.state)
            let foreign = try signed.encrypted(for: DecryptionKey.generate(.rsaOAEP256).encryptionKey)
            let error = await #expect(throws: OAuth2Error.self) {
                try await client.push(parameters: foreign.parameters)
            }
            #expect(error?.serverCode == "invalid_request_object")
            let twice = #expect(throws: OAuth2Error.self) { try encrypted.encrypted(for: key) }
            #expect(twice?.code == .assertionFailed && (twice?.cause as? TokenError)?.code == .unencodableContent)
            await #expect(throws: TokenError(.unknownKey, "")) { try await keys.encryptionKey(for: .ecdhES) }
        }
    }

    @Test(
        "The server decrypts authorization requests with the key derived from the client's secret",
        .shows("RFC 9101")
    )
    func secretRequests() async throws {
        try await ServerFixture.with { fixture in
            var registered = MockAuthorizationServer.Client(
                id: "web",
                authentication: .clientSecretBasic(ServerFixture.secret),
                redirectURIs: [ServerFixture.redirectURI]
            )
            registered.metadata.keys = [fixture.key.verificationKey]
            registered.metadata.secure(.requestObject, signedWith: .es256, encryptedWith: .dir, .a256GCM)
            fixture.server.register(registered)
            let secret = Secret(ServerFixture.secret)
            let client = fixture.client(.clientSecretBasic(clientID: "web", secret: secret))
            let request = try client.authorizationRequest(redirectURI: ServerFixture.redirectURI)
            let signed = try await SignedAuthorizationRequest(
                request,
                for: client.server,
                signingService: try ES256SigningService(key: fixture.key)
            )
            let key = try EncryptionKey(clientSecret: secret, algorithm: .dir, encryption: .a256GCM)
            let pushed = try await client.push(parameters: signed.encrypted(for: key).parameters)
            #expect(fixture.server.pushedAuthorizationRequest(pushed.requestURI)?["state"] == request.state)
            let other = try EncryptionKey(clientSecret: secret, algorithm: .dir, encryption: .a128GCM)
            let error = await #expect(throws: OAuth2Error.self) {
                try await client.push(parameters: signed.encrypted(for: other).parameters)
            }
            #expect(error?.serverCode == "invalid_request_object")
        }
    }

    @Test("Finds the server's new encryption key after the cooldown")
    func serverKeys() async throws {
        let key = try DecryptionKey.generate(.ecdhES).identified(by: "new").encryptionKey
        let issuer = PublishedKeys([try IssuerKey(id: "1")])
        let keys = issuer.keySet()
        await #expect(throws: TokenError(.unknownKey, "")) { try await keys.encryptionKey(for: .ecdhES) }
        issuer.publish(text: JWKSet(keys: [key.jwk]).serialized())
        issuer.time.advance(by: .seconds(31))
        #expect(try await keys.encryptionKey(for: .ecdhES, keyID: "new").keyID == "new")
        #expect(issuer.fetchCount == 2)
    }

    // MARK: UserInfo

    @Test("Accepts UserInfo that is signed and encrypted, or only encrypted", .shows("O26"), arguments: [true, false])
    func userInfo(isSigned: Bool) async throws {
        try await ServerFixture.with { fixture in
            fixture.server.setUsers { users in
                users.claims["ada"] = ["name": "Ada"]
                users.areSigned = isSigned
            }
            let peer = try EncryptedPeer(fixture, .userInfo, .ecdhESA256KW, .a256GCM)
            let decrypter = try #require(try peer.decrypter())
            let published = IssuerKeys.fixed(fixture.server.keys)
            let keys = isSigned ? published : nil
            let authorized = try await peer.authorized()
            func info(_ keys: IssuerKeys?, _ decrypter: JWEDecrypter?) async throws -> UserInfo {
                try await peer.client.userInfo(
                    subject: "ada",
                    authorized: authorized,
                    keys: keys,
                    decrypter: decrypter
                )
            }
            #expect(try await info(keys, decrypter)["name"] == "Ada")
            // The other kind of protection, or only a part of it, is rejected.
            for other in [(isSigned ? nil : published, decrypter), (keys, nil)] {
                let error = await failure { try await info(other.0, other.1) }
                #expect(error?.code == .protocolViolation)
            }
            fixture.server.setUsers { $0.substitute = "eve" }
            #expect(await failureCode { try await info(keys, decrypter) } == .subjectMismatch)
        }
    }

    @Test("Each fault of the encryption of UserInfo has its own error", .shows("E20"))
    func badUserInfo() async throws {
        try await ServerFixture.with { fixture in
            fixture.server.setUsers { $0.areSigned = true }
            let peer = try EncryptedPeer(fixture, .userInfo, .a256KW)
            let decrypter = try peer.decrypter()
            let authorized = try await peer.authorized()
            try await check(Self.faults + [(.oversized, .tooLarge)], at: .userInfo, of: fixture) {
                try await peer.client.userInfo(
                    subject: "ada",
                    authorized: authorized,
                    keys: .fixed(fixture.server.keys),
                    decrypter: decrypter
                )
            }
            // A response without any protection.
            fixture.server.misbehave(at: .userInfo, .response(.json(#"{"sub":"ada"}"#)))
            let code = await failureCode {
                try await peer.client.userInfo(subject: "ada", authorized: authorized, decrypter: decrypter)
            }
            #expect(code == .protocolViolation)
        }
    }

    // MARK: Introspection

    @Test(
        "Accepts introspection responses that are signed and encrypted, and each fault has its own error",
        .shows("E21", "O26", "RFC 9701 §4 to §8")
    )
    func introspection() async throws {
        try await ServerFixture.with { fixture in
            let peer = try EncryptedPeer(fixture, .introspectionResponse, .dir, .a256CBCHS512)
            var verifier = SignedResponseVerifier(keys: .fixed(fixture.server.keys), algorithms: [.es256])
            verifier.decrypter = try peer.decrypter()
            let token = Secret(try fixture.server.issueAccessToken(clientID: "api", subject: "ada"))
            #expect(try await peer.client.introspect(token, verifiedBy: verifier).subject == "ada")
            #expect(try await !peer.client.introspect(Secret("unknown"), verifiedBy: verifier).isActive)
            let decrypting = verifier
            try await check(Self.faults + [(.oversized, .tooLarge)], at: .introspection, of: fixture) {
                try await peer.client.introspect(token, verifiedBy: decrypting)
            }
        }
    }

    // MARK: Registration

    @Test("A dynamically registered client gets encrypted ID tokens, for its key or its secret")
    func registration() async throws {
        try await ServerFixture.with { fixture in
            let registrar = ClientRegistrar(server: fixture.server.metadata, client: fixture.network)
            let key = try DecryptionKey.generate(.ecdhESA256KW, on: .x25519)
            for algorithm in [JWEAlgorithm.ecdhESA256KW, .a128KW] {
                var metadata = ClientMetadata()
                metadata.redirectURIs = [ServerFixture.redirectURI]
                metadata.secure(.idToken, signedWith: .es256, encryptedWith: algorithm)
                metadata.encryptionKeys = [key.encryptionKey]
                let registered = try await registrar.register(metadata)
                let secret = try #require(registered.clientSecret)
                let client = fixture.client(.clientSecretBasic(clientID: registered.clientID, secret: secret))
                var verifier = fixture.idTokenVerifier(clientID: registered.clientID)
                verifier.decrypter = try registered.metadata.decrypter(
                    for: .idToken,
                    keys: [key],
                    clientSecret: secret
                )
                let grant = try await fixture.code(client, scope: "openid")
                let tokens = try await client.tokens(for: grant, idToken: .verified(by: verifier))
                #expect(tokens.idToken?.registered.subject == "ada")
            }
            let incomplete = ClientMetadata(["userinfo_encrypted_response_enc": "A256GCM"])
            let error = await #expect(throws: OAuth2Error.self) { try await registrar.register(incomplete) }
            #expect(error?.serverCode == "invalid_client_metadata")
        }
    }

    // MARK: ID tokens that another implementation made

    /// Tokens of joserfc 1.6.5, signed with HS256 and encrypted with a key derived from the same
    /// secret.
    private static var tokens: [(algorithm: String, encryption: String, token: String)] {
        [
            (
                "dir", "A128CBC-HS256",
                """
                eyJhbGciOiJkaXIiLCJlbmMiOiJBMTI4Q0JDLUhTMjU2IiwiY3R5IjoiSldUIn0..UD51WZoVdI61gcFSbFZrRA.vLPc7vrZ\
                jfmTXyWermNG25W1W4ok_ZfZsGC5UQNc9XL0GwP28OYyOKAa-Q052i5QTFy0CAPki0JwPDN4YNdWYPnGLXsUJ40BCYE9Igiy\
                RoCoN0hrcgZT_5fhb8l9_hHWM6dsymSFcFRSr2tkV7a6k52crdkujQmEAaI1edtDaZ5XbSAHu4tbIqti9Vo5JdXUQzfrAaC7\
                VPdIM-TH_EyUmILxkD6lwlwZZedp6haI-ANDMo87EcYtNaXkgl5UL--Jt5CQb5EoWTXEue8a-O7LYh_g2nLmHF5GqmlN6BjJ\
                1mc.Vgjx1q71oJaEIxuV7Kx7mw
                """
            ),
            (
                "A128KW", "A256GCM",
                """
                eyJhbGciOiJBMTI4S1ciLCJlbmMiOiJBMjU2R0NNIiwiY3R5IjoiSldUIn0.YJHTpr4DMRqVSEicXgf2NpkmfCqJ80tQAUZs\
                IiUT_rsAVQms8Ot5uQ.lZXoVPnMWWgkUn3V.s5rDYnJuKdR0p_YBtcoyfQt56sTb849lRPm37t0kmDQhrwZDpI53amGYVCWS\
                dzCxYGCEltZrCzDOs6VhZ-XRsn0uhrUieMWELEEnKNpdEoStxScdQi0gjNvHlcKXVDkaBOyQbeULAwdTK1z7dGp5_qQ8h0ht\
                byxmV4PZ3TbfuLSapm0q6clHJQfLNAgZUMa0ZXY3-xsrorRdOlRd9Z5gAsUeJuSO7V7rDbmXGJx67xSPog8ffdH_AEEWQItO\
                -rW5abywHkorvWBWBFPuj6SOV1l7lSgf.b8toPPdMtW1sOlx3XfuM2A
                """
            ),
            (
                "dir", "A256CBC-HS512",
                """
                eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2Q0JDLUhTNTEyIiwiY3R5IjoiSldUIn0..y6apHL0O6LPVLpCHAVEEkg.zlkaB9X6\
                3pqDtQvyjNAulAUhizQ2ODi5gsnfoV-gEInn-91HVOSpJAZHICFsWuoM3K1wKQTpBfIvG7lzmFqWLoH-BKBWElACeRQ831yK\
                3pVuP323wtCs5fkoi2gnRqe8FPNFhrZ9O8vBQCCoF3z-fLh9D_yeMwZYataGYq5bn3c0ppJVW58xT0FCYHYZQEjIyipYbmVk\
                k6Eg39o6ed_r0v1CMrACOfvEBWRgcVr25kFnlb7Tjwo9OoW704hE3bWQTGze2cgV1Eh3V3HlagymZ3Hj7ayoygoz3-mvj4iz\
                Xdw.jxSovLuN735TJ5Pe1-xw4dIusZnvCIwB24y9EjNVpaY
                """
            ),
        ]
    }

    @Test(
        "Reads an ID token for a key derived from the client's secret",
        .shows("OpenID Connect Core §2, §10.2; Registration §2"),
        arguments: tokens
    )
    func secretKeys(algorithm: String, encryption: String, token: String) async throws {
        let secret = Secret("a client secret that has more than thirty-two bytes: é")
        let metadata = ClientMetadata([
            "id_token_encrypted_response_alg": .string(algorithm),
            "id_token_encrypted_response_enc": .string(encryption),
        ])
        let key = try secret.expose { try VerificationKey(secret: $0.utf8, algorithm: .hs256) }
        var verifier = IDTokenVerifier(issuer: "https://id.example", clientID: "shop", keys: .key(key))
        verifier.currentDate = { Date(timeIntervalSince1970: 1_000_000_010) }
        verifier.decrypter = try metadata.decrypter(for: .idToken, clientSecret: secret)
        #expect(try await verifier.verify(token, nonce: "n").registered.subject == "ada")
        let other = Secret("another secret that has more than thirty-two bytes")
        verifier.decrypter = try metadata.decrypter(for: .idToken, clientSecret: other)
        let stranger = verifier
        await #expect(throws: TokenError(.decryptionFailed, "")) { try await stranger.verify(token, nonce: "n") }
    }
}
