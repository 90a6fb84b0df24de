import Foundation
import MockNetworking
import Networking
import OAuth2
import ResourceServer
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

@Suite("AccessTokenVerifier", .limitedConcurrency)
struct AccessTokenVerifierTests {
    private var api: GuardedAPI

    init() throws {
        api = try GuardedAPI()
    }

    @Test("Accepts a valid token and returns its claims", .shows("O14", "RFC 6750 §2.1, §3", "FAPI 2.0 §5.3.4 (1)"))
    func good() async throws {
        let token = try await api.verify(bearer: try api.token(["email": "ada@example"]))
        #expect((token.subject, token.clientID, token.issuer) == ("ada", "shop", PublishedKeys.issuer))
        #expect(token.audience == [GuardedAPI.audience])
        #expect(token.scope == ["orders.read", "orders.write"])
        #expect(token.expiration == api.issuer.time.date.addingTimeInterval(300))
        #expect((token.binding, token.claims["email"]) == (.none, "ada@example"))
        #expect(token.responseHeaders.isEmpty)
        #expect(api.issuer.fetchCount == 1)
    }

    @Test("Compares the scheme without regard to case", arguments: ["bearer", "BEARER", "Bearer  "])
    func scheme(name: String) async throws {
        let token = try api.token()
        #expect(try await api.verifier.verify(api.request(["authorization": "\(name) \(token)"])).subject == "ada")
    }

    // MARK: No token

    @Test(
        "Challenges a request without a token, without an error",
        arguments: [[:], ["Authorization": "Basic YTpi"], ["Authorization": "Token abc"], ["Authorization": ""]]
            as [HTTPHeaders]
    )
    func noToken(headers: HTTPHeaders) async throws {
        var verifier = api.verifier
        verifier.resourceMetadata = URL(string: "https://api.example/.well-known/oauth-protected-resource")
        verifier.dpop?.algorithms = [.es256]
        let refusal = await #expect(throws: AccessRefusal(.noToken, "")) {
            try await verifier.verify(api.request(headers), requires: AccessRequirement(scope: ["orders.read"]))
        }
        let metadata = #"resource_metadata="https://api.example/.well-known/oauth-protected-resource""#
        #expect(refusal?.status == 401)
        #expect(
            refusal?.challenge
                == #"Bearer realm="orders", \#(metadata), scope="orders.read", DPoP realm="orders", algs="ES256", \#(metadata), scope="orders.read""#
        )
        #expect(refusal?.headers["Cache-Control"] == "no-store")
        #expect(api.issuer.fetchCount == 0)
    }

    @Test("Without a DPoP verifier, no challenge has the scheme DPoP", arguments: [false, true])
    func bearerOnly(requiresBoundTokens: Bool) async throws {
        var verifier = api.verifier
        verifier.dpop = nil
        verifier.requiresBoundTokens = requiresBoundTokens
        let keyBound = try api.token(["cnf": ["jkt": "a"]])
        let requests: [(HTTPHeaders, AccessRefusal.Code)] = [
            ([:], .noToken), (["Authorization": "DPoP \(keyBound)", "DPoP": "a"], .noToken),
            (["Authorization": "Bearer a b"], .malformedRequest), (["Authorization": "Bearer a"], .invalidToken),
            (["Authorization": "Bearer \(keyBound)"], .invalidToken),
            (
                ["Authorization": "Bearer \(try api.token(["scope": "a"]))"],
                requiresBoundTokens ? .invalidToken : .insufficientScope
            ),
        ]
        for (headers, code) in requests {
            let refusal = await #expect(throws: AccessRefusal(code, "")) {
                try await verifier.verify(api.request(headers), requires: AccessRequirement(scope: ["orders.read"]))
            }
            #expect(refusal?.written.map(\.scheme) == ["Bearer"])
            #expect(refusal?.challenge?.contains("algs") == false)
        }
    }

    @Test("Checks a route's requirement of a verified token")
    func laterRequirement() async throws {
        let token = try await api.verify(bearer: try api.token())
        try api.verifier.check(token, requires: AccessRequirement(scope: ["orders.read"]))
        let refusal = #expect(throws: AccessRefusal(.insufficientScope, "")) {
            try api.verifier.check(token, requires: AccessRequirement(scope: ["orders.delete"]))
        }
        #expect((refusal?.status, refusal?.written.map(\.scheme)) == (403, ["Bearer"]))
        #expect(refusal?.written.first?.parameters["scope"] == "orders.delete")
        #expect(throws: AccessRefusal(.insufficientAuthentication, "")) {
            try api.verifier.check(token, requires: AccessRequirement(acrValues: ["gold"]))
        }
    }

    @Test("Ignores a token in the URL or in a field other than Authorization", .shows("FAPI 2.0 §5.3.4 (2)"))
    func elsewhere() async throws {
        let token = try api.token()
        var request = api.request(["X-Access-Token": token, "Cookie": "access_token=\(token)"])
        request.url += "&access_token=\(token)"
        await #expect(throws: AccessRefusal(.noToken, "")) { try await api.verifier.verify(request) }
        #expect(api.issuer.fetchCount == 0)
    }

    @Test(
        "A violation of the scheme's rules is a malformed request",
        .shows("RFC 6750 §2.1, §3"),
        arguments: [
            ["Authorization": "Bearer"], ["Authorization": "Bearer "], ["Authorization": "Bearer a b"],
            ["Authorization": "Bearer a,b"], ["Authorization": "Bearer \"a\""], ["Authorization": "Bearer é"],
            ["Authorization": "Bearer a", "authorization": "Bearer a"],
            ["Authorization": "Bearer a", "Authorization": "DPoP a"],
        ] as [HTTPHeaders]
    )
    func malformed(headers: HTTPHeaders) async throws {
        let refusal = await #expect(throws: AccessRefusal(.malformedRequest, "")) {
            try await api.verifier.verify(api.request(headers))
        }
        #expect(refusal?.status == 400)
        let challenges = AuthenticationChallenge.parse(try #require(refusal?.challenge))
        #expect(challenges.map(\.scheme) == ["Bearer", "DPoP"])
        #expect(challenges.allSatisfy { $0.parameters["error"] == "invalid_request" })
        #expect(api.issuer.fetchCount == 0)
    }

    // MARK: Invalid tokens

    @Test(
        "Reports each flaw of a token as the cause, and tells the client to get another token",
        .shows("FAPI 2.0 §5.3.4 (3)"),
        arguments: [
            (["iss": "https://evil.example"], TokenError.Code.issuerMismatch, "The access token is not valid"),
            (["aud": "https://other.example"], .audienceMismatch, "The access token is not for this resource"),
            (["aud": nil], .missingClaim, "The access token is not valid"),
            (["exp": 999_999_940], .expired, "The access token has expired"),
            (["exp": nil], .missingClaim, "The access token is not valid"),
            (["nbf": 1_000_000_061], .notYetValid, "The access token is not valid yet"),
            (["iat": 1_000_000_061], .issuedInFuture, "The access token is not valid yet"),
            (["sub": nil], .missingClaim, "The access token is not valid"),
            (["client_id": nil], .missingClaim, "The access token is not valid"),
            (["jti": nil], .missingClaim, "The access token is not valid"),
            (["scope": 7], .malformedClaim, "The access token is not valid"),
            (["scope": ["a", 7]], .malformedClaim, "The access token is not valid"),
        ] as [([String: JSONValue?], TokenError.Code, String)]
    )
    func claims(changes: [String: JSONValue?], code: TokenError.Code, description: String) async throws {
        let token = try api.token(changes)
        let refusal = await #expect(throws: AccessRefusal(.invalidToken, "")) { try await api.verify(bearer: token) }
        #expect(await api.verifier.flaw(of: token) == code)
        let challenges = AuthenticationChallenge.parse(try #require(refusal?.challenge))
        #expect(challenges.first?.parameters["error"] == "invalid_token")
        #expect(challenges.first?.parameters["error_description"] == description)
        #expect(challenges.last?.parameters["error"] == nil)
    }

    @Test(
        "Rejects another key's signature, another kind of token, an unsigned token and a malformed token",
        .shows("F9", "FAPI 2.0 §5.3.4 (3)")
    )
    func signatures() async throws {
        let cases: [(String, TokenError.Code?)] = [
            (try api.token(key: IssuerKey(id: "1")), .signatureInvalid),
            (try api.token(key: IssuerKey(id: "2")), .unknownKey), (try api.token(type: "JWT"), .typeMismatch),
            (try api.token(type: "dpop+jwt"), .typeMismatch), (try api.token(type: "secevent+jwt"), .typeMismatch),
            ("a.b.c", .malformedToken), ("opaque", .malformedToken),
            (String(repeating: "a", count: 70_000), .tooLarge),
            (UnsecuredToken(claims: api.claims()).serialized(), .algorithmMismatch),
        ]
        for (token, code) in cases { #expect(await api.verifier.flaw(of: token) == code, "\(token.prefix(99))") }
    }

    @Test("A key without an algorithm is for RS256, or for the algorithm in the policy")
    func withoutAlgorithm() async throws {
        let rsa = try IssuerKey(.rs256, id: "rsa")
        let pss = try rsa.signing(with: .ps256)
        let issuer = PublishedKeys([])
        issuer.publish(text: JWKSet(keys: [rsa.jwkWithoutAlgorithm]).serialized())
        var verifier = AccessTokenVerifier(
            issuer: PublishedKeys.issuer,
            audience: GuardedAPI.audience,
            keys: .remote(issuer.keySet())
        ).at(issuer.time)
        #expect(try await verifier.verify(bearer: api.token(key: rsa)).subject == "ada")
        let fixed = verifier
        let request = api.request(["Authorization": "Bearer \(try api.token(key: pss))"])
        let refusal = await #expect(throws: AccessRefusal(.invalidToken, "")) { try await fixed.verify(request) }
        let cause = try #require(refusal?.cause as? TokenError)
        #expect(cause.code == .algorithmMismatch)
        for part in ["PS256", "RS256", "`algorithms`"] { #expect(cause.message.contains(part), "\(cause)") }

        verifier.policy.algorithms = [.ps256, .es256]
        #expect(try await verifier.verify(bearer: api.token(key: pss)).subject == "ada")
        #expect(await verifier.flaw(of: try api.token(key: rsa)) == .algorithmMismatch)
        verifier.policy.algorithms = [.ps256, .rs256]
        for key in [rsa, pss] { #expect(await verifier.flaw(of: try api.token(key: key)) == .algorithmRequired) }
        // The keys stay the same while the policy changes.
        #expect(issuer.fetchCount == 1)
    }

    @Test("By default, the keys are those in the issuer's metadata, which only https protects")
    func publishedKeys() async throws {
        let verifier = AccessTokenVerifier(issuer: "http://id.example", audience: GuardedAPI.audience)
        let token = try api.token(["iss": "http://id.example"])
        let refusal = await #expect(throws: AccessRefusal(.undecided, "")) { try await verifier.verify(bearer: token) }
        #expect((refusal?.cause as? OAuth2Error)?.code == .insecureTransport)
    }

    @Test("Without keys and introspection, no token is accepted")
    func withoutKeys() async throws {
        let verifier = AccessTokenVerifier(issuer: PublishedKeys.issuer, audience: GuardedAPI.audience, keys: nil)
        #expect(await verifier.flaw(of: try api.token()) == .unknownKey)
        #expect(await verifier.flaw(of: "opaque") == .unknownKey)
    }

    @Test("Responds with 503 if the keys are unavailable")
    func undecided() async throws {
        let issuer = PublishedKeys([], steps: [.status(503, headers: ["Retry-After": "20"])])
        let verifier = AccessTokenVerifier(
            issuer: PublishedKeys.issuer,
            audience: GuardedAPI.audience,
            keys: .remote(issuer.keySet())
        ).at(issuer.time)
        let request = api.request(["Authorization": "Bearer \(try api.token())"])
        let refusal = await #expect(throws: AccessRefusal(.undecided, "")) { try await verifier.verify(request) }
        #expect((refusal?.status, refusal?.challenge) == (503, nil))
        #expect(refusal?.headers["Retry-After"] == "20")
        #expect((refusal?.cause as? OAuth2Error)?.code == .serverTransient)
    }

    // MARK: Requirements

    @Test(
        "Responds to insufficient scope with 403 and the required scope",
        .shows("RFC 6750 §2.1, §3", "FAPI 2.0 §5.3.4 (4)")
    )
    func scope() async throws {
        let token = try api.token()
        let both = AccessRequirement(scope: ["orders.write", "orders.read"])
        #expect(try await api.verify(bearer: token, requires: both).subject == "ada")
        let refusal = await #expect(throws: AccessRefusal(.insufficientScope, "")) {
            try await api.verify(bearer: token, requires: AccessRequirement(scope: ["orders.read", "orders.delete"]))
        }
        #expect(refusal?.status == 403)
        #expect(
            refusal?.challenge
                == #"Bearer realm="orders", error="insufficient_scope", error_description="The access token has insufficient scope", scope="orders.read orders.delete""#
        )
        #expect(
            refusal?.message
                == "the access token has insufficient scope: the request requires “orders.read” “orders.delete”, "
                + "the token has “orders.read” “orders.write”"
        )
        // U+212A KELVIN SIGN isn't K, though Swift's == treats them as equal.
        let none = try api.token(["scope": nil])
        let rows = [(try api.token(["scope": "\u{212A}"]), AccessRequirement(scope: ["K"])), (none, both)]
        for (token, requirement) in rows {
            await #expect(throws: AccessRefusal(.insufficientScope, "")) {
                try await api.verify(bearer: token, requires: requirement)
            }
        }
        #expect(try await api.verify(bearer: none).scope == [])
    }

    @Test(
        "Rejects a user's authentication that isn't strong or recent enough",
        arguments: [
            (["acr": "urn:mfa", "auth_time": 999_999_340], true),
            (["acr": "urn:mfa", "auth_time": 999_999_339], false),
            (["acr": "urn:pwd", "auth_time": 1_000_000_000], false), (["auth_time": 1_000_000_000], false),
            (["acr": "urn:mfa"], false), (["acr": "urn:mfa", "auth_time": "now"], false),
            (["acr": "urn:mfa", "auth_time": 1_000_000_061], false), (["acr": 7, "auth_time": 1_000_000_000], false),
        ] as [([String: JSONValue?], Bool)]
    )
    func stepUp(changes: [String: JSONValue?], isEnough: Bool) async throws {
        let requirement = AccessRequirement(acrValues: ["urn:mfa"], maximumAuthenticationAge: .seconds(600))
        let token = try api.token(changes)
        if isEnough {
            #expect(try await api.verify(bearer: token, requires: requirement).subject == "ada")
            return
        }
        let refusal = await #expect(throws: AccessRefusal(.insufficientAuthentication, "")) {
            try await api.verify(bearer: token, requires: requirement)
        }
        #expect(refusal?.status == 401)
        let challenge = try #require(refusal?.written.first)
        #expect(challenge.parameters["error"] == "insufficient_user_authentication")
        #expect((challenge.parameters["acr_values"], challenge.parameters["max_age"]) == ("urn:mfa", "600"))
    }

    @Test("Accepts tokens that don't conform to RFC 9068 if the policy allows them", .shows("F9"))
    func otherIssuers() async throws {
        let token = try api.token(["scp": ["a", "b"], "client_id": nil, "jti": nil], type: "JWT")
        var verifier = api.verifier
        verifier.policy.type = .absentOrJWT
        verifier.policy.requiredClaims = ["sub", "aud", "exp"]
        verifier.policy.checks = []
        verifier.scopeClaim = "scp"
        let found = try await verifier.verify(api.request(["Authorization": "Bearer \(token)"]))
        #expect(found.scope == ["a", "b"])
        #expect(found.clientID == nil)
    }

    // MARK: Certificates

    @Test("A token bound to a certificate requires that certificate")
    func certificate() async throws {
        let mine = Data("the DER of a certificate".utf8)
        let other = Data("the DER of another certificate".utf8)
        // Computed with Python's hashlib.
        let token = try api.token(["cnf": ["x5t#S256": "RWiVO5X5pHhKM-S0JcLCR60sq90gNr8hjsGnAyLdl9I"]])
        #expect(try await api.verify(bearer: token, certificate: mine).binding == .certificate)
        for certificate in [nil, other, Data()] {
            await #expect(throws: AccessRefusal(.invalidToken, "")) {
                try await api.verify(bearer: token, certificate: certificate)
            }
        }
    }

    @Test(
        "Rejects a token with an unknown or malformed binding",
        .shows("F9"),
        arguments: [["kid": "1"], [:], "text", ["jkt": 7], ["x5t#S256": [:]], .null] as [JSONValue]
    )
    func unknownBinding(confirmation: JSONValue) async throws {
        let token = try api.token(["cnf": confirmation])
        await #expect(throws: AccessRefusal(.invalidToken, "")) { try await api.verify(bearer: token) }
    }

    @Test("Rejects unbound tokens if binding is required, and states it in the challenge")
    func bearerRefused() async throws {
        var verifier = api.verifier
        verifier.requiresBoundTokens = true
        let request = api.request(["Authorization": "Bearer \(try api.token())"])
        let refusal = await #expect(throws: AccessRefusal(.invalidToken, "")) { try await verifier.verify(request) }
        #expect(refusal?.written.map(\.scheme) == ["Bearer", "DPoP"])
        let empty = await #expect(throws: AccessRefusal(.noToken, "")) { try await verifier.verify(api.request([:])) }
        #expect(empty?.written.map(\.scheme) == ["DPoP"])
    }
}
