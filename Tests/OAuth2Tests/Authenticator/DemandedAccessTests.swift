import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestSupport
import Testing

/// A resource demands scope or claims that its client wasn't configured for.
@Suite("Access that a resource demands", .limitedConcurrency)
struct DemandedAccessTests {
    private static let grant = ClientCredentialsGrant(scope: "reports.read")
    private static let success = MockTransport.Step.status(200, body: Data("ok".utf8))

    @Test(
        "Obtains no scope that the application doesn't name, and reports the demand",
        .shows("G19", "O16", "R9"),
        arguments: [
            (nil, "payments.write admin"), ("reports.write", "reports.read reports.write admin"),
            ("", "reports.write"), ("reports.writer", "reports.write"), ("reports.WRITE", "reports.write"),
            ("\u{E9}", "e\u{301}"), ("K", "\u{212A}"),
        ] as [(String?, String)]
    )
    func unnamed(named: String?, demanded: String) async throws {
        let fixture = OAuth2Fixture(answers: [Self.refusal(demanded), Self.refusal(demanded)])
        let authenticator = fixture.authenticator(grant: Self.grant, options: .obtaining(scope: named))
        let demand = ResourceDemand(scope: demanded.split(separator: " ").map(String.init))
        let error = await #expect(throws: ServerError.self) {
            try await fixture.client(authenticator).makeRequest(URLRequest(url: OAuth2Fixture.api))
        }
        guard case .custom(let reason as OAuth2Error)? = error?.retry?.reason else {
            Issue.record("no reason: \(String(describing: error?.retry))")
            return
        }
        #expect(reason.code == .insufficientScope && reason.demand == demand && error?.demand == demand)
        #expect(error?.authenticationError as? OAuth2Error == reason && error?.status == 403)
        let other = await #expect(throws: OAuth2Error.self) { try await fixture.otherClient(authenticator).send() }
        #expect(other?.code == .insufficientScope && other?.demand == demand)
        #expect(fixture.credentials == ["Bearer access-1", "Bearer access-1"])
        #expect(fixture.forms.map { $0["scope"] } == ["reports.read"])
        #expect(fixture.events.tokenEvents.count { $0 == .demanded(.insufficientScope, demand) } == 2)
        #expect(authenticator.counters.refusals == 2)
    }

    @Test("Obtains one token for a set of names, in any order and however often they are repeated", .shows("R9"))
    func oneToken() async throws {
        let demands = ["write delete", "delete write", "write read delete write", "delete delete write"]
        let fixture = OAuth2Fixture(answers: demands.flatMap { [Self.refusal($0), Self.success] })
        let client = fixture.client(
            fixture.authenticator(
                grant: ClientCredentialsGrant(scope: "read"),
                options: .obtaining(scope: "delete write")
            )
        )
        for _ in demands {
            #expect(try await client.makeRequest(URLRequest(url: OAuth2Fixture.api)) == Data("ok".utf8))
        }
        #expect(fixture.forms.map { $0["scope"] } == ["read", "read delete write"])
        #expect(Set(fixture.credentials) == ["Bearer access-1", "Bearer access-2"])
    }

    @Test("Sends no claims that a resource demands, unless the application enables it", .shows("R8", "RFC 9470 §3"))
    func claims() async throws {
        let claims = #"{"access_token":{"roles":{"value":"admin"}}}"#
        let parameter = Data(claims.utf8).base64EncodedString()
        let challenge = #"Bearer error="insufficient_claims", claims="\#(parameter)""#
        let fixture = OAuth2Fixture(answers: [.challenge(challenge)])
        let authenticator = fixture.authenticator(grant: Self.grant, options: .obtaining(scope: "admin"))
        let error = await #expect(throws: OAuth2Error.self) { try await fixture.otherClient(authenticator).send() }
        #expect(error?.code == .stepUpRequired)
        #expect(error?.demand == ResourceDemand(claims: claims))
        #expect(fixture.forms.map { $0["claims"] } == [nil])
        #expect(fixture.events.tokenEvents.contains(.demanded(.stepUpRequired, ResourceDemand(claims: claims))))
    }

    @Test("Gives a grant that wraps another only demands that the application allows", .shows("R9"))
    func wrapped() async throws {
        let asked = Mutex<[ResourceDemand]>([])
        let grant = WrappedGrant { demand in asked.withLock { $0.append(demand) } }
        for (named, count) in [(nil, 1), ("write", 1), ("write reports.read", 2)] {
            let fixture = OAuth2Fixture(answers: [Self.refusal("reports.read write")])
            let client = fixture.client(fixture.authenticator(grant: grant, options: .obtaining(scope: named)))
            let answer = try? await client.makeRequest(URLRequest(url: OAuth2Fixture.api))
            #expect((answer != nil) == (count == 2))
            #expect(fixture.endpoint.requests.count == count)
        }
        #expect(asked.withLock { $0.allSatisfy { $0.scope == ["write", "reports.read"] } })
    }

    @Test("Asks the application's closure about a demand that the options don't allow")
    func closure() async throws {
        let fixture = OAuth2Fixture(answers: [Self.refusal("admin"), Self.success])
        let asked = Mutex<[ResourceDemand]>([])
        let source = StaticTokenSource(AccessToken(value: Secret("other"), requested: fixture.time.now))
        let authenticator = fixture.authenticator(grant: Self.grant) { demand in
            asked.withLock { $0.append(demand) }
            return source
        }
        _ = try await fixture.client(authenticator).makeRequest(URLRequest(url: OAuth2Fixture.api))
        #expect(asked.withLock { $0 } == [ResourceDemand(scope: ["admin"])])
        #expect(fixture.credentials == ["Bearer access-1", "Bearer other"])
    }

    @Test("Never gives the closure a token that the challenge repeats")
    func repeatedToken() async throws {
        let demand = #"Bearer error="insufficient_user_authentication", acr_values="gold", scope="access-1 admin""#
        let fixture = OAuth2Fixture(answers: [.challenge(demand)])
        let asked = Mutex<[ResourceDemand]>([])
        let source = StaticTokenSource(AccessToken(value: Secret("other"), requested: fixture.time.now))
        let authenticator = fixture.authenticator(grant: Self.grant) { demand in
            asked.withLock { $0.append(demand) }
            return source
        }
        _ = try await fixture.client(authenticator).makeRequest(URLRequest(url: OAuth2Fixture.api))
        #expect(asked.withLock { $0 } == [ResourceDemand(acrValues: ["gold"])])
    }

    @Test("Compares demands as bytes")
    func equality() {
        for (one, other) in [("\u{E9}", "e\u{301}"), ("K", "\u{212A}")] {
            let demands = [one, other].flatMap { text in
                [ResourceDemand(scope: [text]), ResourceDemand(acrValues: [text]), ResourceDemand(claims: text)]
            }
            #expect(Set(demands).count == 6)
        }
        #expect(ResourceDemand(scope: ["a"], maxAge: .seconds(1)) != ResourceDemand(scope: ["a"]))
        #expect(ResourceDemand(scope: ["a", "b"]) != ResourceDemand(scope: ["a b"]))
        #expect(ResourceDemand(scope: ["a"]) != ResourceDemand(acrValues: ["a"]))
        #expect(ResourceDemand(scope: ["a"], maxAge: .seconds(1)) == ResourceDemand(scope: ["a"], maxAge: .seconds(1)))
    }

    private static func refusal(_ scope: String) -> MockTransport.Step {
        .status(403, headers: ["WWW-Authenticate": #"Bearer error="insufficient_scope", scope="\#(scope)""#])
    }
}

/// An application's grant around the client's own.
private struct WrappedGrant: DetailedGrant {
    var inner: any Grant = ClientCredentialsGrant(scope: "reports.read")
    let observe: @Sendable (ResourceDemand) -> Void

    init(
        inner: any Grant = ClientCredentialsGrant(scope: "reports.read"),
        observe: @escaping @Sendable (ResourceDemand) -> Void
    ) {
        self.inner = inner
        self.observe = observe
    }

    var identifier: String { "wrapped " + inner.identifier }
    var isRepeatable: Bool { true }

    func parameters(at date: Date) async throws -> [(name: String, value: String)]? {
        try await inner.parameters(at: date)
    }

    func answering(_ demand: ResourceDemand) -> (any Grant)? {
        observe(demand)
        return inner.details?.answering(demand).map { Self(inner: $0, observe: observe) }
    }
}
