import Foundation
import Networking
import TestSupport
import TestVectors
import Testing
import TokenGeneration

@testable import HTTPSignatures

/// Tests of adcontextprotocol/adcp's signed requests and webhooks, from the folder in
/// `JOSE_VECTORS_DIR`.
@Suite(
    "AdCP signature vectors",
    .enabled(if: ExternalVector.exists(AdCPVector.folder), "\(ExternalVector.hint)"),
    .computing
)
struct AdCPVectorTests {
    /// The codes of this library for each of theirs, without its prefix.
    static let codes: [String: Set<HTTPSignatureError.Code>] = [
        "signature_required": [.noSignature],
        "signature_tag_invalid": [.noSignature],
        "signature_header_malformed": [.malformedSignature, .malformedComponent],
        "target_uri_malformed": [.malformedComponent],
        "signature_params_incomplete": [.missingParameter],
        "signature_window_invalid": [.expired, .tooOld, .malformedSignature],
        "signature_alg_not_allowed": [.algorithmMismatch],
        "signature_components_incomplete": [.insufficientCoverage],
        "signature_components_unexpected": [.invalidComponent],
        "signature_key_unknown": [.unknownKey],
        "signature_key_purpose_invalid": [.keyRefused, .unknownKey],
        "signature_key_revoked": [.keyRefused],
        "signature_revocation_stale": [.undecided],
        "signature_invalid": [.signatureInvalid],
        "signature_digest_mismatch": [.digestMismatch],
        "signature_replayed": [.replayed],
        "signature_rate_abuse": [.undecided],
    ]

    /// The results that differ, with `nil` for an accepted signature. Docs/Standards.md has the
    /// reasons.
    static let differences: [String: HTTPSignatureError.Code?] = [
        "request-signing/positive/002-post-with-content-digest": .malformedComponent,
        "request-signing/negative/013-expires-le-created": .signatureInvalid,
        "request-signing/negative/020-rate-abuse": .signatureInvalid,
        "request-signing/negative/022-multi-valued-content-type": .signatureInvalid,
        "request-signing/negative/023-multi-valued-content-digest": .signatureInvalid,
        "request-signing/profile-3.2/negative/002-multiple-trailing-dots": .signatureInvalid,
        "webhook-signing/negative/013-expires-le-created": nil,
    ]

    /// The positive vectors whose URL is signed in another form than the received one.
    static let rewrittenURLs: Set<String> = [
        "request-signing/positive/006-dot-segment-path",
        "request-signing/positive/008-percent-encoded-path",
        "request-signing/positive/009-percent-encoded-unreserved-decoded",
        "webhook-signing/positive/005-percent-encoded-path",
    ]

    @Test("All files are read")
    func completeness() {
        #expect(AdCPVector.all.count == 72)
        #expect(AdCPVector.all.count { $0.expectedError == nil } == 21)
        let ids = Set(AdCPVector.all.map(\.testDescription))
        #expect(ids.isSuperset(of: Self.differences.keys))
        #expect(ids.isSuperset(of: Self.rewrittenURLs))
        let names = Set(AdCPURL.all.map(\.testDescription))
        #expect(names.count == 37)
        #expect(names.isSuperset(of: AdCPURL.differences.keys))
    }

    @Test(
        "accepts each valid message, and rejects each invalid one with its code",
        .shows("RFC 9421 §3.2", "RFC 9421 §4", "RFC 9421 §7.2, §7.3"),
        arguments: AdCPVector.all
    )
    func vector(_ vector: AdCPVector) async throws {
        let isRewritten = Self.rewrittenURLs.contains(vector.testDescription)
        if isRewritten { #expect(try await vector.result() == .signatureInvalid) }
        let code = try await vector.result(at: isRewritten ? vector.signedURL : nil)
        if let difference = Self.differences[vector.testDescription] {
            #expect(code == difference)
        } else if let expected = vector.expectedError {
            let codes = try #require(Self.codes[expected])
            #expect(code.map(codes.contains) == true, "\(expected): \(code as Any)")
        } else {
            #expect(code == nil)
        }
    }

    @Test("builds the published signature base", .shows("RFC 9421 §2.5"), arguments: AdCPVector.all)
    func base(_ vector: AdCPVector) throws {
        guard vector.expectedError == nil, let base = vector.base else { return }
        let isRewritten = Self.rewrittenURLs.contains(vector.testDescription)
        let message = try vector.message(at: isRewritten ? vector.signedURL : nil)
        let parameters = try SignatureFields(message.headers).signature("sig1").parameters
        #expect(try SignatureBase(of: message, parameters: parameters).text == base)
    }

    @Test("derives the published values of a URL", .shows("RFC 9421 §2.2"), arguments: AdCPURL.all)
    func url(_ vector: AdCPURL) throws {
        let found = try? TargetURI(vector.url)
        let (text, authority) = (found?.text, found?.authority)
        if let difference = AdCPURL.differences[vector.testDescription] {
            #expect(text == difference && text != vector.text)
        } else {
            #expect(text == vector.text)
            #expect(authority == vector.authority)
        }
    }
}

/// A URL of adcontextprotocol/adcp, with the values that a signature covers.
struct AdCPURL: Sendable, CustomTestStringConvertible {
    static let all: [Self] = {
        let path = "\(AdCPVector.folder)/request-signing/canonicalization.json"
        let file = try? JSONObject(parsing: ExternalVector.data(path))
        return (file?["cases"]?.array ?? []).compactMap(\.object).map { Self($0) }
    }()

    /// The values of `@target-uri` that differ, with `nil` for a rejected URL.
    static let differences: [String: String?] = [
        "dns-root-dot-stripped": "https://example.com./p",
        "dns-root-dot-with-port-stripped": "https://example.com.:8443/p",
        "idn-to-punycode": nil,
        "idn-mixed-case-to-punycode": nil,
        "idn-u-label-root-dot-stripped": nil,
        "idn-a-label-root-dot-stripped": "https://xn--bcher-kva.example./p",
        "multiple-trailing-dots-rejected": "https://example.com../p",
        "internal-empty-dns-label-rejected": "https://example..com/p",
        "userinfo-stripped": nil,
        "dot-segment-collapsed": "https://seller.example.com/adcp/./create_media_buy",
        "double-dot-segment-collapsed": "https://seller.example.com/a/b/../c",
        "dot-segment-with-consecutive-slashes": "https://seller.example.com/a/.//b",
        "double-dot-segment-with-consecutive-slashes": "https://seller.example.com/a//../b",
        "percent-encoded-hex-uppercased": "https://seller.example.com/path%2fhere",
        "percent-encoded-unreserved-tilde-decoded": "https://seller.example.com/%7Efoo",
        "percent-encoded-unreserved-alpha-decoded": "https://seller.example.com/%41%42C",
        "fragment-stripped": nil,
        "malformed-ipv6-zone-identifier": "https://[fe80::1]/p",
    ]

    let testDescription: String
    let url: String
    /// `nil` if the URL is malformed.
    let text: String?
    let authority: String?

    private init(_ members: JSONObject) {
        testDescription = members["name"]?.string ?? ""
        url = members["input_url"]?.string ?? ""
        text = members["expected_target_uri"]?.string
        authority = members["expected_authority"]?.string
    }
}

/// A message of adcontextprotocol/adcp.
struct AdCPVector: Sendable, CustomTestStringConvertible {
    static let folder = "adcp-signing"

    /// All messages, or none if the folder is missing.
    static let all: [Self] = [
        "request-signing/positive", "request-signing/negative", "request-signing/profile-3.2/positive",
        "request-signing/profile-3.2/negative", "webhook-signing/positive", "webhook-signing/negative",
    ]
    .flatMap { ExternalVector.paths(in: "\(folder)/\($0)") }.compactMap { try? Self($0) }

    let testDescription: String
    /// Their code without `request_` or `webhook_`; `nil` for a valid message.
    let expectedError: String?
    let base: String?
    private let kind: String
    private let members: JSONObject
    private let request: JSONObject
    private let keys: [JSONObject]

    private init(_ path: String) throws {
        testDescription = String(path.dropFirst(Self.folder.count + 1).dropLast(".json".count))
        kind = String(testDescription.prefix { $0 != "-" })
        members = try JSONObject(parsing: ExternalVector.data(path))
        request = try #require(members["request"]?.object)
        base = members["expected_signature_base"]?.string
        expectedError = members["expected_outcome"]?.object?["error_code"]?.string
            .map { String($0.dropFirst("request_".count)) }
        let all = try JSONObject(parsing: ExternalVector.data("\(Self.folder)/\(kind)-signing/keys.json"))
        let override = members["jwks_override"]?.object
        let ids = (members["jwks_ref"]?.array ?? []).compactMap(\.string)
        keys =
            (override?["keys"]?.array ?? []).compactMap(\.object)
            + ids.compactMap { id in
                override?[id]?.object
                    ?? all["keys"]?.array?.compactMap(\.object).first { $0["kid"]?.string == id }
            }
    }

    /// The URL in the published signature base.
    var signedURL: String? {
        base?.split(separator: "\n").first { $0.hasPrefix("\"@target-uri\": ") }
            .map { String($0.dropFirst("\"@target-uri\": ".count)) }
    }

    /// Returns the code of verifying the message, or `nil` if it's accepted.
    func result(at url: String? = nil) async throws -> HTTPSignatureError.Code? {
        let date = Date(timeIntervalSince1970: TimeInterval(members["reference_now"]?.number?.integer ?? 0))
        let cache = InMemoryReplayCache(quotaPerKey: 1)
        var verifier = try MessageVerifier(profile: profile, keys: signatureKeys(), replayCache: cache)
        verifier.currentDate = { date }
        let message = try message(at: url)
        let body = Data((request["body"]?.string ?? "").utf8)
        let state = members["test_harness_state"]?.object
        if state?["replay_cache_entries"] != nil { _ = try await verifier.verify(message, body: body) }
        if state?["per_keyid_cap_filled_for"] != nil || state?["replay_cache_per_keyid_cap_hit"] != nil {
            let id = try #require(keys.first?["kid"]?.string)
            let thumbprint = try keySet().verificationKey(withID: id, selection: KeySelection()).thumbprint
            #expect(try cache.remember("1", signedBy: thumbprint, until: date + 900, at: date))
        }
        do {
            _ = try await verifier.verify(message, body: body)
            return nil
        } catch {
            return error.code
        }
    }

    func message(at url: String? = nil) throws -> HTTPMessage {
        var headers = HTTPHeaders()
        let fields = try #require(request["headers"]?.object)
        for field in fields {
            let value = try #require(field.value.string)
            headers.append(name: field.name, value: standard(value, in: field.name))
        }
        return HTTPMessage(
            method: try #require(HTTPMethod(request["method"]?.string ?? "")),
            url: try #require(url ?? request["url"]?.string),
            headers: headers
        )
    }

    /// Profile 3.1 encodes signatures with base64url, which no structured field has.
    private func standard(_ value: String, in name: String) -> String {
        guard name.lowercased() == "signature",
            expectedError != "signature_header_malformed", !testDescription.contains("profile-3.2")
        else { return value }
        return value.split(separator: ":", omittingEmptySubsequences: false).enumerated()
            .map { index, part in
                index.isMultiple(of: 2)
                    ? String(part)
                    : String(part.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
            }
            .joined(separator: ":")
    }

    private var profile: SignatureProfile {
        var profile = SignatureProfile(components: [
            .required(.method), .required(.targetURI), .required(.authority), .contentField("content-type"),
        ])
        let digest = members["verifier_capability"]?.object?["covers_content_digest"]?.string
        if kind == "webhook" || digest == "required" { profile.components.append(.ifContent("content-digest")) }
        if digest == "forbidden" { profile.prohibitedComponents = ["content-digest"] }
        profile.maximumLifetime = .seconds(300)
        profile.tag = "adcp/\(kind)-signing/v1"
        profile.requiredParameters = ["created", "expires", "keyid", "alg"]
        profile.algorithms = [.edDSA, .ed25519, .es256]
        return profile
    }

    private func keySet() throws -> JWKSet {
        try JWKSet(parsing: JSONObject([("keys", .array(keys.map { .object($0) }))]).serialized())
    }

    /// The rules about purposes and revocation are the application's.
    private func signatureKeys() throws -> SignatureKeys {
        let set = SignatureKeys(try keySet())
        let uses = kind == "webhook" ? ["webhook-signing", "request-signing"] : ["request-signing"]
        let refused = keys.filter { !uses.contains($0["adcp_use"]?.string ?? "") }.compactMap { $0["kid"]?.string }
        let state = members["test_harness_state"]?.object
        let revoked = state?["revoked_kids"] ?? state?["revocation_list"]?.object?["revoked_kids"]
        let prohibited = Set(refused + (revoked?.array ?? []).compactMap(\.string))
        let isStale = state?["revocation_list_stale_seconds"] != nil
        return SignatureKeys { query in
            if isStale { throw HTTPSignatureError(.undecided, "the revocation list is too old") }
            if let id = query.keyID, prohibited.contains(id) {
                throw HTTPSignatureError(.keyRefused, "the key is revoked or has another purpose")
            }
            return try await set.key(for: query)
        }
    }
}
