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
