import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

/// Tests of each kind of token endpoint response.
@Suite("Token endpoint responses", .limitedConcurrency)
struct TokenEndpointRowTests {
    private let grant = RefreshTokenGrant(refreshToken: Secret("r0"))

    /// The result of one call of an authenticator that makes three attempts without delays.
    private struct Outcome {
        var text: String?
        var error: OAuth2Error?
        var forms: [[String: String]]
    }

    private func outcome(
        _ steps: [MockTransport.Step],
        grant: any Grant = ClientCredentialsGrant(),
        dpop: DPoPKey? = nil
    ) async -> (outcome: Outcome, fixture: OAuth2Fixture, authenticator: OAuth2Authenticator) {
        let fixture = OAuth2Fixture(steps: steps)
        let authenticator = fixture.authenticator(grant: grant, dpop: dpop, random: 0, attempts: 3)
        var outcome = Outcome(forms: [])
        do { outcome.text = try await authenticator.text() } catch { outcome.error = error as? OAuth2Error }
        outcome.forms = fixture.forms
        return (outcome, fixture, authenticator)
    }

    @Test(
        "Stores the refresh token before using the access token, and continues if the store fails",
        .shows("T1", "Y9")
    )
    func storedBeforeUse() async throws {
        let journal = Journal()
        let store = ProbedTokenStore { journal.add("stored \($0.refresh ?? "")") }
        let fixture = OAuth2Fixture(
            steps: [.tokens("a1", refresh: "r1"), .tokens("a2", refresh: "r2")],
            answers: [
                .handler { request in
                    journal.add("used \(request.headers["Authorization"] ?? "")")
                    return .text("ok")
                }
            ]
        )
        let authenticator = fixture.authenticator(grant: grant, store: store)
        _ = try await fixture.client(authenticator).makeRequest(.init(url: OAuth2Fixture.api))
        #expect(journal.entries == ["stored r1", "used Bearer a1"])
        store.fail(.write, .write, .write)
        fixture.time.advance(by: .seconds(3600))
        #expect(try await authenticator.text() == "a2")
        #expect(authenticator.counters.storeFailures == 1)
        #expect(fixture.events.tokenEvents.contains(.storeFailed))
        // The background task saves the record that the store couldn't take, and ends.
        await fixture.runOut()
    }

    @Test("Reports an error with status code 200 as that error", .shows("T3"))
    func errorWithStatus200() async {
        let answer = MockTransport.Step.json(#"{"error":"redirect_uri_mismatch","error_description":"no"}"#)
        let (outcome, _, _) = await outcome([answer], grant: grant)
        #expect(outcome.error?.code == .requestRejected)
        #expect((outcome.error?.serverCode, outcome.forms.count) == ("redirect_uri_mismatch", 1))
        for code in ["invalid_grant", "bad_refresh_token", "bad_verification_code"] {
            let (dead, _, _) = await self.outcome([.json(#"{"error":"\#(code)"}"#)], grant: grant)
            #expect(dead.error?.code == .reauthenticationRequired)
        }
    }

    @Test(
        "Retries once after a malformed 200 response, but not after a malformed 404",
        .shows("T4"),
        arguments: ["<html>Sign in</html>", "", "[]", #""token""#, #"{"access_token":5}"#, #"{"access_token":"a"}"#]
    )
    func malformedAnswers(body: String) async {
        let page = MockTransport.Step.text(body)
        #expect(await outcome([page, .tokens("a1")]).outcome.text == "a1")
        let twice = await outcome([page, page, .tokens("a1")]).outcome
        #expect((twice.error?.code, twice.error?.status, twice.forms.count) == (.protocolViolation, 200, 2))
        let refused = await outcome([.text(body, status: 404), .tokens("a1")]).outcome
        #expect((refused.error?.code, refused.forms.count) == (.protocolViolation, 1))
        #expect(await outcome([.text(body, status: 500), .tokens("a1")]).outcome.text == "a1")
    }

    @Test("Rejects a token of another type than requested", .shows("T5"), arguments: ["mac", "DPoP", "N_A", ""])
    func otherTokenTypes(type: String) async {
        let answer = MockTransport.Step.json(#"{"access_token":"a","token_type":"\#(type)"}"#)
        let (outcome, _, _) = await outcome([answer])
        #expect((outcome.error?.code, outcome.forms.count) == (.unsupportedTokenType, 1))
    }

    @Test("Doesn't resend a rejected refresh token, unless the store has another", .shows("T6"))
    func rejectedRefreshToken() async throws {
        let store = InMemoryTokenStore()
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "r1")])
        let authenticator = fixture.authenticator(grant: grant, store: store)
        _ = try await authenticator.text()
        // Another process rotates the token without taking the lock.
        let rotating = RotatingStore(store: store, replacement: "r2")
        let other = OAuth2Fixture(steps: [.error("invalid_grant"), .tokens("a3", refresh: "r3")])
        other.time.advance(by: .seconds(7200))
        #expect(try await other.authenticator(grant: grant, store: rotating).text() == "a3")
        #expect(other.forms.map { $0["refresh_token"] } == ["r1", "r2"])
        let (dead, _, _) = await outcome([.error("invalid_grant"), .tokens("never")], grant: grant)
        #expect((dead.error?.code, dead.error?.isPossiblyLostRotation) == (.reauthenticationRequired, false))
        #expect(dead.forms.map { $0["refresh_token"] } == ["r0"])
    }

    @Test("Backs off for a minute after three rejections of the client in sequence", .shows("T7"))
    func rejectedClient() async throws {
        let fixture = OAuth2Fixture(steps: Array(repeating: .error("invalid_client", status: 401), count: 4))
        let authenticator = fixture.authenticator(grant: grant)
        for pause in [1, 2, 0] {
            #expect(await failureCode { try await authenticator.text() } == .invalidClient)
            fixture.time.advance(by: .seconds(pause))
        }
        for _ in 1...5 {
            let soon = fixture.time.now + .seconds(1)
            let error = await failure { try await authenticator.accessToken(until: soon) }
            #expect(error?.code == .invalidClient)
            #expect(error?.retryAfter == .seconds(60))
        }
        #expect(fixture.endpoint.requests.count == 3)
        fixture.time.advance(by: .seconds(60))
        #expect(await failureCode { try await authenticator.text() } == .invalidClient)
        fixture.time.advance(by: .seconds(60))
        #expect(try await authenticator.text() == "access-1")
        #expect(Set(fixture.forms.map { $0["refresh_token"] }) == ["r0"])
    }

    @Test(
        "Reports a rejected request, and keeps the refresh token",
        .shows("T8"),
        arguments: [
            "invalid_scope", "invalid_target", "invalid_authorization_details", "invalid_request",
            "unauthorized_client", "unsupported_grant_type",
        ]
    )
    func rejectedRequests(code: String) async throws {
        let (outcome, fixture, authenticator) = await outcome([.error(code)], grant: grant)
        #expect((outcome.error?.code, outcome.error?.serverCode) == (.requestRejected, code))
        #expect(outcome.forms.count == 1)
        fixture.time.advance(by: .milliseconds(500))
        #expect(try await authenticator.text() == "access-1")
        #expect(fixture.forms.map { $0["refresh_token"] } == ["r0", "r0"])
    }

    @Test("Retries once without the resource if the server rejects it and the grant allows that")
    func omittedResources() async throws {
        let (refused, issued) = (MockTransport.Step.error("invalid_target"), MockTransport.Step.tokens("a1"))
        let rows: [(omits: Bool, steps: [MockTransport.Step], serverCode: String?, resources: [String?])] = [
            (false, [refused, issued], "invalid_target", ["urn:a urn:b"]),
            (true, [refused, issued], nil, ["urn:a urn:b", nil]),
            (true, [.error("invalid_scope"), issued], "invalid_scope", ["urn:a urn:b"]),
            (true, [refused, refused], "invalid_target", ["urn:a urn:b", nil]),
        ]
        for row in rows {
            let grant = RefreshTokenGrant(
                refreshToken: Secret("r0"),
                scope: "read",
                resources: ["urn:a", "urn:b"],
                omitsRefusedResources: row.omits
            )
            let outcome = await outcome(row.steps, grant: grant).outcome
            #expect((outcome.error?.serverCode, outcome.text) == (row.serverCode, row.serverCode == nil ? "a1" : nil))
            #expect(outcome.forms.map { $0["resource"] } == row.resources)
            #expect(outcome.forms.allSatisfy { $0["scope"] == "read" && $0["refresh_token"] == "r0" })
        }
    }

    @Test("Sends a required nonce once, with a new proof and a new assertion", .shows("O9", "T9", "RFC 9449 §5"))
    func requiredNonce() async throws {
        let needed = MockTransport.Step.json(
            #"{"error":"use_dpop_nonce"}"#,
            status: 400,
            headers: ["DPoP-Nonce": "n1"]
        )
        let (outcome, fixture, _) = await outcome([needed, .boundToken("b1")], dpop: .generated())
        #expect(outcome.text == "b1")
        let proofs = try fixture.endpoint.requests.map {
            try UnverifiedToken(#require($0.headers["DPoP"])).unverifiedClaims
        }
        #expect(proofs.map { $0["nonce"]?.string } == [nil, "n1"])
        #expect(proofs[0]["jti"] != proofs[1]["jti"])
        #expect(proofs[0]["htu"]?.string == "https://as.example/token")

        let other = MockTransport.Step.json(#"{"error":"use_dpop_nonce"}"#, status: 400, headers: ["DPoP-Nonce": "n2"])
        let rows: [([MockTransport.Step], OAuth2Error.Code, Int)] = [
            ([.error("use_dpop_nonce")], .missingNonce, 1), ([needed, needed], .repeatedNonce, 2),
            ([needed, other], .tooManyNonces, 2),
        ]
        for (steps, code, count) in rows {
            let outcome = await self.outcome(steps + [.boundToken("b1")], dpop: .generated()).outcome
            #expect((outcome.error?.code, outcome.forms.count) == (code, count))
        }
    }

    @Test("Creates a proof again after a clock correction, once, but not for any other rejection", .shows("T10"))
    func clockCorrection() async throws {
        let now = ManualTime().date
        let late = MockTransport.Step.json(
            #"{"error":"invalid_dpop_proof"}"#,
            status: 400,
            headers: ["Date": HTTPDateText.text(now.addingTimeInterval(-120))]
        )
        let (outcome, fixture, _) = await outcome([late, .boundToken("b1")], dpop: .generated())
        #expect(outcome.text == "b1")
        let issued = try fixture.endpoint.requests.map { request in
            try UnverifiedToken(#require(request.headers["DPoP"])).unverifiedClaims["iat"]?.number?.double
        }
        let first = try #require(issued[0])
        let second = try #require(issued[1])
        #expect(abs(second - first + 120) <= 1)
        let twice = await self.outcome([late, late, .boundToken("b1")], dpop: .generated()).outcome
        #expect((twice.error?.code, twice.forms.count) == (.proofRejected, 2))
        let right = await self.outcome([.error("invalid_dpop_proof"), .boundToken("b1")], dpop: .generated()).outcome
        #expect((right.error?.code, right.forms.count) == (.proofRejected, 1))
    }

    @Test(
        "Makes three attempts if a server fails temporarily, whatever its error code, and keeps the token",
        .shows("T11"),
        arguments: [
            (503, "invalid_client"), (503, "invalid_grant"), (429, "invalid_request"), (429, "invalid_grant"),
            (400, "temporarily_unavailable"),
        ]
    )
    func temporaryFailures(status: Int, code: String) async throws {
        let failure = MockTransport.Step.error(code, status: status)
        #expect(await outcome([failure, failure, .tokens("a1")], grant: grant).outcome.text == "a1")
        let (outcome, fixture, authenticator) = await outcome([failure, failure, failure, .tokens("a1")], grant: grant)
        #expect(outcome.error?.code == .serverTransient)
        #expect(outcome.forms.map { $0["refresh_token"] } == ["r0", "r0", "r0"])
        #expect(try await authenticator.text() == "a1")
        #expect(fixture.forms.last?["refresh_token"] == "r0")
    }

    @Test(
        "Doesn't retry a refresh that the server has failed to process, and keeps the token",
        arguments: [(400, "server_error"), (403, "server_error")]
    )
    func failedRefreshes(status: Int, code: String) async throws {
        let failure = MockTransport.Step.error(code, status: status)
        let (outcome, fixture, authenticator) = await outcome([failure, .tokens("a1")], grant: grant)
        #expect((outcome.error?.code, outcome.error?.isPossiblyLostRotation) == (.serverTransient, false))
        #expect(try await authenticator.text() == "a1")
        #expect(fixture.forms.map { $0["refresh_token"] } == ["r0", "r0"])
        #expect(await self.outcome([failure, failure, .tokens("a1")]).outcome.text == "a1")
    }

    @Test("A Retry-After beyond the time limit ends the refresh and delays the next one", .shows("T11"))
    func longRetryAfter() async throws {
        let (outcome, fixture, authenticator) = await outcome([.retryAfter(40), .tokens("a1")], grant: grant)
        #expect(outcome.error?.code == .serverTransient)
        #expect(outcome.error?.retryAfter == .seconds(40))
        fixture.time.advance(by: .seconds(10))
        let soon = fixture.time.now + .seconds(29)
        let error = await #expect(throws: OAuth2Error.self) { try await authenticator.accessToken(until: soon) }
        #expect(error?.retryAfter == .seconds(30))
        #expect(fixture.endpoint.requests.count == 1)
        let patient = await #expect(throws: OAuth2Error.self) {
            try await authenticator.accessToken(until: fixture.time.now + .seconds(60))
        }
        #expect(patient?.retryAfter == .seconds(30))
        fixture.time.advance(by: .seconds(30))
        #expect(try await authenticator.text() == "a1")
    }

    @Test(
        "Makes three attempts to reach an unreachable server, and reports no lost rotation",
        .shows("T12"),
        arguments: [NetworkError.Code.cannotConnect, .cannotResolveHost, .tls]
    )
    func unreachableServer(code: NetworkError.Code) async {
        let failure = MockTransport.Step.failure(NetworkError(code, "unreachable", isUnprocessed: true))
        #expect(await outcome([failure, failure, .tokens("a1")], grant: grant).outcome.text == "a1")
        let lost = await outcome([failure, .error("invalid_grant")], grant: grant).outcome
        #expect((lost.error?.code, lost.error?.isPossiblyLostRotation) == (.reauthenticationRequired, false))
    }

    @Test(
        "Doesn't resend a refresh token while a lost request may be pending, and reports a possibly lost rotation",
        .shows("S2", "T13"),
        arguments: [
            .failure(NetworkError(.timedOut, "cut")), .failure(NetworkError(.connectionLost, "cut")),
            .failure(NetworkError(.invalidResponse, "cut")), .failure(NetworkError(.bodyTooLarge, "cut")),
            .text("<html>"), .status(200), .status(204), .text("bad gateway", status: 502), .text("", status: 504),
            .text("", status: 524), .error("invalid_grant", status: 504), .error("server_error", status: 500),
            .error("invalid_grant", status: 500), .error("invalid_request", status: 501), .status(507), .status(599),
        ] as [MockTransport.Step]
    )
    func lostAnswers(lost: MockTransport.Step) async throws {
        for (last, text) in [(MockTransport.Step.tokens("a1", refresh: "r1"), "a1"), (.error("invalid_grant"), nil)] {
            let (outcome, fixture, authenticator) = await outcome([lost, last], grant: grant)
            #expect(outcome.error?.isPossiblyLostRotation == true)
            #expect(outcome.error?.code != .reauthenticationRequired)
            for pause in [0, 10, 9] {
                fixture.time.advance(by: .seconds(pause))
                let error = await #expect(throws: OAuth2Error.self) { try await authenticator.accessToken() }
                #expect(error?.retryAfter == .seconds([0: 20, 10: 10, 9: 1][pause] ?? 0))
            }
            #expect(fixture.forms.count == 1)
            fixture.time.advance(by: .seconds(1))
            if let text {
                #expect(try await authenticator.text() == text)
            } else {
                let error = await failure { try await authenticator.accessToken() }
                #expect((error?.code, error?.isPossiblyLostRotation) == (.reauthenticationRequired, true))
            }
            #expect(fixture.forms.map { $0["refresh_token"] } == ["r0", "r0"])
        }
    }
}

/// A store that contains another token after a removal.
private final class RotatingStore: TokenStoreWrapper {
    let store: InMemoryTokenStore
    private let replacement: String

    init(store: InMemoryTokenStore, replacement: String) {
        self.store = store
        self.replacement = replacement
    }

    func remove(_ key: String, ifVersion version: TokenRecordVersion) -> Bool {
        guard var record = store.load(key)?.record else { return false }
        record.refreshToken = Secret(replacement)
        record.refreshAttempt = nil
        _ = store.compareAndSwap(key, expectedVersion: version, record: record)
        return false
    }
}
