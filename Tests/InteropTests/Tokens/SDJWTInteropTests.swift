import Foundation
import TestSupport
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

    @Test(
        "The peer issues; this package holds, and both present and verify",
        .shows("J24", "RFC 9901 §4.2"),
        arguments: SDJWTPeer.Case.all
    )
    func theirs(item: SDJWTPeer.Case) async throws {
        let token = try await Peer.issue(item, key: issuerKey, holder: holderKey.verificationKey)
        let holder = try SDJWTHolder(token, verifiedBy: verifier)
        #expect(Self.withoutKey(holder.claims) == item.claims)
        #expect(Set(holder.disclosablePaths) == Set(item.disclosablePaths))
        #expect(try holder.presentation(disclosing: holder.disclosablePaths).compact == token)
        try await check(present(holder, item).compact, item)
        try await check(Peer.present(token, disclosing: item.disclosed, binding: binding), item)
    }

    @Test(
        "This package issues; the peer holds, and both present and verify",
        .shows("J24", "RFC 9901 §4.2"),
        arguments: SDJWTPeer.Case.all
    )
    func ours(item: SDJWTPeer.Case) async throws {
        let token = try issue(item).compact
        try await check(Peer.present(token, disclosing: item.disclosed, binding: binding), item)
        try await check(present(SDJWTHolder(token, verifiedBy: verifier), item).compact, item)
        let unbound = try await Peer.present(token, disclosing: item.disclosed)
        #expect(try Self.withoutKey(verify(unbound, .compact, .notRequired).claims) == item.expected)
        let claims = try await Peer.verify(unbound, key: issuerKey.verificationKey)
        #expect(claims.map(Self.withoutKey) == item.expected)
    }

    @Test("Both compute every hash", .shows("RFC 9901 §4.1.1"), arguments: [NamedHash.sha384, .sha512])
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

    @Test("Exchanges the flattened JSON serialization, whose members the peer has elsewhere", .shows("RFC 9901 §8"))
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

    @Test("Exchanges the general JSON serialization with two signatures", .shows("RFC 9901 §8"))
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

/// Forgeries and what both verifiers say about them.
@Suite("Interoperability: changed SD-JWTs", .enabled(if: Interop.isPrepared, Interop.hint))
struct SDJWTTamperingTests {
    private typealias Peer = SDJWTPeer

    /// The changes to a presentation of the claims `name` and `age` with a key binding.
    enum Change: String, CaseIterable, Sendable {
        case signature, payload, otherIssuer, removedDisclosure, repeatedDisclosure, removedBinding
        case otherNonce, otherAudience, otherHolder, otherType, bindingOfOtherSelection
        case repeatedDigest, repeatedClaim, claimOverVisibleOne, weakHash

        var code: TokenError.Code {
            switch self {
            case .signature, .payload, .otherIssuer, .otherHolder: .signatureInvalid
            case .removedDisclosure, .bindingOfOtherSelection: .hashMismatch
            case .repeatedDisclosure, .repeatedDigest, .repeatedClaim, .claimOverVisibleOne: .disclosureMismatch
            case .removedBinding: .keyBindingMismatch
            case .otherNonce: .nonceMismatch
            case .otherAudience: .audienceMismatch
            case .otherType: .typeMismatch
            case .weakHash: .unsupportedAlgorithm
            }
        }
    }

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

    private func issued(by key: SigningKey? = nil) throws -> SDJWT {
        try SDJWTIssuer(type: "example+sd-jwt", signingService: key ?? issuerKey).issue(
            ["name": "Alice", "age": 42, "admin": false],
            disclosable: ["name", "age"],
            holderKey: holderKey.verificationKey
        )
    }

    private func presented(
        _ token: String,
        _ paths: [ClaimPath] = ["name", "age"],
        nonce: String? = nil,
        audience: String? = nil,
        key: SigningKey? = nil
    ) throws -> String {
        try SDJWTHolder(unverified: token).presentation(
            disclosing: paths,
            nonce: nonce ?? binding.nonce,
            audience: audience ?? binding.audience,
            signingService: key ?? holderKey
        ).compact
    }

    /// Returns the token with a key binding whose header or signature is wrong.
    private func bound(
        _ text: String,
        _ header: JSONObject = ["typ": "kb+jwt"],
        by key: SigningKey? = nil
    ) throws -> String {
        let model = try presented(text)
        let claims = try UnverifiedToken(String(#require(model.split(separator: "~").last))).unverifiedClaims
        let signed = try JWTGenerator(header: header, payload: claims, signingService: key ?? holderKey).token()
        return text + signed
    }

    /// Signs a payload whose digests and disclosures come from valid tokens.
    private func signed(_ change: (inout JSONObject, inout [String]) throws -> Void) throws -> String {
        let token = try issued()
        var disclosures = token.compact.split(separator: "~").dropFirst().map(String.init)
        var payload = try UnverifiedSDJWT(token.compact).unverifiedPayload
        try change(&payload, &disclosures)
        let jwt = try JWTGenerator(
            header: ["typ": "example+sd-jwt"],
            payload: payload,
            signingService: issuerKey
        ).token()
        return ([jwt] + disclosures).map { $0 + "~" }.joined()
    }

    private func changed(_ change: Change) throws -> (token: String, isBound: Bool) {
        let token = try issued().compact
        let valid = try presented(token)
        var parts = valid.split(separator: "~").map(String.init)
        switch change {
        case .signature, .payload:
            var jwt = parts[0].split(separator: ".").map(String.init)
            if change == .payload {
                jwt[1] = SignedText.base64URL(Data(#"{"admin":true}"#.utf8))
                return (jwt.joined(separator: ".") + "~", false)
            }
            jwt[2] = SignedText.base64URL(Data(repeating: 1, count: 64))
            parts[0] = jwt.joined(separator: ".")
        case .otherIssuer: return (try presented(issued(by: SigningKey.generate(.es256)).compact), true)
        case .removedDisclosure: parts.remove(at: 1)
        case .repeatedDisclosure: parts.insert(parts[1], at: 1)
        case .removedBinding: return (parts.dropLast().map { $0 + "~" }.joined(), true)
        case .otherNonce: return (try presented(token, nonce: "n-2"), true)
        case .otherAudience: return (try presented(token, audience: "https://other.example"), true)
        case .otherHolder: return (try bound(token, by: SigningKey.generate(.es256)), true)
        case .otherType: return (try bound(token, ["typ": "JWT"]), true)
        case .bindingOfOtherSelection:
            parts[parts.count - 1] = String(try #require(presented(token, ["name"]).split(separator: "~").last))
        case .repeatedDigest:
            return (
                try signed { payload, _ in
                    let digests = try #require(payload["_sd"]?.array)
                    payload["_sd"] = .array(digests + digests.prefix(1))
                }, false
            )
        case .repeatedClaim:
            let other = try issued().compact
            return (
                try signed { payload, disclosures in
                    let added = try #require(UnverifiedSDJWT(other).unverifiedPayload["_sd"]?.array)
                    payload["_sd"] = .array((payload["_sd"]?.array ?? []) + added)
                    disclosures += other.split(separator: "~").dropFirst().map(String.init)
                }, false
            )
        case .claimOverVisibleOne: return (try signed { payload, _ in payload["name"] = "Bob" }, false)
        case .weakHash: return (try signed { payload, _ in payload["_sd_alg"] = "sha-1" }, false)
        }
        return (parts.joined(separator: "~"), true)
    }

    @Test("Both verifiers reject a change", .shows("V19", "RFC 9901 §7.1"), arguments: Change.allCases)
    func rejected(change: Change) async throws {
        let (token, isBound) = try changed(change)
        let rule = isBound ? binding.rule : KeyBindingRule.notRequired
        let error = #expect(throws: TokenError.self) { try verifier.verify(token, keyBinding: rule) }
        #expect(error?.code == change.code)
        let claims = try await Peer.verify(
            token,
            key: issuerKey.verificationKey,
            binding: isBound ? binding : nil
        )
        #expect(claims == nil)
    }

    @Test("Both verifiers accept what isn't changed")
    func accepted() async throws {
        let token = try presented(issued().compact)
        #expect(try verifier.verify(token, keyBinding: binding.rule).claims["name"] == "Alice")
        let claims = try await Peer.verify(token, key: issuerKey.verificationKey, binding: binding)
        #expect(claims?["name"] == "Alice")
        let unchanged = try signed { _, _ in }
        #expect(try verifier.verify(unchanged, keyBinding: .notRequired).claims["age"] == 42)
        let found = try await Peer.verify(unchanged, key: issuerKey.verificationKey)
        #expect(found?["age"] == 42)
    }

    /// [RFC 9901 §7.1](https://www.rfc-editor.org/rfc/rfc9901#section-7.1), step 5, requires the
    /// rejection.
    @Test("Rejects disclosures that nothing refers to, which the peer ignores", .shows("V19", "RFC 9901 §7.1"))
    func unreferenced() async throws {
        let token = try issued().compact
        let foreign = SignedText.base64URL(Data(#"["salt","admin",true]"#.utf8))
        let changed = token.split(separator: "~")
        for forged in [token + foreign + "~", "\(changed[0])~\(foreign)~"] {
            let error = #expect(throws: TokenError.self) { try verifier.verify(forged, keyBinding: .notRequired) }
            #expect(error?.code == .disclosureMismatch)
            let claims = try await Peer.verify(forged, key: issuerKey.verificationKey)
            #expect(claims?["admin"] == false)
        }
    }
}
