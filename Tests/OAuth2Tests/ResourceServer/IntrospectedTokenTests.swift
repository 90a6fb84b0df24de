import Foundation
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestSupport
import Testing
import TokenGeneration

@testable import ResourceServer

@Suite("AccessTokenVerifier: introspection", .limitedConcurrency)
struct IntrospectedTokenTests {
    private static let url = URL(string: "https://as.example/introspect")!

    private let time = ManualTime()

    private func introspection(
        _ transport: MockTransport,
        capacity: Int = 1_000,
        lifetime: Duration = .seconds(60)
    ) -> CachedTokenIntrospection {
        var server = AuthorizationServer(
            issuer: "https://as.example",
            tokenEndpoint: URL(string: "https://as.example/token")!
        )
        server.introspectionEndpoint = Self.url
        let client = OAuth2Client(
            server: server,
            clientAuthentication: .clientSecretBasic(clientID: "api", secret: Secret("s3cret")),
            client: NetworkClient(transport: transport, options: .init(timeSource: time.timeSource)),
            timing: .init(attempts: 1, timeSource: time.timeSource)
        )
        return CachedTokenIntrospection(
            client,
            capacity: capacity,
            lifetime: lifetime,
            timeSource: time.timeSource
        )
    }

    /// Creates a server with active tokens that begin with `good`, for the API's audience unless
    /// the members state another.
    private func server(_ members: String = "", audience: String? = GuardedAPI.audience) -> MockTransport {
        let isForAPI = audience.map { members.contains(#""aud""#) ? "" : #","aud":"\#($0)""# } ?? ""
        return MockTransport(time: time.timeSource) { request in
            let form = FormURLEncoded.decode(String(decoding: request.bodyData() ?? Data(), as: UTF8.self)) ?? []
            guard form.first(where: { $0.name == "token" })?.value.hasPrefix("good") == true else {
                return .json(#"{"active":false}"#)
            }
            return .json(#"{"active":true,"sub":"ada","scope":"orders.read"\#(isForAPI)\#(members)}"#)
        }
    }

    private func verifier(_ introspection: CachedTokenIntrospection) -> AccessTokenVerifier {
        AccessTokenVerifier(
            audience: GuardedAPI.audience,
            introspection: introspection,
            currentDate: time.timeSource.date
        )
    }

    private func request(_ token: String) -> ProtectedRequest {
        ProtectedRequest(method: .get, url: GuardedAPI.url, headers: ["Authorization": "Bearer \(token)"])
    }

    // MARK: Verification

    @Test("Accepts an opaque token with the claims that the server reports")
    func active() async throws {
        let verifier = verifier(
            introspection(server(#","client_id":"shop","aud":"https://api.example","acr":"urn:mfa""#))
        )
        let token = try await verifier.verify(
            request("good"),
            requires: AccessRequirement(scope: ["orders.read"], acrValues: ["urn:mfa"])
        )
        #expect(token.subject == "ada")
        #expect(token.clientID == "shop")
        #expect(token.audience == [GuardedAPI.audience])
        await #expect(throws: AccessRefusal(.insufficientScope, "")) {
            try await verifier.verify(request("good"), requires: AccessRequirement(scope: ["orders.write"]))
        }
    }

    @Test(
        "Rejects a token for another audience or issuer, or one that isn't currently valid",
        arguments: [
            (#","aud":"https://other.example""#, TokenError.Code.audienceMismatch),
            (#","aud":["a","b"]"#, .audienceMismatch), (#","iss":"https://evil.example""#, .issuerMismatch),
            (#","exp":999999940"#, .expired), (#","nbf":1000000061"#, .notYetValid),
            (#","cnf":{"kid":"1"}"#, .confirmationMismatch),
        ]
    )
    func refused(members: String, code: TokenError.Code) async throws {
        let refusal = await #expect(throws: AccessRefusal(.invalidToken, "")) {
            try await verifier(introspection(server(members))).verify(request("good"))
        }
        #expect((refusal?.cause as? TokenError)?.code == code)
    }

    @Test(
        "Accepts only access tokens, by any member that states the kind",
        arguments: [
            ("token_type", "Bearer", true), ("token_type", "bearer", true), ("token_type", "BEARER", true),
            ("token_type", "DPoP", true), ("token_type", "dpop", true), ("token_type", nil, true),
            ("token_type", "refresh_token", false), ("token_type", "id_token", false), ("token_type", "N_A", false),
            ("token_type", "mac", false), ("token_type", "", false), ("typ", "Bearer", true), ("typ", "at+jwt", true),
            ("typ", "application/at+JWT", true), ("typ", "Refresh", false), ("typ", "ID", false), ("typ", "JWT", false),
            ("typ", 7, false), ("token_use", "access", true), ("token_use", "id", false),
            ("token_use", "refresh_token", false),
        ] as [(String, JSONValue?, Bool)]
    )
    func kinds(name: String, value: JSONValue?, isAccepted: Bool) async throws {
        let members: JSONObject = [name: value ?? .null]
        let verifier = verifier(introspection(server("," + members.serialized().dropFirst().dropLast())))
        guard !isAccepted else {
            #expect(try await verifier.verify(request("good")).subject == "ada")
            return
        }
        let refusal = await #expect(throws: AccessRefusal(.invalidToken, "")) {
            try await verifier.verify(request("good"))
        }
        #expect((refusal?.cause as? TokenError)?.code == .typeMismatch)
    }

    @Test("Rejects a response without an audience, unless the policy accepts it")
    func withoutAudience() async throws {
        var verifier = verifier(introspection(server(audience: nil)))
        let refusal = await #expect(throws: AccessRefusal(.invalidToken, "")) {
            try await verifier.verify(request("good"))
        }
        #expect((refusal?.cause as? TokenError)?.code == .missingClaim)
        verifier.policy.audience = .absentOrContains(GuardedAPI.audience)
        #expect(try await verifier.verify(request("good")).subject == "ada")
        verifier.introspection = introspection(server(audience: "https://other.example"))
        let other = await #expect(throws: AccessRefusal(.invalidToken, "")) {
            try await verifier.verify(request("good"))
        }
        #expect((other?.cause as? TokenError)?.code == .audienceMismatch)
    }

    @Test("Rejects a response with an empty subject")
    func emptySubject() async throws {
        let transport = MockTransport(
            .json(#"{"active":true,"sub":"","aud":"https://api.example"}"#),
            time: time.timeSource
        )
        let refusal = await #expect(throws: AccessRefusal(.invalidToken, "")) {
            try await verifier(introspection(transport)).verify(request("good"))
        }
        #expect((refusal?.cause as? TokenError)?.code == .malformedClaim)
    }

    @Test("Rejects an inactive token")
    func inactive() async throws {
        let refusal = await #expect(throws: AccessRefusal(.invalidToken, "")) {
            try await verifier(introspection(server())).verify(request("bad"))
        }
        #expect((refusal?.cause as? TokenError)?.code == .checkFailed)
        #expect(refusal?.status == 401)
    }

    @Test("An opaque token bound to a key requires a proof")
    func bound() async throws {
        let prover = try DPoPProofGenerator(key: .generate(.es256))
        var verifier = verifier(introspection(server(#","token_type":"DPoP","cnf":{"jkt":"\#(prover.thumbprint)"}"#)))
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
            try await verifier(introspection(MockTransport(step, time: time.timeSource))).verify(request("good"))
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

    @Test("Caches a response for its lifetime")
    func lifetime() async throws {
        let transport = server()
        let introspection = introspection(transport)
        for _ in 1...5 {
            #expect(try await introspection.answer(about: Secret("good")).isActive)
            #expect(try await !introspection.answer(about: Secret("bad")).isActive)
        }
        #expect(transport.requests.count == 2)
        time.advance(by: .milliseconds(59_999))
        _ = try await introspection.answer(about: Secret("good"))
        #expect(transport.requests.count == 2)
        time.advance(by: .milliseconds(1))
        _ = try await introspection.answer(about: Secret("good"))
        #expect(transport.requests.count == 3)
    }

    @Test("Doesn't use a response beyond the token's expiry")
    func expiry() async throws {
        let transport = server(#","exp":1000000010"#)
        let introspection = introspection(transport)
        _ = try await introspection.answer(about: Secret("good"))
        time.advance(by: .seconds(9))
        _ = try await introspection.answer(about: Secret("good"))
        #expect(transport.requests.count == 1)
        time.advance(by: .seconds(1))
        _ = try await introspection.answer(about: Secret("good"))
        #expect(transport.requests.count == 2)
    }

    @Test("Concurrent requests with the same token share one introspection")
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

    @Test("Invented tokens neither displace valid ones nor fill the memory")
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
