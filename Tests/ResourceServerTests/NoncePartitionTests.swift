import Foundation
import MockNetworking
import Networking
import OAuth2
import ResourceServer
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

@Suite("Nonces that name their partition", .limitedConcurrency)
struct NoncePartitionTests {
    private let api: GuardedAPI
    private let prover: DPoPProofGenerator
    private let token: String

    init() throws {
        api = try GuardedAPI()
        prover = try DPoPProofGenerator(key: .generate(.es256))
        token = try api.token(["cnf": ["jkt": .string(prover.thumbprint)]])
    }

    /// Returns a server of a partition, with a replay cache in memory.
    private func server(_ partition: String?, secret: Secret? = Secret("of all servers")) throws -> GuardedAPI {
        var server = api
        server.verifier.dpop = DPoPVerifier(replayCache: InMemoryReplayCache())
        server.verifier.nonces = try RotatingDPoPNonces(secret: secret, period: .seconds(60), partition: partition)
        return server
    }

    private func proof(_ nonce: String?) throws -> String {
        try prover.proof(
            method: "GET",
            url: GuardedAPI.url,
            accessToken: token,
            nonce: nonce,
            date: api.issuer.time.date
        )
    }

    /// Returns the nonce of a response that demands one.
    private func nonce(_ server: GuardedAPI, for proof: String) async throws -> String {
        let refusal = await #expect(throws: AccessRefusal(.nonceNeeded, "")) {
            try await server.verify(dpop: token, proof: proof)
        }
        #expect((refusal?.status, refusal?.written.first?.parameters["error"]) == (401, "use_dpop_nonce"))
        return try #require(refusal?.headers["DPoP-Nonce"])
    }

    private func accepts(_ server: GuardedAPI, _ proof: String) async throws {
        #expect(try await server.verify(dpop: token, proof: proof).binding == .key)
    }

    @Test(
        "A proof is accepted only where its nonce was made, and once there; others respond with another nonce",
        .shows("L27", "O38", "RFC 9449 §8, §9 (your API)")
    )
    func partitions() async throws {
        let (one, other) = (try server("a"), try server("b"))
        let first = try await nonce(one, for: try proof(nil))
        #expect(first.hasPrefix("a."))
        let used = try proof(first)
        try await accepts(one, used)
        // A replay at another server, and at the same one.
        let second = try await nonce(other, for: used)
        #expect(second.hasPrefix("b."))
        let refusal = await #expect(throws: AccessRefusal(.invalidProof, "")) {
            try await one.verify(dpop: token, proof: used)
        }
        #expect((refusal?.cause as? TokenError)?.code == .replayed)
        // One more request, and then none while the client stays.
        for _ in 1...3 { try await accepts(other, try proof(second)) }
        for _ in 1...3 { try await accepts(one, try proof(first)) }
        #expect(try await nonce(one, for: try proof(second)) == first)
    }

    @Test("Servers of one partition accept each other's nonces, with a common secret and cache", .shows("O38"))
    func sharedSecret() async throws {
        let one = try server("a")
        var other = try server("a")
        other.verifier.dpop = one.verifier.dpop
        let first = try await nonce(one, for: try proof(nil))
        let used = try proof(first)
        try await accepts(other, used)
        let refusal = await #expect(throws: AccessRefusal(.invalidProof, "")) {
            try await one.verify(dpop: token, proof: used)
        }
        #expect((refusal?.cause as? TokenError)?.code == .replayed)
        // Nonces of the previous period, too.
        one.issuer.time.advance(by: .seconds(60))
        let next = try await one.verify(dpop: token, proof: try proof(first)).responseHeaders["DPoP-Nonce"]
        #expect(next?.hasPrefix("a.") == true && next != first)
        one.issuer.time.advance(by: .seconds(60))
        _ = try await nonce(one, for: try proof(first))
    }

    @Test(
        "A client can't change the name in a nonce, and nonces without a name aren't those of a partition",
        .shows("L28", "RFC 9449 §8, §9 (your API)")
    )
    func forgery() async throws {
        let (one, other, plain) = (try server("a"), try server("b"), try server(nil))
        let first = try await nonce(one, for: try proof(nil))
        let code = String(first.dropFirst(2))
        let none = try await nonce(plain, for: try proof(nil))
        for forged in ["b." + code, code, "." + code, "b." + none, none, "b", "b.", first + "b", "a.b." + code] {
            _ = try await nonce(other, for: try proof(forged))
        }
        for forged in [code, "a." + none, "A." + code, first + "."] { _ = try await nonce(one, for: try proof(forged)) }
        for forged in [first, code] { _ = try await nonce(plain, for: try proof(forged)) }
        try await accepts(plain, try proof(none))
    }

    @Test("After a restart with an empty replay cache, nonces of the earlier process aren't accepted", .shows("L27"))
    func restart() async throws {
        let before = try server("a", secret: nil)
        let used = try proof(try await nonce(before, for: try proof(nil)))
        try await accepts(before, used)
        _ = try await nonce(try server("a", secret: nil), for: used)
    }

    @Test("When a server's replay cache is full, proofs are rejected, not forgotten", .shows("L27"), arguments: [1, 3])
    func full(capacity: Int) async throws {
        var server = try server("a")
        server.verifier.dpop = DPoPVerifier(replayCache: InMemoryReplayCache(capacity: capacity, quotaPerKey: capacity))
        let nonce = try await nonce(server, for: try proof(nil))
        for _ in 0..<capacity { try await accepts(server, try proof(nonce)) }
        let refusal = await #expect(throws: AccessRefusal(.undecided, "")) {
            try await server.verify(dpop: token, proof: try proof(nonce))
        }
        #expect(((refusal?.cause as? TokenError)?.code, refusal?.status) == (.replayCacheFull, 503))
    }

    @Test(
        "A name must be suitable for a nonce",
        arguments: ["", "a b", "a.b", "a\"", "ä", "a\n", String(repeating: "a", count: 65)]
    )
    func names(name: String) throws {
        #expect(throws: OAuth2Error(.assertionFailed, "")) { try RotatingDPoPNonces(partition: name) }
        let long = String(repeating: "a", count: 62) + "-_"
        #expect(try RotatingDPoPNonces(partition: long).accepted(at: .now).allSatisfy { $0.utf8.count == 64 + 1 + 22 })
    }
}
