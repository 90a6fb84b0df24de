import Foundation
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

@testable import ResourceServer

@Suite("AccessTokenVerifier: introspection", .limitedConcurrency, .tags(.concurrency))
struct IntrospectedTokenTests {
    private let time = ManualTime()

    private func introspection(_ transport: MockTransport, capacity: Int = 1_000) -> CachedTokenIntrospection {
        CachedTokenIntrospection(transport, capacity: capacity, time: time)
    }

    private func server(_ changes: [String: JSONValue?] = [:]) -> MockTransport {
        .introspection(changes, time: time)
    }

    private func verifier(_ transport: MockTransport) -> AccessTokenVerifier {
        AccessTokenVerifier(introspection(transport)).at(time)
    }

    private func request(_ token: String) -> ProtectedRequest {
        ProtectedRequest(method: .get, url: GuardedAPI.url, headers: ["Authorization": "Bearer \(token)"])
    }

    // MARK: Verification

    @Test("Accepts an opaque token with the claims that the server reports")
    func active() async throws {
        let verifier = verifier(server(["client_id": "shop", "acr": "urn:mfa"]))
        let token = try await verifier.verify(
            request("good"),
            requires: AccessRequirement(scope: ["orders.read"], acrValues: ["urn:mfa"])
        )
        #expect((token.subject, token.clientID) == ("ada", "shop"))
        #expect(token.audience == [GuardedAPI.audience])
        await #expect(throws: AccessRefusal(.insufficientScope, "")) {
            try await verifier.verify(request("good"), requires: AccessRequirement(scope: ["orders.write"]))
        }
    }

    @Test(
        "Rejects tokens of another kind, audience or issuer, and those that aren't currently valid",
        .shows("K14", "FAPI 2.0 §5.3.4 (3)"),
        arguments: [
            ("aud", "https://other.example", TokenError.Code.audienceMismatch), ("aud", ["a", "b"], .audienceMismatch),
            ("aud", nil, .missingClaim), ("iss", "https://evil.example", .issuerMismatch),
            ("exp", 999_999_940, .expired), ("nbf", 1_000_000_061, .notYetValid),
            ("cnf", ["kid": "1"], .confirmationMismatch), ("sub", "", .malformedClaim),
            ("token_type", "Bearer", nil), ("token_type", "bearer", nil), ("token_type", "BEARER", nil),
            ("token_type", "DPoP", nil), ("token_type", "dpop", nil), ("token_type", .null, nil),
            ("token_type", "refresh_token", .typeMismatch), ("token_type", "id_token", .typeMismatch),
            ("token_type", "N_A", .typeMismatch), ("token_type", "mac", .typeMismatch),
            ("token_type", "", .typeMismatch), ("typ", "Bearer", nil), ("typ", "at+jwt", nil),
            ("typ", "application/at+JWT", nil), ("typ", "Refresh", .typeMismatch), ("typ", "ID", .typeMismatch),
            ("typ", "JWT", .typeMismatch), ("typ", 7, .typeMismatch), ("token_use", "access", nil),
            ("token_use", "id", .typeMismatch), ("token_use", "refresh_token", .typeMismatch),
        ] as [(String, JSONValue?, TokenError.Code?)]
    )
    func refused(name: String, value: JSONValue?, code: TokenError.Code?) async throws {
        let verifier = verifier(server([name: value]))
        if code == nil {
            #expect(try await verifier.verify(request("good")).subject == "ada")
        } else {
            #expect(await verifier.flaw(of: "good") == code)
        }
        #expect(await verifier.flaw(of: "bad") == .checkFailed)
    }

    @Test("Accepts a response without an audience if the policy does", .shows("K14"))
    func withoutAudience() async throws {
        var verifier = verifier(server(["aud": nil]))
        verifier.policy.audience = .absentOrContains(GuardedAPI.audience)
        #expect(try await verifier.verify(request("good")).subject == "ada")
        verifier.introspection = introspection(server(["aud": "https://other.example"]))
        #expect(await verifier.flaw(of: "good") == .audienceMismatch)
    }

    @Test("An opaque token bound to a key requires a proof")
    func bound() async throws {
        let prover = try DPoPProofGenerator(key: .generate(.es256))
        var verifier = verifier(server(["token_type": "DPoP", "cnf": ["jkt": .string(prover.thumbprint)]]))
        verifier.dpop = DPoPVerifier(replayCache: InMemoryReplayCache())
        let proof = try prover.proof(method: "GET", url: GuardedAPI.url, accessToken: "good", date: time.date)
        let request = ProtectedRequest(
            method: .get,
            url: GuardedAPI.url,
            headers: ["Authorization": "DPoP good", "DPoP": proof]
        )
        #expect(try await verifier.verify(request).binding == .key)
        await #expect(throws: AccessRefusal(.invalidToken, "")) { try await verifier.verify(self.request("good")) }
    }

    @Test(
        "Responds with 503 if the introspection fails",
        arguments: [.status(503), .status(401), .text("<html>"), .json(#"{"active":"true"}"#), .json("{}")]
            as [MockTransport.Step]
    )
    func undecided(step: MockTransport.Step) async throws {
        let refusal = await #expect(throws: AccessRefusal(.undecided, "")) {
            try await verifier(MockTransport(step, time: time.timeSource)).verify(request("good"))
        }
        #expect(refusal?.status == 503)
    }

    @Test("Verifies JWTs locally and introspects other tokens, but not invalid JWTs")
    func mixed() async throws {
        var api = try GuardedAPI()
        let transport = server()
        api.verifier.introspection = introspection(transport)
        let verifier = api.verifier
        func verify(_ token: String) async throws(AccessRefusal) -> VerifiedAccessToken {
            try await verifier.verify(request(token))
        }
        #expect(try await verify(try api.token()).clientID == "shop")
        #expect(transport.requests.isEmpty)
        let stranger = try IssuerKey(id: "1")
        let forged = try api.token(key: stranger)
        await #expect(throws: AccessRefusal(.invalidToken, "")) { try await verify(forged) }
        #expect(transport.requests.isEmpty)
        #expect(try await verify("good").clientID == nil)
        #expect(transport.requests.count == 1)
    }

    // MARK: Cache

    @Test(
        "Caches a response for its lifetime, but not beyond the token's expiry",
        arguments: [(nil, 60_000), (1_000_000_010, 10_000)] as [(JSONValue?, Int)]
    )
    func lifetime(expiration: JSONValue?, milliseconds: Int) async throws {
        let transport = server(["exp": expiration])
        let introspection = introspection(transport)
        for _ in 1...5 {
            #expect(try await introspection.answer(about: Secret("good")).isActive)
            #expect(try await !introspection.answer(about: Secret("bad")).isActive)
        }
        #expect(transport.requests.count == 2)
        time.advance(by: .milliseconds(milliseconds - 1))
        _ = try await introspection.answer(about: Secret("good"))
        #expect(transport.requests.count == 2)
        time.advance(by: .milliseconds(1))
        _ = try await introspection.answer(about: Secret("good"))
        #expect(transport.requests.count == 3)
    }

    @Test("Concurrent requests with the same token share one introspection", .shows("F10"))
    func singleFlight() async throws {
        let gate = ResponseGate()
        let transport = MockTransport(.json(#"{"active":true,"sub":"ada"}"#).gated(by: gate), time: time.timeSource)
        let introspection = introspection(transport)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 1...50 { group.addTask { try await introspection.answer(about: Secret("good")).isActive } }
            try await gate.waitForWaiters(count: 1)
            gate.open()
            for try await isActive in group { #expect(isActive) }
        }
        #expect(transport.requests.count == 1)
        #expect(introspection.count == 1)
    }

    @Test("Invented tokens neither displace valid ones nor fill the memory", .shows("F10"))
    func flood() async throws {
        let transport = server()
        let introspection = introspection(transport, capacity: 10)
        for number in 1...10 { _ = try await introspection.answer(about: Secret("good \(number)")) }
        for number in 1...500 { _ = try await introspection.answer(about: Secret("bad \(number)")) }
        #expect(introspection.count == 20)
        #expect(transport.requests.count == 510)
        for number in 1...10 { _ = try await introspection.answer(about: Secret("good \(number)")) }
        #expect(transport.requests.count == 510)
        // The least recently used one is dropped.
        _ = try await introspection.answer(about: Secret("good 11"))
        for number in 2...11 { _ = try await introspection.answer(about: Secret("good \(number)")) }
        #expect(transport.requests.count == 511)
        _ = try await introspection.answer(about: Secret("good 1"))
        #expect(transport.requests.count == 512)
        #expect(introspection.count == 20)
    }

    @Test("Doesn't cache a failure, and introspects a forgotten token again")
    func failure() async throws {
        let transport = MockTransport(
            .status(503),
            .json(#"{"active":true}"#),
            .json(#"{"active":false}"#),
            time: time.timeSource
        )
        let introspection = introspection(transport)
        await #expect(throws: OAuth2Error(.serverTransient, "")) {
            try await introspection.answer(about: Secret("good"))
        }
        #expect(try await introspection.answer(about: Secret("good")).isActive)
        introspection.forget(Secret("good"))
        #expect(try await !introspection.answer(about: Secret("good")).isActive)
    }

    @Test("A server that doesn't respond costs the timeout")
    func silence() async throws {
        let introspection = introspection(MockTransport(.never, time: time.timeSource))
        let call = Task { try await introspection.answer(about: Secret("good")) }
        try await time.waitForSleepers(count: 2)
        time.advance(by: .seconds(30))
        await #expect(throws: OAuth2Error(.serverUnreachable, "")) { try await call.value }
    }
}
