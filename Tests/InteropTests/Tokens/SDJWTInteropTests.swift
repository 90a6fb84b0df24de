import Foundation
import Testing
import TokenGeneration

/// Exchanges SD-JWTs with sd-jwt-python in both directions.
@Suite("Interoperability: SD-JWTs", .enabled(if: Interop.isPrepared, Interop.hint))
struct SDJWTInteropTests {
    private typealias Peer = SDJWTPeer

    private let issuerKey: SigningKey
    private let holderKey: SigningKey
    private let binding: SDJWTPeer.Binding
    private let verifier: SDJWTVerifier

    init() throws {
        issuerKey = try SigningKey.generate(.es256)
        holderKey = try SigningKey.generate(.es256)
        binding = SDJWTPeer.Binding(key: holderKey)
        verifier = SDJWTVerifier(
            key: issuerKey.verificationKey,
            policy: ValidationPolicy(expiration: .optional)
        )
    }

    private func issue(_ item: SDJWTPeer.Case, _ hash: NamedHash = .sha256) throws -> SDJWT {
        var issuer = try SDJWTIssuer(type: "example+sd-jwt", signingService: issuerKey)
        issuer.decoys = 1...3
        issuer.hashAlgorithm = hash
        return try issuer.issue(
            item.claims,
            disclosable: item.disclosablePaths,
            holderKey: holderKey.verificationKey
        )
    }

    private func present(_ holder: SDJWTHolder, _ item: SDJWTPeer.Case) throws -> SDJWT {
        try holder.presentation(
            disclosing: item.disclosedPaths,
            nonce: binding.nonce,
            audience: binding.audience,
            signingService: holderKey
        )
    }

    private func verify(_ token: String, _ form: SDJWTPeer.Form, _ rule: KeyBindingRule) throws -> VerifiedSDJWT {
        form == .json
            ? try verifier.verify(json: Data(token.utf8), keyBinding: rule)
            : try verifier.verify(token, keyBinding: rule)
    }

    /// Checks that both verifiers see the expected claims in a presentation with a key binding.
    private func check(
        _ presentation: String,
        _ item: SDJWTPeer.Case,
        hash: NamedHash = .sha256,
        form: SDJWTPeer.Form = .compact
    ) async throws {
        let found = try verify(presentation, form, binding.rule)
        let claims = try await Peer.verify(
            presentation,
            key: issuerKey.verificationKey,
            binding: binding,
            hash: hash,
            as: form
        )
        #expect(claims == found.claims)
        #expect(Self.withoutKey(found.claims) == item.expected)
        #expect(found.keyBinding?.key.thumbprint == holderKey.verificationKey.thumbprint)
    }

    private static func withoutKey(_ claims: JSONObject) -> JSONObject {
        var claims = claims
        claims["cnf"] = nil
        return claims
    }

    @Test("The peer issues; this package holds, and both present and verify", arguments: SDJWTPeer.Case.all)
    func theirs(item: SDJWTPeer.Case) async throws {
        let token = try await Peer.issue(item, key: issuerKey, holder: holderKey.verificationKey)
        let holder = try SDJWTHolder(token, verifiedBy: verifier)
        #expect(Self.withoutKey(holder.claims) == item.claims)
        #expect(Set(holder.disclosablePaths) == Set(item.disclosablePaths))
        #expect(try holder.presentation(disclosing: holder.disclosablePaths).compact == token)
        try await check(present(holder, item).compact, item)
        try await check(Peer.present(token, disclosing: item.disclosed, binding: binding), item)
    }

    @Test("This package issues; the peer holds, and both present and verify", arguments: SDJWTPeer.Case.all)
    func ours(item: SDJWTPeer.Case) async throws {
        let token = try issue(item).compact
        try await check(Peer.present(token, disclosing: item.disclosed, binding: binding), item)
        try await check(present(SDJWTHolder(token, verifiedBy: verifier), item).compact, item)
        let unbound = try await Peer.present(token, disclosing: item.disclosed)
        #expect(try Self.withoutKey(verify(unbound, .compact, .notRequired).claims) == item.expected)
        let claims = try await Peer.verify(unbound, key: issuerKey.verificationKey)
        #expect(claims.map(Self.withoutKey) == item.expected)
    }

    @Test("Both compute every hash", arguments: [NamedHash.sha384, .sha512])
    func hashes(hash: NamedHash) async throws {
        let item = SDJWTPeer.Case.all[2]
        let ours = try issue(item, hash).compact
        let theirs = try await Peer.issue(item, key: issuerKey, holder: holderKey.verificationKey, hash: hash)
        for token in [ours, theirs] {
            let holder = try SDJWTHolder(token, verifiedBy: verifier)
            try await check(present(holder, item).compact, item, hash: hash)
            let presentation = try await Peer.present(
                token,
                disclosing: item.disclosed,
                binding: binding,
                hash: hash
            )
            try await check(presentation, item, hash: hash)
        }
    }

    @Test("Exchanges the flattened JSON serialization, whose members the peer has elsewhere")
    func flattened() async throws {
        let item = SDJWTPeer.Case.all[4]
        let key = holderKey.verificationKey
        let theirs = try await Peer.issue(item, key: issuerKey, holder: key, as: .json)
        let ours = try issue(item).flattenedJSON().serialized()
        for token in [theirs, ours] {
            let holder = try SDJWTHolder(json: Data(token.utf8), verifiedBy: verifier)
            #expect(Set(holder.disclosablePaths) == Set(item.disclosablePaths))
            // The peer doesn't compare “sd_hash” in JSON.
            try await check(present(holder, item).flattenedJSON().serialized(), item, form: .json)
            let unbound = try await Peer.present(token, disclosing: item.disclosed, as: .json)
            #expect(try Self.withoutKey(verify(unbound, .json, .notRequired).claims) == item.expected)
        }
    }

    @Test("Rejects the peer's key binding in JSON, which signs the hash of other text")
    func bindingInJSON() async throws {
        let token = try issue(SDJWTPeer.Case.all[0]).flattenedJSON().serialized()
        let bound = try await Peer.present(token, disclosing: [["age"]], binding: binding, as: .json)
        let error = #expect(throws: TokenError.self) { try verify(bound, .json, binding.rule) }
        #expect(error?.code == .hashMismatch)
        #expect(try verify(bound, .json, .notRequired).claims["age"] == 42)
    }

    @Test("Exchanges the general JSON serialization with two signatures")
    func general() async throws {
        let item = SDJWTPeer.Case.all[1]
        let presentation = try present(SDJWTHolder(issue(item).compact, verifiedBy: verifier), item).flattenedJSON()
        let payload = try #require(presentation["payload"]?.string)
        var first = presentation
        first["payload"] = nil
        let other = try SigningKey.generate(.es256)
        let signature = try JWSGenerator(
            payload: #require(SignedText.octets(payload[...])),
            header: ["typ": "example+sd-jwt"],
            signingService: other
        ).flattenedJSON()
        var second = signature
        second["payload"] = nil
        let token: JSONObject = [
            "payload": .string(payload), "signatures": .array([.object(first), .object(second)]),
        ]
        try await check(token.serialized(), item, form: .json)
    }
}
