import Foundation
import Testing
import TokenGeneration

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

    @Test("Both verifiers reject a change", arguments: Change.allCases)
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
    @Test("Rejects disclosures that nothing refers to, which the peer ignores")
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
