import Foundation
import MockNetworking
import Networking
import OAuth2
import ResourceServer
import Synchronization
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

@Suite("Key-bound access tokens", .limitedConcurrency)
struct BoundTokenTests {
    private var api: GuardedAPI
    private let prover: DPoPProofGenerator

    init() throws {
        api = try GuardedAPI()
        api.verifier.dpop?.algorithms = [.es256]
        prover = try DPoPProofGenerator(key: .generate(.es256))
    }

    private func boundToken() throws -> String { try api.token(["cnf": ["jkt": .string(prover.thumbprint)]]) }

    private func proof(
        _ token: String,
        method: String = "GET",
        url: String = GuardedAPI.url,
        nonce: String? = nil,
        late: TimeInterval = 0,
        by generator: DPoPProofGenerator? = nil
    ) throws -> String {
        try (generator ?? prover).proof(
            method: method,
            url: url,
            accessToken: token,
            nonce: nonce,
            date: api.issuer.time.date.addingTimeInterval(-late)
        )
    }

    @Test(
        "rs-dpop-auth-scheme-case-insensitivity: accepts a token with a proof of its key, for any case of the scheme",
        .shows("O14", "RFC 9449 §4.3, §7", "FAPI 2.0 §5.3.4 (1)", "FAPI 2.0 §5.3.4 (5)"),
        arguments: ["DPoP", "dpop", "DPOP"]
    )
    func good(scheme: String) async throws {
        let token = try boundToken()
        let found = try await api.verify(dpop: token, proof: try proof(token), scheme: scheme)
        #expect((found.binding, found.subject) == (.key, "ada"))
        #expect(found.responseHeaders.isEmpty)
    }

    @Test("A later check of a key-bound token challenges with its scheme")
    func laterRequirement() async throws {
        let token = try boundToken()
        let found = try await api.verify(dpop: token, proof: try proof(token))
        let refusal = #expect(throws: AccessRefusal(.insufficientScope, "")) {
            try api.verifier.check(found, requires: AccessRequirement(scope: ["orders.delete"]))
        }
        #expect(refusal?.written.map(\.scheme) == ["DPoP"])
    }

    @Test("Accepts a proof only once", .shows("F8", "RFC 9449 §4.3, §7"))
    func replay() async throws {
        let token = try boundToken()
        let proof = try proof(token)
        _ = try await api.verify(dpop: token, proof: proof)
        let refusal = await #expect(throws: AccessRefusal(.invalidProof, "")) {
            try await api.verify(dpop: token, proof: proof)
        }
        #expect((refusal?.cause as? TokenError)?.code == .replayed)
        #expect(
            refusal?.challenge
                == #"DPoP realm="orders", algs="ES256", error="invalid_dpop_proof", error_description="The DPoP proof is missing or not valid", Bearer realm="orders""#
        )
        #expect(refusal?.status == 401)
    }

    @Test(
        "Rejects a bound token sent as a bearer token, with or without a proof, and an unbound one sent with DPoP",
        .shows("F8", "RFC 9449 §4.3, §7", "FAPI 2.0 §5.3.4 (5)")
    )
    func downgrade() async throws {
        let token = try boundToken()
        for proof in [nil, try proof(token)] {
            let refusal = await #expect(throws: AccessRefusal(.invalidToken, "")) {
                try await api.verify(dpop: token, proof: proof, scheme: "Bearer")
            }
            let challenges = AuthenticationChallenge.parse(refusal?.challenge ?? "")
            #expect(challenges.map(\.scheme) == ["Bearer", "DPoP"])
            #expect(challenges.map { $0.parameters["error"] } == ["invalid_token", nil])
        }
        let unbound = try api.token()
        await #expect(throws: AccessRefusal(.invalidToken, "")) {
            try await api.verify(dpop: unbound, proof: try proof(unbound))
        }
    }

    @Test("Rejects a token with another key's proof", .shows("F8"))
    func otherKey() async throws {
        let token = try boundToken()
        let thief = try DPoPProofGenerator(key: .generate(.es256))
        let refusal = await #expect(throws: AccessRefusal(.invalidToken, "")) {
            try await api.verify(dpop: token, proof: try proof(token, by: thief))
        }
        #expect((refusal?.cause as? TokenError)?.code == .confirmationMismatch)
        // RFC 9449 §7.1, figure 16.
        let challenge = try #require(refusal?.written.first)
        #expect((challenge.scheme, challenge.parameters["error"]) == ("DPoP", "invalid_token"))
        #expect(challenge.parameters["algs"] == "ES256")
    }

    @Test("Rejects a proof for another request, token or time, and two proofs", .shows("F8"))
    func otherProofs() async throws {
        let token = try boundToken()
        let es384 = try DPoPProofGenerator(key: .generate(.es384))
        let cases: [(String?, TokenError.Code?)] = [
            (nil, nil), ("", .malformedToken), ("a.b.c", .malformedToken),
            (try proof(token, method: "POST"), .methodMismatch),
            (try proof(token, url: "https://api.example/other"), .targetMismatch),
            (try proof("another"), .accessTokenMismatch), (try proof(token, late: 121), .tooOld),
            (try proof(token, late: -61), .issuedInFuture), (try proof(token, by: es384), .unsupportedAlgorithm),
            (try api.token(), .typeMismatch),
        ]
        for (proof, code) in cases {
            let refusal = await #expect(throws: AccessRefusal(.invalidProof, "")) {
                try await api.verify(dpop: token, proof: proof)
            }
            #expect((refusal?.cause as? TokenError)?.code == code)
        }
        var headers: HTTPHeaders = ["Authorization": "DPoP \(token)"]
        for name in ["DPoP", "dpop"] { headers.append(name: name, value: try proof(token)) }
        await #expect(throws: AccessRefusal(.invalidProof, "")) { try await api.verifier.verify(api.request(headers)) }
    }

    @Test("Without DPoP, rejects a bound token and doesn't offer the scheme")
    func unsupported() async throws {
        // There is deliberately no default, because servers must decide which replay cache they
        // share.
        #expect(AccessTokenVerifier(issuer: "a", audience: "b", keys: .fixed(JWKSet(keys: []))).dpop == nil)
        var api = api
        api.verifier.dpop = nil
        let token = try boundToken()
        let refusal = await #expect(throws: AccessRefusal(.noToken, "")) {
            try await api.verify(dpop: token, proof: try proof(token))
        }
        #expect(refusal?.challenge == #"Bearer realm="orders""#)
        await #expect(throws: AccessRefusal(.invalidToken, "")) { try await api.verify(bearer: token) }
    }

    @Test("Responds with 503 when the replay cache is full, and when nonces are unavailable")
    func undecided() async throws {
        struct Broken: DPoPNonces {
            func accepted(at date: Date) throws -> [String] { throw CancellationError() }
        }
        let token = try boundToken()
        for nonces in [nil, Broken(), ClosureNonces { _ in [] }] as [(any DPoPNonces)?] {
            var api = api
            if let nonces {
                api.verifier.nonces = nonces
            } else {
                let cache = InMemoryReplayCache(capacity: 1)
                api.verifier.dpop = DPoPVerifier(replayCache: cache, currentDate: api.issuer.time.timeSource.date)
                _ = try await api.verify(dpop: token, proof: try proof(token))
            }
            let refusal = await #expect(throws: AccessRefusal(.undecided, "")) {
                try await api.verify(dpop: token, proof: try proof(token))
            }
            #expect(refusal?.status == 503)
            #expect((refusal?.cause as? TokenError)?.code == (nonces == nil ? .replayCacheFull : nil))
        }
    }

    @Test("One clock reading decides about the token, nonce, proof and replay", .shows("F2"))
    func oneReading() async throws {
        var api = api
        let now = api.issuer.time.date
        let readings = Mutex(0)
        api.verifier.policy.currentDate = {
            // Nothing would be valid at the time of a second reading.
            readings.withLock { count in
                count += 1
                return now + Double(count - 1) * 1_000_000
            }
        }
        let asked = Mutex<[Date]>([])
        api.verifier.nonces = ClosureNonces { date in
            asked.withLock { $0.append(date) }
            return ["n"]
        }
        let token = try api.token([
            "cnf": ["jkt": .string(prover.thumbprint)], "auth_time": .number(JSONNumber(api.now)),
        ])
        let request = api.request(["Authorization": "DPoP \(token)", "DPoP": try proof(token, nonce: "n")])
        let found = try await api.verifier.verify(
            request,
            requires: AccessRequirement(maximumAuthenticationAge: .seconds(60))
        )
        #expect(found.binding == .key)
        #expect(readings.withLock { $0 } == 1)
        #expect(asked.withLock { $0 } == [now])
    }

    @Test("A token bound to a key and a certificate requires both", .shows("FAPI 2.0 §5.3.4 (5)"))
    func both() async throws {
        let certificate = Data("the DER of a certificate".utf8)
        let token = try api.token([
            "cnf": [
                "jkt": .string(prover.thumbprint), "x5t#S256": "RWiVO5X5pHhKM-S0JcLCR60sq90gNr8hjsGnAyLdl9I",
            ]
        ])
        func verify(_ certificate: Data?) async throws -> VerifiedAccessToken {
            try await api.verifier.verify(
                api.request(["Authorization": "DPoP \(token)", "DPoP": try proof(token)], certificate: certificate)
            )
        }
        #expect(try await verify(certificate).binding == .key)
        await #expect(throws: AccessRefusal(.invalidToken, "")) { try await verify(nil) }
    }

    // MARK: Nonces

    @Test("Responds to a proof without a nonce with one, and accepts the next proof", .shows("RFC 9449 §4.3, §7"))
    func nonces() async throws {
        var api = api
        api.verifier.nonces = try RotatingDPoPNonces(secret: Secret("shared by all servers"), period: .seconds(60))
        let token = try boundToken()
        let refusal = await #expect(throws: AccessRefusal(.nonceNeeded, "")) {
            try await api.verify(dpop: token, proof: try proof(token))
        }
        #expect(refusal?.status == 401)
        let nonce = try #require(refusal?.headers["DPoP-Nonce"])
        let challenge = try #require(refusal?.written.first)
        #expect((challenge.scheme, challenge.parameters["error"]) == ("DPoP", "use_dpop_nonce"))
        #expect(try await api.verify(dpop: token, proof: try proof(token, nonce: nonce)).responseHeaders.isEmpty)

        api.issuer.time.advance(by: .seconds(60))
        let found = try await api.verify(dpop: token, proof: try proof(token, nonce: nonce))
        let next = try #require(found.responseHeaders["DPoP-Nonce"])
        #expect(next != nonce)
        api.issuer.time.advance(by: .seconds(60))
        await #expect(throws: AccessRefusal(.nonceNeeded, "")) {
            try await api.verify(dpop: token, proof: try proof(token, nonce: nonce))
        }
        #expect(try await api.verify(dpop: token, proof: try proof(token, nonce: next)).binding == .key)
    }

    @Test("Servers with the same secret accept each other's nonces, and no others")
    func sharedNonces() throws {
        let date = api.issuer.time.date
        let mine = try RotatingDPoPNonces(secret: Secret("a"))
        #expect(try mine.accepted(at: date) == RotatingDPoPNonces(secret: Secret("a")).accepted(at: date))
        #expect(try mine.accepted(at: date) != RotatingDPoPNonces(secret: Secret("b")).accepted(at: date))
        #expect(try RotatingDPoPNonces().accepted(at: date) != RotatingDPoPNonces().accepted(at: date))
        #expect(throws: OAuth2Error(.assertionFailed, "")) { try RotatingDPoPNonces(secret: Secret("")) }
        let nonces = try mine.accepted(at: date)
        #expect(nonces.count == 2)
        #expect(Set(nonces).count == 2)
        #expect(nonces.allSatisfy { $0.count == 22 })
    }
}

private struct ClosureNonces: DPoPNonces {
    let nonces: @Sendable (Date) -> [String]

    func accepted(at date: Date) -> [String] { nonces(date) }
}
