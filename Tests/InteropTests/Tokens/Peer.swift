import Foundation
import Testing
import TokenGeneration

/// Another implementation of ES256 tokens, called with `Tests/Interop/peer.py`.
enum Peer: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case pyJWT = "pyjwt"
    case joserfc
    case jwcrypto
    /// The command `openssl dgst`, which reads only PEM keys.
    case openSSL = "openssl"

    /// The peers that support JWK.
    static let libraries: [Peer] = [.pyJWT, .joserfc, .jwcrypto]

    var testDescription: String { rawValue }

    /// The peer's verdict about a token.
    struct Verdict: Sendable {
        let isAccepted: Bool
        let reason: String
        let header: JSONObject?
        let claims: JSONObject?
    }

    /// Returns the peer's verdicts about tokens, from one process.
    func check(_ tokens: [String], key: JSONValue) async throws -> [Verdict] {
        let answers = try await ask(tokens.map { ["do": "check", "token": .string($0), "key": key] })
        return answers.map { answer in
            Verdict(
                isAccepted: answer["accepted"] == true,
                reason: answer["reason"]?.string ?? "",
                header: answer["header"]?.object,
                claims: answer["claims"]?.object
            )
        }
    }

    /// Returns the peer's verdict about a token.
    func check(_ token: String, key: JSONValue) async throws -> Verdict {
        try #require(await check([token], key: key).first)
    }

    /// Returns a token that the peer signs.
    func make(key: JSONValue, header: JSONObject, claims: JSONObject) async throws -> String {
        let answer = try await ask([["do": "make", "key": key, "header": .object(header), "claims": .object(claims)]])
        return try #require(answer.first?["token"]?.string)
    }

    /// Returns a new key in every format that the peer writes.
    func generate() async throws -> JSONObject {
        try #require(await ask([["do": "generate"]]).first)
    }

    /// Returns the public key in every format that the peer writes.
    func describe(_ key: JSONValue) async throws -> JSONObject {
        try #require(await ask([["do": "describe", "key": key]]).first)
    }

    private func ask(_ requests: [JSONObject]) async throws -> [JSONObject] {
        let process = try await ChildProcess.run(
            Interop.required("INTEROP_PYTHON"),
            [Interop.file("peer.py"), rawValue],
            input: requests.map { $0.serialized() + "\n" }.joined()
        )
        try #require(process.status == 0, "\(rawValue) failed: \(process.errors.suffix(2000))")
        let answers = try process.output.split(separator: "\n").map { try JSONObject(parsing: String($0)) }
        try #require(answers.count == requests.count)
        return answers
    }
}

extension JSONValue {
    /// Returns a key in a peer's format.
    static func pem(_ text: String) -> JSONValue { ["pem": .string(text)] }

    /// Returns a key in a peer's format.
    static func jwk(_ key: JWK) -> JSONValue { ["jwk": .object(key.members)] }
}

/// A token with a valid signature and any header and payload, which `JWTGenerator` can't create.
enum SignedText {
    static func token(header: String, payload: String, service: ES256SigningService) throws -> String {
        let input = base64URL(Data(header.utf8)) + "." + base64URL(Data(payload.utf8))
        return try input + "." + base64URL(service.sign(data: Data(input.utf8)))
    }

    static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Returns the bytes that a lenient decoder reads, without padding and invalid characters.
    static func octets(_ text: Substring) -> Data? {
        let digits = String(text.filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") })
            .replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: digits + String(repeating: "=", count: (4 - digits.count % 4) % 4))
    }
}

/// The reference implementation of SD-JWTs, called with `Tests/Interop/sdjwt_peer.py`.
enum SDJWTPeer {
    /// The serialization of an SD-JWT.
    enum Form: String, CaseIterable, Sendable {
        case compact
        case json
    }

    /// A key binding's key and transaction.
    struct Binding {
        var key: SigningKey
        var nonce = "n-1"
        var audience = "https://shop.example"

        var rule: KeyBindingRule { .required(nonce: nonce, audience: audience) }
    }

    /// Claims, the paths that are disclosable, and those that the holder discloses.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let claims: JSONObject
        let disclosable: [[JSONValue]]
        let disclosed: [[JSONValue]]
        /// The claims that a verifier sees, without the holder's key.
        let expected: JSONObject
    }

    /// Returns an SD-JWT that the peer issues.
    static func issue(
        _ item: Case,
        key: SigningKey,
        holder: VerificationKey?,
        hash: NamedHash = .sha256,
        as form: Form = .compact
    ) async throws -> String {
        let answer = try await ask([
            "do": "issue", "claims": .object(item.claims), "disclosable": .array(item.disclosable.map { .array($0) }),
            "key": .object(key.privateJWK().members), "holder": holder.map { .object($0.jwk.members) } ?? .null,
            "decoys": true, "hash": .string(hash.rawValue), "form": .string(form.rawValue),
        ])
        return try #require(answer["token"]?.string)
    }

    /// Returns the peer's presentation of an SD-JWT.
    static func present(
        _ token: String,
        disclosing paths: [[JSONValue]],
        binding: Binding? = nil,
        hash: NamedHash = .sha256,
        as form: Form = .compact
    ) async throws -> String {
        let answer = try await ask([
            "do": "present", "token": .string(token), "disclose": .array(paths.map { .array($0) }),
            "binding": try binding.map { binding in
                [
                    "key": .object(try binding.key.privateJWK().members), "nonce": .string(binding.nonce),
                    "aud": .string(binding.audience),
                ]
            } ?? .null,
            "hash": .string(hash.rawValue), "form": .string(form.rawValue),
        ])
        return try #require(answer["token"]?.string)
    }

    /// Returns the claims that the peer finds in a presentation, or `nil` if it rejects it.
    static func verify(
        _ token: String,
        key: VerificationKey,
        binding: Binding? = nil,
        hash: NamedHash = .sha256,
        as form: Form = .compact
    ) async throws -> JSONObject? {
        let answer = try await ask([
            "do": "verify", "token": .string(token), "key": .object(key.jwk.members),
            "nonce": binding.map { .string($0.nonce) } ?? .null,
            "aud": binding.map { .string($0.audience) } ?? .null, "hash": .string(hash.rawValue),
            "form": .string(form.rawValue),
        ])
        try #require(answer["claims"] != nil || answer["refused"] != nil)
        return answer["claims"]?.object
    }

    private static func ask(_ request: JSONObject) async throws -> JSONObject {
        let process = try await ChildProcess.run(
            Interop.required("INTEROP_PYTHON"),
            [Interop.file("sdjwt_peer.py")],
            input: request.serialized() + "\n"
        )
        try #require(process.status == 0, "sd-jwt failed: \(process.errors.suffix(2000))")
        return try JSONObject(parsing: process.output)
    }
}

extension SDJWTPeer.Case {
    static let all: [SDJWTPeer.Case] = [
        SDJWTPeer.Case(
            testDescription: "members at the top",
            claims: ["given_name": "Ünï 😀", "family_name": "Doe", "age": 42, "email": nil],
            disclosable: [["given_name"], ["age"], ["email"]],
            disclosed: [["given_name"], ["email"]],
            expected: ["family_name": "Doe", "given_name": "Ünï 😀", "email": nil]
        ),
        SDJWTPeer.Case(
            testDescription: "nested members",
            claims: ["address": ["country": "DE", "locality": "Köln", "geo": ["lat": 50.9, "lon": 6.9]]],
            disclosable: [["address", "locality"], ["address", "geo", "lat"], ["address", "geo", "lon"]],
            disclosed: [["address", "geo", "lon"]],
            expected: ["address": ["country": "DE", "geo": ["lon": 6.9]]]
        ),
        SDJWTPeer.Case(
            testDescription: "recursive disclosures",
            claims: ["address": ["country": "DE", "locality": "Köln", "geo": ["lat": 50.9]], "x": true],
            disclosable: [
                ["address"], ["address", "locality"], ["address", "geo"], ["address", "geo", "lat"], ["x"],
            ],
            disclosed: [["address", "geo", "lat"]],
            expected: ["address": ["country": "DE", "geo": ["lat": 50.9]]]
        ),
        SDJWTPeer.Case(
            testDescription: "elements of arrays",
            claims: ["nationalities": ["DE", "FR", "US"], "matrix": [[1, 2], [3, 4]]],
            disclosable: [
                ["nationalities", 0], ["nationalities", 2], ["matrix", 0, 1], ["matrix", 1, 0],
            ],
            disclosed: [["nationalities", 2], ["matrix", 0, 1]],
            expected: ["nationalities": ["FR", "US"], "matrix": [[1, 2], [4]]]
        ),
        SDJWTPeer.Case(
            testDescription: "recursive elements with members",
            claims: ["degrees": [["type": "MSc", "year": 2020], ["type": "BSc", "year": 2018]]],
            disclosable: [
                ["degrees"], ["degrees", 0], ["degrees", 1], ["degrees", 0, "year"], ["degrees", 1, "year"],
            ],
            disclosed: [["degrees", 1, "year"]],
            expected: ["degrees": [["type": "BSc", "year": 2018]]]
        ),
        SDJWTPeer.Case(
            testDescription: "empty and odd values",
            claims: ["a": [:], "b": [], "c": "", "d": "\"\\\n\u{1}/", "e.f": false, "g": 12_345_678_901_234_567],
            disclosable: [["a"], ["b"], ["c"], ["d"], ["e.f"], ["g"]],
            disclosed: [["a"], ["b"], ["c"], ["d"], ["e.f"], ["g"]],
            expected: ["a": [:], "b": [], "c": "", "d": "\"\\\n\u{1}/", "e.f": false, "g": 12_345_678_901_234_567]
        ),
        SDJWTPeer.Case(
            testDescription: "nothing to hide",
            claims: ["a": 1],
            disclosable: [],
            disclosed: [],
            expected: ["a": 1]
        ),
    ]

    /// The disclosable paths.
    var disclosablePaths: [ClaimPath] { disclosable.map(Self.path) }
    /// The paths that the holder discloses.
    var disclosedPaths: [ClaimPath] { disclosed.map(Self.path) }

    private static func path(_ steps: [JSONValue]) -> ClaimPath {
        ClaimPath(steps.map { step in step.string.map { .name($0) } ?? .index(step.number?.integer ?? -1) })
    }
}
