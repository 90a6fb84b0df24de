import Foundation
import MockNetworking
import Networking
import OAuth2
import ResourceServer
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

@Suite("AccessTokenVerifier: status lists", .limitedConcurrency)
struct RevokedTokenTests {
    private let issuer: PublishedStatusList

    init() throws {
        issuer = try PublishedStatusList()
    }

    private func api(_ change: (inout CachedStatusLists.Options) -> Void = { _ in }) -> GuardedAPI {
        var api = issuer.api
        api.verifier.statusLists = issuer.lists(change)
        return api
    }

    private func token(_ index: Int, _ changes: [String: JSONValue?] = [:]) throws -> String {
        let reference = try PublishedStatusList.reference(index)
        return try issuer.api.token(["status": reference.claim].merging(changes) { $1 })
    }

    @Test(
        "Accepts only valid tokens, or those with the statuses that the application accepts",
        .shows("J27", "U9", "Status List §8.3 (your API)")
    )
    func statuses() async throws {
        let api = api()
        let accepted = try await api.verify(bearer: token(0))
        #expect(accepted.subject == "ada")
        // Revoked, suspended, undefined and beyond the list.
        for index in [1, 2, 3, 16, Int.max] {
            #expect(try await api.verifier.flaw(of: token(index)) == .statusRejected)
        }
        #expect(issuer.fetchCount == 1)
        let other = self.api { $0.acceptedStatuses = [.valid, TokenStatus(rawValue: 3)] }
        _ = try await other.verify(bearer: token(3))
        #expect(try await other.verifier.flaw(of: token(2)) == .statusRejected)
    }

    @Test("Requires a status, unless the application doesn't", .shows("U10"))
    func withoutStatus() async throws {
        let plain = try issuer.api.token()
        #expect(await api().verifier.flaw(of: plain) == .missingClaim)
        _ = try await api { $0.requiresStatus = false }.verify(bearer: plain)
        #expect(issuer.fetchCount == 0)
        let revoked = try token(1)
        #expect(await api { $0.requiresStatus = false }.verifier.flaw(of: revoked) == .statusRejected)
    }

    @Test("Rejects malformed references, and lists at other locations, without a request", .shows("U10"))
    func references() async throws {
        let statuses: [JSONValue] = [
            .null, [:], ["other": [:]], ["status_list": ["idx": -1, "uri": .string(PublishedStatusList.uri)]],
            ["status_list": ["idx": "0", "uri": .string(PublishedStatusList.uri)]],
        ]
        for status in statuses {
            let token = try issuer.api.token(["status": status])
            #expect(await api { $0.requiresStatus = false }.verifier.flaw(of: token) == .malformedClaim)
        }
        let elsewhere = try StatusListReference(index: 0, uri: "https://evil.example/statuslists/1").claim
        #expect(try await api().verifier.flaw(of: issuer.api.token(["status": elsewhere])) == .statusRejected)
        #expect(issuer.fetchCount == 0)
    }

    @Test("If the list isn't available, the answer is 503 with the server's delay", .shows("U13", "U14"))
    func outage() async throws {
        issuer.transport.append(.status(503, headers: ["Retry-After": "7"]))
        let api = api()
        let refusal = await #expect(throws: AccessRefusal(.undecided, "")) { try await api.verify(bearer: token(0)) }
        #expect(refusal?.status == 503)
        #expect(refusal?.headers["Retry-After"] == "7")
        #expect((refusal?.cause as? OAuth2Error)?.code == .serverTransient)
        // An invalid list isn't the token's fault either.
        try issuer.publish(nil, ["sub": "https://id.example/statuslists/2"])
        let other = await #expect(throws: AccessRefusal(.undecided, "")) {
            try await self.api().verify(bearer: token(0))
        }
        let cause = other?.cause as? OAuth2Error
        #expect((cause?.code, (cause?.cause as? TokenError)?.code) == (.protocolViolation, .subjectMismatch))
    }

    @Test("A token that is rejected for another reason causes no request", .shows("U15", "Status List §8.3 (your API)"))
    func order() async throws {
        let api = api()
        #expect(try await api.verifier.flaw(of: token(1, ["exp": 999_999_000])) == .expired)
        // Bound to a key that the sender doesn't prove.
        _ = try await api.verifier.flaw(of: token(1, ["cnf": ["jkt": "x"]]))
        await #expect(throws: AccessRefusal(.insufficientScope, "")) {
            try await api.verify(bearer: token(1), requires: AccessRequirement(scope: ["admin"]))
        }
        #expect(issuer.fetchCount == 0)
    }

    @Test("Each of several issuers has its own lists")
    func severalIssuers() async throws {
        let partnerKey = try IssuerKey(id: "1")
        let partners = TrustedIssuer(issuer: "https://partners.example", keys: .fixed(JWKSet(keys: [partnerKey.jwk])))
        var staff = TrustedIssuer(issuer: PublishedKeys.issuer, keys: .fixed(JWKSet(keys: [issuer.api.key.jwk])))
        staff.statusLists = issuer.lists()
        var api = issuer.api
        api.verifier = try AccessTokenVerifier(
            issuers: [staff, partners],
            audience: GuardedAPI.audience
        ).at(issuer.time)
        // Those of the verifier are for verifiers of one issuer.
        api.verifier.statusLists = issuer.lists(at: [])
        _ = try await api.verify(bearer: token(0))
        #expect(try await api.verifier.flaw(of: token(1)) == .statusRejected)
        let theirs = try api.token(["iss": "https://partners.example"], key: partnerKey)
        _ = try await api.verify(bearer: theirs)
        #expect(issuer.fetchCount == 1)
    }
}
