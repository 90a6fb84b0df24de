import Foundation
import MockNetworking
import Networking
import OAuth2
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

/// The tests have the names of the OpenID conformance suite's modules that oauth4webapi runs, if
/// one corresponds.
@Suite("IDTokenVerifier", .limitedConcurrency)
struct IDTokenVerifierTests {
    private static let accessToken = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"
    private static let code = "Qcb0Orv1zh30vL1MPRsbm-diHiMwcLyZvn1arpZv-Jxf_11jnpEX3Tgfvk"
    private static let state = "af0ifjsldkj"
    private static let nonce = "n-0S6_WzA2Mj"

    private let key: IssuerKey
    private let issuer: PublishedKeys
    private let verifier: IDTokenVerifier

    init() throws {
        key = try IssuerKey(id: "1")
        issuer = PublishedKeys([key])
        verifier = Self.verifier(issuer, [.es256])
    }

    private static func verifier(_ issuer: PublishedKeys, _ algorithms: Set<JWSAlgorithm>) -> IDTokenVerifier {
        var verifier = IDTokenVerifier(
            issuer: PublishedKeys.issuer,
            clientID: "shop",
            keys: .remote(issuer.keySet()),
            algorithms: algorithms
        )
        verifier.currentDate = issuer.time.timeSource.date
        return verifier
    }

    private var now: Int { Int(issuer.time.date.timeIntervalSince1970) }

    /// Returns the claims of a valid token with changes; `nil` removes a claim.
    private func claims(_ changes: [String: JSONValue?] = [:]) -> JSONObject {
        var claims: JSONObject = [
            "iss": .string(PublishedKeys.issuer), "sub": "ada", "aud": "shop", "nonce": .string(Self.nonce),
            "iat": .number(JSONNumber(now)), "exp": .number(JSONNumber(now + 300)),
        ]
        for (name, value) in changes { claims[name] = value }
        return claims
    }

    private func verify(
        _ changes: [String: JSONValue?],
        nonce: String? = Self.nonce,
        keyID: String?? = nil,
        type: String = "JWT"
    ) async throws -> VerifiedToken {
        try await verifier.verify(try key.token(claims(changes), type: type, keyID: keyID), nonce: nonce)
    }

    /// Returns the code of the error for a token.
    private func flaw(_ token: String, by other: IDTokenVerifier? = nil) async -> TokenError.Code? {
        await OAuth2Tests.flaw { try await (other ?? verifier).verify(token, nonce: Self.nonce) }
    }

    // MARK: Valid tokens

    @Test(
        "Returns the user of a valid token",
        .shows("O14", "OpenID Connect Core §3.1.3.7, A.4, A.6"),
        arguments: [
            ("oidcc-client-test", ["email": "ada@example"], nonce, nil),
            ("valid-aud-as-array", ["aud": ["shop"], "azp": "shop"], nonce, nil),
            ("kid-absent-single-jwks", [:], nonce, .some(nil)), ("nonce-unless-code-flow", ["nonce": nil], nil, nil),
        ] as [(String, [String: JSONValue?], String?, String??)]
    )
    func happyPath(module: String, changes: [String: JSONValue?], nonce: String?, keyID: String??) async throws {
        let token = try await verify(changes, nonce: nonce, keyID: keyID)
        #expect((token.registered.subject, token.registered.audience) == ("ada", ["shop"]), "\(module)")
        #expect(token.claims["email"] == changes["email"] ?? nil, "\(module)")
        #expect(issuer.fetchCount == 1)
    }

    @Test(
        "idtoken-sig-rs256: expects RS256 by default, also from a key without an algorithm"
    )
    func rs256() async throws {
        let rsa = try IssuerKey(.rs256, id: "rsa")
        var jwk = rsa.jwk
        jwk.members["alg"] = nil
        var verifier = IDTokenVerifier(
            issuer: PublishedKeys.issuer,
            clientID: "shop",
            keys: .fixed(JWKSet(keys: [jwk]))
        )
        verifier.currentDate = issuer.time.timeSource.date
        #expect(verifier.algorithms == [.rs256])
        let token = try rsa.token(claims(["nonce": nil]))
        #expect(try await verifier.verify(token, nonce: nil).registered.subject == "ada")
        await #expect(throws: TokenError(.algorithmMismatch, "")) {
            try await verifier.verify(try key.token(claims()), nonce: nil)
        }
    }

    @Test("Verifies HS256 with the client's secret")
    func hs256() async throws {
        let secret = Data("a secret of thirty-two characters".utf8)
        let signing = try SigningKey(secret: secret, algorithm: .hs256)
        let token = try JWTGenerator(payload: claims(), signingService: signing).token()
        var verifier = IDTokenVerifier(
            issuer: PublishedKeys.issuer,
            clientID: "shop",
            keys: .key(try VerificationKey(secret: secret, algorithm: .hs256))
        )
        verifier.currentDate = issuer.time.timeSource.date
        #expect(try await verifier.verify(token, nonce: Self.nonce).registered.subject == "ada")
    }

    // MARK: Signatures

    @Test(
        "Rejects unsigned tokens, headers without an algorithm and unregistered algorithms without loading keys",
        .shows("OpenID Connect Core §3.1.3.7, A.4, A.6", "RFC 8725bis §3.1 (issuers)", "RFC 8725bis §3.1 (names)")
    )
    func unsigned() async throws {
        let other = try IssuerKey(.es384, id: "384")
        issuer.publish([key, other])
        let good = try key.token(claims()).split(separator: ".")
        func header(_ text: String) -> String { Base64URLText.encode(Data(text.utf8)) }
        // idtoken-sig-none, invalid-alternate-alg
        var rejected = [UnsecuredToken(claims: claims()).serialized(), try other.token(claims())]
        for name in ["none", "None", "nOnE"] {
            let token = header(#"{"alg":"\#(name)","kid":"1"}"#) + ".\(good[1])."
            rejected += [token, token + "AAAA"]
        }
        for token in rejected { #expect(await flaw(token) == .algorithmMismatch, "\(token)") }
        // invalid-null-alg
        for text in [#"{"alg":null}"#, "{}", #"{"alg":7}"#] {
            let code = await flaw("\(header(text)).\(good[1]).\(good[2])")
            #expect([.algorithmMismatch, .malformedToken].contains(code), "\(text)")
        }
        #expect(issuer.fetchCount == 0)
    }

    @Test(
        "invalid-signature, invalid-sig-es256, invalid-sig-rs256: rejects another key's signature with the key's ID",
        arguments: [JWSAlgorithm.es256, .rs256]
    )
    func forgedSignature(algorithm: JWSAlgorithm) async throws {
        issuer.publish([try IssuerKey(algorithm, id: "1")])
        let stranger = try IssuerKey(algorithm, id: "1")
        let code = await flaw(try stranger.token(claims()), by: Self.verifier(issuer, [algorithm]))
        #expect(code == .signatureInvalid)
    }

    @Test("invalid-sig-hs256: rejects an HS256 signature made with the public key")
    func publicKeyAsSecret() async throws {
        let secret = Data(key.jwk.members.serialized().utf8)
        let forger = try SigningKey(unsafeShortSecret: Array(secret.prefix(20)), algorithm: .hs256)
        let service = forger.identified(by: "1")
        let token = try JWTGenerator(header: ["kid": "1"], payload: claims(), signingService: service).token()
        for algorithms in [[.es256], [.es256, .hs256]] as [Set<JWSAlgorithm>] {
            #expect(await flaw(token, by: Self.verifier(issuer, algorithms)) == .algorithmMismatch)
        }
    }

    @Test("kid-absent-multiple-jwks: rejects a token without kid if several keys match")
    func ambiguousKey() async throws {
        issuer.publish([key, try IssuerKey(id: "2")])
        #expect(await flaw(try key.token(claims(), keyID: .some(nil))) == .ambiguousKey)
    }

    // MARK: Claims

    @Test(
        "Each invalid or missing claim has its own error",
        .shows("F6", "O14"),
        arguments: [
            ("invalid-iss", ["iss": "https://evil.example"], TokenError.Code.issuerMismatch),
            ("invalid-iss", ["iss": "https://id.example/"], .issuerMismatch),
            ("invalid-missing-iss", ["iss": nil], .missingClaim), ("invalid-aud", ["aud": "other"], .audienceMismatch),
            ("missing-aud", ["aud": nil], .missingClaim), ("invalid-missing-aud", ["aud": []], .malformedClaim),
            ("invalid-secondary-aud", ["aud": ["shop", "other"]], .audienceMismatch),
            ("invalid-azp", ["azp": "other"], .authorizedPartyMismatch), ("missing-sub", ["sub": nil], .missingClaim),
            ("missing-iat", ["iat": nil], .missingClaim), ("invalid-missing-exp", ["exp": nil], .missingClaim),
            ("invalid-expired-exp", ["exp": 999_999_940], .expired),
            ("iat-is-week-in-past", ["iat": 999_395_200], .tooOld),
            ("iat in the future", ["iat": 1_000_000_061], .issuedInFuture),
            ("invalid-nonce", ["nonce": "other"], .nonceMismatch), ("nonce-invalid", ["nonce": 7], .malformedClaim),
            ("invalid-missing-nonce", ["nonce": nil], .missingClaim),
        ] as [(String, [String: JSONValue?], TokenError.Code)]
    )
    func claim(module: String, changes: [String: JSONValue?], code: TokenError.Code) async throws {
        #expect(await OAuth2Tests.flaw { try await verify(changes) } == code, "\(module)")
        // A nonce that wasn't requested is another request's, and access tokens aren't ID tokens.
        #expect(await OAuth2Tests.flaw { try await verify([:], nonce: nil) } == .nonceMismatch)
        #expect(await OAuth2Tests.flaw { try await verify([:], type: "at+jwt") } == .typeMismatch)
    }

    @Test(
        "invalid-athash: compares the hashes of the code, the access token and the state",
        arguments: ["at_hash", "c_hash", "s_hash"]
    )
    func hashes(name: String) async throws {
        // The left halves of SHA-256 in base64url, from OpenID Connect Core's examples and Python's
        // hashlib.
        let hashes = [
            "at_hash": "77QmUPtjPfzWtF2AnpK9RQ", "c_hash": "LDktKdoQak3Pk0cnXxCltA", "s_hash": "bOhtX8F73IMjSPeVAqxyTQ",
        ]
        let good: [String: JSONValue?] = hashes.mapValues { .string($0) }
        func verify(_ claims: JSONObject) async throws -> VerifiedToken {
            try await verifier.verify(
                try key.token(claims),
                nonce: Self.nonce,
                accessToken: Self.accessToken,
                code: Self.code,
                state: Self.state
            )
        }
        #expect(try await verify(claims(good)).claims["c_hash"] == "LDktKdoQak3Pk0cnXxCltA")
        var wrong = good
        wrong[name] = .string("LDktKdoQak3Pk0cnXxCltB")
        await #expect(throws: TokenError(.hashMismatch, "")) { try await verify(claims(wrong)) }
        wrong[name] = JSONValue.number(JSONNumber(7))
        await #expect(throws: TokenError(.malformedClaim, "")) { try await verify(claims(wrong)) }
        wrong[name] = .some(nil)
        if name == "at_hash" {
            // missing-athash: the claim is optional in the code flow.
            #expect(try await verify(claims(wrong)).registered.subject == "ada")
        } else {
            // missing-chash, invalid-missing-shash
            await #expect(throws: TokenError(.missingClaim, "")) { try await verify(claims(wrong)) }
        }
    }

    @Test(
        "max_age, acr_values: requires a recent authentication of an acceptable kind",
        arguments: [
            ("auth_time", nil, TokenError.Code.missingClaim), ("auth_time", "text", .malformedClaim),
            ("auth_time", 999_999_340, nil), ("auth_time", 999_999_339, .tooOld), ("auth_time", 1_000_000_060, nil),
            ("auth_time", 1_000_000_061, .issuedInFuture), ("acr", "urn:mfa", nil), ("acr", "urn:phr", nil),
            ("acr", "urn:pwd", .authenticationContextMismatch), ("acr", nil, .missingClaim),
            ("acr", 2, .malformedClaim),
        ] as [(String, JSONValue?, TokenError.Code?)]
    )
    func authentication(name: String, value: JSONValue?, code: TokenError.Code?) async throws {
        var claims = claims(["auth_time": 1_000_000_000, "acr": "urn:mfa"])
        claims[name] = value
        let token = try key.token(claims)
        let found = await OAuth2Tests.flaw {
            try await verifier.verify(
                token,
                nonce: Self.nonce,
                maximumAuthenticationAge: .seconds(600),
                acrValues: ["urn:mfa", "urn:phr"]
            )
        }
        #expect(found == code)
    }

    @Test("Runs custom checks, requires the caller's claims, and accepts an old token without a maximum age")
    func ownChecks() async throws {
        var checking = verifier
        checking.maximumAge = nil
        checking.checks = [ClaimsCheck("tenant") { $0.claims["tenant"] == "acme" }]
        let old = claims(["iat": 999_395_200, "tenant": "acme"])
        #expect(try await checking.verify(try key.token(old), nonce: Self.nonce).registered.subject == "ada")
        #expect(await flaw(try key.token(claims()), by: checking) == .checkFailed)
        var requiring = verifier
        requiring.requiredClaims = ["at_hash"]
        #expect(await flaw(try key.token(claims()), by: requiring) == .missingClaim)
    }

    @Test("Errors contain nothing from the token")
    func secrecy() async throws {
        let token = try key.token(claims(["nonce": "hidden-nonce", "sub": "hidden-subject"]))
        let error = await #expect(throws: TokenError.self) { try await verifier.verify(token, nonce: "other") }
        #expect(!"\(String(describing: error)) \(String(reflecting: error))".contains("hidden"))
    }
}
