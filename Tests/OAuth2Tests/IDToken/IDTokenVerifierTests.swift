import Foundation
import MockNetworking
import Networking
import OAuth2
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
            keys: issuer.keySet(),
            algorithms: algorithms
        )
        verifier.currentDate = issuer.time.timeSource.date
        return verifier
    }

    private var now: Int { Int(issuer.time.date.timeIntervalSince1970) }

    /// Returns the claims of a valid token with changes; `nil` removes a claim.
    private func claims(_ changes: [String: JSONValue?] = [:]) -> JSONObject {
        var claims: JSONObject = [
            "iss": .string(PublishedKeys.issuer), "sub": "ada", "aud": "shop", "nonce": "n-0S6_WzA2Mj",
            "iat": .number(JSONNumber(now)), "exp": .number(JSONNumber(now + 300)),
        ]
        for (name, value) in changes { claims[name] = value }
        return claims
    }

    private func verify(_ changes: [String: JSONValue?]) async throws -> VerifiedToken {
        try await verifier.verify(try key.token(claims(changes)), nonce: "n-0S6_WzA2Mj")
    }

    // MARK: Valid tokens

    @Test("oidcc-client-test: returns the user of a valid token")
    func happyPath() async throws {
        let token = try await verify(["email": "ada@example"])
        #expect(token.registered.subject == "ada")
        #expect(token.claims["email"] == "ada@example")
        #expect(issuer.fetchCount == 1)
    }

    @Test("valid-aud-as-array: accepts an array with only the client as audience")
    func audienceArray() async throws {
        #expect(try await verify(["aud": ["shop"], "azp": "shop"]).registered.audience == ["shop"])
    }

    @Test("kid-absent-single-jwks: verifies a token without kid with the only key")
    func withoutKeyID() async throws {
        let token = try key.token(claims(), keyID: .some(nil))
        #expect(try await verifier.verify(token, nonce: "n-0S6_WzA2Mj").registered.subject == "ada")
    }

    @Test(
        "idtoken-sig-rs256: expects RS256 by default, also from a key without an algorithm"
    )
    func rs256() async throws {
        let rsa = try IssuerKey(.rs256, id: "rsa")
        var jwk = rsa.jwk
        jwk.members["alg"] = nil
        var verifier = IDTokenVerifier(issuer: PublishedKeys.issuer, clientID: "shop", keys: JWKSet(keys: [jwk]))
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
            key: try VerificationKey(secret: secret, algorithm: .hs256)
        )
        verifier.currentDate = issuer.time.timeSource.date
        #expect(try await verifier.verify(token, nonce: "n-0S6_WzA2Mj").registered.subject == "ada")
    }

    @Test("nonce-unless-code-flow: accepts a token without nonce if the request had none")
    func withoutNonce() async throws {
        let token = try key.token(claims(["nonce": nil]))
        #expect(try await verifier.verify(token, nonce: nil).registered.subject == "ada")
    }

    // MARK: Signatures

    @Test(
        "idtoken-sig-none: rejects an unsigned token without loading keys",
        arguments: ["none", "None", "nOnE"]
    )
    func unsigned(name: String) async throws {
        let plain = UnsecuredToken(claims: claims()).serialized()
        let header = Base64URLText.encode(Data(#"{"alg":"\#(name)","kid":"1"}"#.utf8))
        let token = header + "." + plain.split(separator: ".")[1] + "."
        for token in [token, plain, token + "AAAA"] {
            await #expect(throws: TokenError(.algorithmMismatch, "")) {
                try await verifier.verify(token, nonce: "n-0S6_WzA2Mj")
            }
        }
        #expect(issuer.fetchCount == 0)
    }

    @Test(
        "invalid-null-alg: rejects a header without a valid alg",
        arguments: [#"{"alg":null}"#, "{}", #"{"alg":7}"#]
    )
    func noAlgorithm(header: String) async throws {
        let good = try key.token(claims()).split(separator: ".")
        let token = "\(Base64URLText.encode(Data(header.utf8))).\(good[1]).\(good[2])"
        let error = await #expect(throws: TokenError.self) { try await verifier.verify(token, nonce: "n-0S6_WzA2Mj") }
        #expect([.algorithmMismatch, .malformedToken].contains(error?.code))
        #expect(issuer.fetchCount == 0)
    }

    @Test(
        "invalid-alternate-alg: rejects an unregistered algorithm, even with the issuer's key"
    )
    func alternateAlgorithm() async throws {
        let other = try IssuerKey(.es384, id: "384")
        issuer.publish([key, other])
        await #expect(throws: TokenError(.algorithmMismatch, "")) {
            try await verifier.verify(try other.token(claims()), nonce: "n-0S6_WzA2Mj")
        }
        #expect(issuer.fetchCount == 0)
    }

    @Test("invalid-signature, invalid-sig-es256: rejects another key's signature with the issuer's key ID")
    func forgedSignature() async throws {
        let stranger = try IssuerKey(id: "1")
        await #expect(throws: TokenError(.signatureInvalid, "")) {
            try await verifier.verify(try stranger.token(claims()), nonce: "n-0S6_WzA2Mj")
        }
    }

    @Test("invalid-sig-rs256: rejects a forged RS256 signature")
    func forgedRS256() async throws {
        let rsa = try IssuerKey(.rs256, id: "1")
        issuer.publish([rsa])
        let verifier = Self.verifier(issuer, [.rs256])
        let stranger = try IssuerKey(.rs256, id: "1")
        await #expect(throws: TokenError(.signatureInvalid, "")) {
            try await verifier.verify(try stranger.token(claims()), nonce: "n-0S6_WzA2Mj")
        }
    }

    @Test("invalid-sig-hs256: rejects an HS256 signature made with the public key")
    func publicKeyAsSecret() async throws {
        let secret = Data(key.jwk.members.serialized().utf8)
        let forger = try SigningKey(unsafeShortSecret: Array(secret.prefix(20)), algorithm: .hs256)
        let token = try JWTGenerator(
            header: ["kid": "1"],
            payload: claims(),
            signingService: RenamedSigner(forger, "1")
        )
        .token()
        await #expect(throws: TokenError(.algorithmMismatch, "")) {
            try await verifier.verify(token, nonce: "n-0S6_WzA2Mj")
        }
        let lenient = Self.verifier(issuer, [.es256, .hs256])
        await #expect(throws: TokenError(.algorithmMismatch, "")) {
            try await lenient.verify(token, nonce: "n-0S6_WzA2Mj")
        }
    }

    @Test("kid-absent-multiple-jwks: rejects a token without kid if several keys match")
    func ambiguousKey() async throws {
        issuer.publish([key, try IssuerKey(id: "2")])
        await #expect(throws: TokenError(.ambiguousKey, "")) {
            try await verifier.verify(try key.token(claims(), keyID: .some(nil)), nonce: "n-0S6_WzA2Mj")
        }
    }

    // MARK: Claims

    @Test(
        "Each invalid or missing claim has its own error",
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
        let error = await #expect(throws: TokenError.self, "\(module)") { try await verify(changes) }
        #expect(error?.code == code, "\(module)")
    }

    @Test("Rejects an unrequested nonce, because the token belongs to another request")
    func unexpectedNonce() async throws {
        await #expect(throws: TokenError(.nonceMismatch, "")) {
            try await verifier.verify(try key.token(claims()), nonce: nil)
        }
    }

    @Test("Rejects an access token of the same issuer")
    func accessToken() async throws {
        await #expect(throws: TokenError(.typeMismatch, "")) {
            try await verifier.verify(try key.token(claims(), type: "at+jwt"), nonce: "n-0S6_WzA2Mj")
        }
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
                nonce: "n-0S6_WzA2Mj",
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

    @Test("Requires at_hash if the caller does")
    func requiredHash() async throws {
        var verifier = verifier
        verifier.requiredClaims = ["at_hash"]
        await #expect(throws: TokenError(.missingClaim, "")) {
            try await verifier.verify(try key.token(claims()), nonce: "n-0S6_WzA2Mj", accessToken: Self.accessToken)
        }
    }

    @Test(
        "max_age: requires a recent auth_time",
        arguments: [
            (nil, TokenError.Code.missingClaim), ("text", .malformedClaim), (999_999_340, nil), (999_999_339, .tooOld),
            (1_000_000_060, nil), (1_000_000_061, .issuedInFuture),
        ] as [(JSONValue?, TokenError.Code?)]
    )
    func authenticationAge(time: JSONValue?, code: TokenError.Code?) async throws {
        let token = try key.token(claims(["auth_time": time]))
        let verification = {
            try await verifier.verify(token, nonce: "n-0S6_WzA2Mj", maximumAuthenticationAge: .seconds(600))
        }
        guard let code else {
            _ = try await verification()
            return
        }
        let error = await #expect(throws: TokenError.self) { try await verification() }
        #expect(error?.code == code)
    }

    @Test(
        "Requires one of the acceptable acr values",
        arguments: [
            ("urn:mfa", nil), ("urn:phr", nil), ("urn:pwd", .authenticationContextMismatch), (nil, .missingClaim),
            (2, .malformedClaim),
        ] as [(JSONValue?, TokenError.Code?)]
    )
    func authenticationContext(acr: JSONValue?, code: TokenError.Code?) async throws {
        let token = try key.token(claims(["acr": acr]))
        let verification = {
            try await verifier.verify(token, nonce: "n-0S6_WzA2Mj", acrValues: ["urn:mfa", "urn:phr"])
        }
        guard let code else {
            _ = try await verification()
            return
        }
        let error = await #expect(throws: TokenError.self) { try await verification() }
        #expect(error?.code == code)
    }

    @Test("Runs custom checks, and accepts an old token without a maximum age")
    func ownChecks() async throws {
        var verifier = verifier
        verifier.maximumAge = nil
        verifier.checks = [ClaimsCheck("tenant") { $0.claims["tenant"] == "acme" }]
        let old = claims(["iat": 999_395_200, "tenant": "acme"])
        #expect(try await verifier.verify(try key.token(old), nonce: "n-0S6_WzA2Mj").registered.subject == "ada")
        await #expect(throws: TokenError(.checkFailed, "")) {
            try await verifier.verify(try key.token(claims()), nonce: "n-0S6_WzA2Mj")
        }
    }

    @Test("Errors contain nothing from the token")
    func secrecy() async throws {
        let token = try key.token(claims(["nonce": "hidden-nonce", "sub": "hidden-subject"]))
        let error = await #expect(throws: TokenError.self) { try await verifier.verify(token, nonce: "other") }
        #expect(!"\(String(describing: error)) \(String(reflecting: error))".contains("hidden"))
    }
}

/// A signing service that uses another service with a different key ID.
private struct RenamedSigner: SigningService {
    let service: SigningKey
    let keyID: String?

    init(_ service: SigningKey, _ keyID: String) {
        self.service = service
        self.keyID = keyID
    }

    var algorithm: JWSAlgorithm { service.algorithm }

    func sign(data: Data) throws -> Data { try service.sign(data: data) }
}
