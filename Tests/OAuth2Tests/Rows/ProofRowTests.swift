import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

/// Tests of rejected DPoP proofs and required nonces.
@Suite("Rejected requests: DPoP proofs", .limitedConcurrency)
struct ProofRowTests {
    /// The SHA-256 hash of `bound-1`, computed with Python's hashlib.
    private static let hashOfBound1 = "EpOx4yzc41i0tCmTizlMU9v-YNcwJcJ0Vf91WdP_B_M"

    @Test("Sends a bound token with the scheme DPoP and a new proof", .shows("3.16", "RFC 9449 §4.2", "RFC 9449 §7.1"))
    func proof() async throws {
        let call = RefusedCall.dpop()
        let url = try #require(URL(string: "https://api.example/reports?page=2#top"))
        let request = try await call.request(url: url)
        #expect(request.value(forHTTPHeaderField: "Authorization") == "DPoP bound-1")
        let claims = try request.proof()
        #expect((claims["htm"]?.string, claims["htu"]?.string) == ("GET", "https://api.example/reports"))
        #expect(claims["ath"]?.string == Self.hashOfBound1)
        #expect(claims["nonce"] == nil)
        #expect(try await call.request().proof()["jti"] != claims["jti"])
    }

    @Test("Signs proofs with the key of a generator, and sends nothing with a key that can't sign them")
    func keys() async throws {
        let key = try SigningKey.generate(.es256)
        let bound = MockTransport.Step.json(#"{"access_token":"b","token_type":"DPoP","expires_in":60}"#)
        let fixture = OAuth2Fixture(steps: [bound])
        let dpop = DPoPKey.generator(try DPoPProofGenerator(key: key))
        #expect(try await fixture.authenticator(dpop: dpop).text() == "b")
        let proof = try #require(fixture.endpoint.requests.first?.headers["DPoP"])
        let jwk = try UnverifiedToken(proof).unverifiedHeader["jwk"]?.object
        #expect(jwk?["x"] == (try key.privateJWK().members["x"]))
        let symmetric = OAuth2Fixture(steps: [bound])
        let code = await failureCode { try await symmetric.authenticator(dpop: .generated(.hs256)).text() }
        #expect(code == .assertionFailed)
        #expect(symmetric.endpoint.requests.isEmpty)
    }

    @Test(
        "Accepts the demand for a nonce in a challenge or the body, with 401 or 400, among other challenges",
        .shows("O13", "RFC 9449 §8, §9 (nonces)"),
        arguments: [
            (401, RefusedCall.nonceNeeded, ""),
            (401, #"Bearer realm="a", error="invalid_token", DPoP algs="ES256", error="use_dpop_nonce""#, ""),
            (401, #"Bearer error="use_dpop_nonce""#, ""),
            (400, "", #"{"error":"use_dpop_nonce"}"#),
            (401, "", #"{"error":"use_dpop_nonce"}"#),
        ]
    )
    func nonceDemands(status: Int, challenge: String, body: String) async throws {
        let call = RefusedCall.dpop()
        let action = try await call.action(
            status,
            challenge.isEmpty ? nil : challenge,
            headers: ["DPoP-Nonce": "n1"],
            body: body
        )
        #expect(action == .retry)
        let next = try await call.request()
        #expect(try next.proof()["nonce"]?.string == "n1")
        #expect(next.value(forHTTPHeaderField: "Authorization") == "DPoP bound-1")
        #expect(call.fixture.endpoint.requests.count == 1)
    }

    @Test(
        "Fails if a required nonce is missing or was already in the proof, and at the third of one call",
        .shows("R6")
    )
    func demandedNonces() async throws {
        let earlier = ["n1", "n2"].map { RefusedCall.failure(401, RefusedCall.nonceNeeded, nonce: $0) }
        let rows: [(nonces: [String?], earlier: Int, expected: DecidedAction)] = [
            ([nil], 0, .noRetry(.missingNonce)), (["n1", "n1"], 0, .noRetry(.repeatedNonce)), (["n2"], 1, .retry),
            (["n3"], 2, .noRetry(.tooManyNonces)),
        ]
        for row in rows {
            let call = RefusedCall.dpop()
            let started = call.fixture.time.now
            let state = Retry.State(authenticationErrors: Array(earlier.prefix(row.earlier)), started: started)
            var action = DecidedAction.none
            for nonce in row.nonces {
                var headers: HTTPHeaders = [:]
                headers["DPoP-Nonce"] = nonce
                action = try await call.action(401, RefusedCall.nonceNeeded, headers: headers, state: state)
            }
            #expect(action == row.expected, "\(row)")
        }
    }

    @Test("Sends three requests at most to a resource that always requires another nonce", .shows("R6"))
    func alwaysAnotherNonce() async throws {
        let answers = (1...9).map { number in
            MockTransport.Step.status(
                401,
                headers: ["WWW-Authenticate": RefusedCall.nonceNeeded, "DPoP-Nonce": "n\(number)"]
            )
        }
        let fixture = OAuth2Fixture(steps: [.boundToken("b1"), .boundToken("b2")], answers: answers)
        #expect(try await fixture.reason(fixture.authenticator(dpop: .generated())) == .noRetry(.tooManyNonces))
        #expect(fixture.resource.requests.count == 3)
        #expect(fixture.endpoint.requests.count == 1)
    }

    @Test(
        "Takes a nonce from every kind of response and uses it for that origin only",
        .shows("RFC 9449 §8, §9 (nonces)")
    )
    func nonceOfEveryAnswer() async throws {
        let fixture = OAuth2Fixture(
            steps: [.boundToken("b1")],
            answers: [
                .text("ok", headers: ["DPoP-Nonce": "n1"]), .status(404, headers: ["DPoP-Nonce": "n2"]),
                .text("ok", headers: ["DPoP-Nonce": "not a nonce"]),
                .text("ok", headers: ["DPoP-Nonce": String(repeating: "n", count: 1_025)]), .text("ok"), .text("ok"),
            ]
        )
        let client = fixture.client(fixture.authenticator(dpop: .generated()))
        for _ in 1...5 { _ = try? await client.makeRequest(URLRequest(url: OAuth2Fixture.api)) }
        let elsewhere = try #require(URL(string: "https://other.example/"))
        _ = try? await client.makeRequest(URLRequest(url: elsewhere))
        let nonces = try fixture.resource.requests.map { request in
            try UnverifiedToken(#require(request.headers["DPoP"])).unverifiedClaims["nonce"]?.string
        }
        #expect(nonces == [nil, "n1", "n2", "n2", "n2", nil])
    }

    @Test("Creates a proof again after a clock correction, once, and fails for any other rejected proof", .shows("R7"))
    func clockCorrection() async throws {
        let call = RefusedCall.dpop()
        let challenge = #"DPoP error="invalid_dpop_proof""#
        #expect(try await call.action(401, challenge) == .noRetry(.proofRejected))
        // The server's clock is five minutes ahead.
        let date = HTTPDateText.text(call.fixture.time.date.addingTimeInterval(300))
        #expect(try await call.action(401, challenge, headers: ["Date": date]) == .retry)
        let next = try await call.request()
        let issued = try #require(try next.proof()["iat"]?.number?.double)
        #expect(abs(issued - call.fixture.time.date.timeIntervalSince1970 - 300) <= 1)
        let state = Retry.State(
            authenticationErrors: [RefusedCall.failure(401, challenge)],
            started: call.fixture.time.now
        )
        #expect(
            try await call.action(401, challenge, headers: ["Date": date], state: state) == .noRetry(.proofRejected)
        )
        #expect(try await call.action(401, challenge, headers: ["Date": date]) == .noRetry(.proofRejected))
    }

    @Test("Rejects a bearer token in place of a bound one unless that is allowed", .shows("T5"))
    func bearerInsteadOfDPoP() async throws {
        let fixture = OAuth2Fixture()
        #expect(
            await failureCode { try await fixture.authenticator(dpop: .generated()).text() }
                == .unsupportedTokenType
        )
        var lenient = DPoPKey.generated()
        lenient.insecurelyAcceptsBearerTokens = true
        let call = RefusedCall(fixture, authenticator: fixture.authenticator(dpop: lenient))
        #expect(try await call.request().value(forHTTPHeaderField: "Authorization") == "Bearer access-2")
    }

    @Test("Another authenticator continues with the tokens and their key from the store", .shows("RFC 9449 §5"))
    func keyInStore() async throws {
        let store = InMemoryTokenStore()
        let fixture = OAuth2Fixture(steps: [.boundToken("b1", refresh: "r1"), .boundToken("b2", refresh: "r2")])
        let first = RefusedCall(fixture, authenticator: fixture.authenticator(store: store, dpop: .generated()))
        let second = RefusedCall(fixture, authenticator: fixture.authenticator(store: store, dpop: .generated()))
        let keys = try [await first.request(), await second.request()].map { request in
            try UnverifiedToken(#require(request.value(forHTTPHeaderField: "DPoP"))).unverifiedHeader["jwk"]
        }
        #expect(keys[0] != nil)
        #expect(keys[0] == keys[1])
        #expect(fixture.endpoint.requests.count == 1)
        fixture.time.advance(by: .seconds(3600))
        _ = try await second.request()
        let proof = try UnverifiedToken(#require(fixture.endpoint.requests.last?.headers["DPoP"]))
        #expect(proof.unverifiedHeader["jwk"] == keys[0])
        #expect((proof.unverifiedClaims["ath"], proof.unverifiedClaims["htm"]?.string) == (nil, "POST"))
        #expect(fixture.forms.last?["refresh_token"] == "r1")
    }
}

/// The formatting of HTTP dates.
enum HTTPDateText {
    static func text(_ date: Date) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.string(from: date)
    }
}
