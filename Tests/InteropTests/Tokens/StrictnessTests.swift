import Foundation
import Testing
import TokenGeneration

/// A header and a payload that are signed unchanged, with the expected result.
struct SignedCase: Sendable, CustomTestStringConvertible {
    let name: String
    let header: String
    let payload: String
    /// The expected error, or `nil` if the token is valid.
    let error: TokenError.Code?

    var testDescription: String { name }

    init(_ name: String, header: String = #"{"alg":"ES256"}"#, payload: String = good, error: TokenError.Code?) {
        self.name = name
        self.header = header
        self.payload = payload
        self.error = error
    }

    private static let good = #"{"sub":"user","exp":4102444800}"#

    static let all: [SignedCase] = [
        SignedCase("as usual", error: nil),
        SignedCase("white space in JSON", header: "{ \"alg\" :\n\"ES256\" }\t", error: nil),
        SignedCase("an escaped name", header: #"{"\u0061lg":"ES256"}"#, error: nil),
        SignedCase("a time with a fraction", payload: #"{"exp":4102444800.5}"#, error: nil),
        SignedCase("a time with an exponent", payload: #"{"exp":4.1024448e9}"#, error: nil),
        SignedCase("other languages", payload: #"{"exp":4102444800,"имя":"名前 😀 \ud83d\ude00"}"#, error: nil),
        SignedCase("an unknown header member", header: #"{"alg":"ES256","x":[1,{"y":null}]}"#, error: nil),
        SignedCase("alg none", header: #"{"alg":"none"}"#, error: .algorithmMismatch),
        SignedCase("alg in lower case", header: #"{"alg":"es256"}"#, error: .algorithmMismatch),
        SignedCase("alg of another curve", header: #"{"alg":"ES384"}"#, error: .algorithmMismatch),
        SignedCase("alg HS256", header: #"{"alg":"HS256"}"#, error: .algorithmMismatch),
        SignedCase("no alg", header: #"{"typ":"JWT"}"#, error: .malformedToken),
        SignedCase("alg not a string", header: #"{"alg":["ES256"]}"#, error: .malformedToken),
        SignedCase("alg twice", header: #"{"alg":"none","alg":"ES256"}"#, error: .malformedToken),
        SignedCase("kid not a string", header: #"{"alg":"ES256","kid":1}"#, error: .malformedToken),
        SignedCase("crit unknown", header: #"{"alg":"ES256","crit":["x"],"x":1}"#, error: .criticalHeaderUnsupported),
        SignedCase("crit empty", header: #"{"alg":"ES256","crit":[]}"#, error: .malformedToken),
        SignedCase("crit names alg", header: #"{"alg":"ES256","crit":["alg"]}"#, error: .malformedToken),
        SignedCase("header an array", header: #"["ES256"]"#, error: .malformedToken),
        SignedCase("header empty", header: "", error: .malformedToken),
        SignedCase("header with a byte order mark", header: "\u{FEFF}{\"alg\":\"ES256\"}", error: .malformedToken),
        SignedCase("header followed by more", header: #"{"alg":"ES256"}x"#, error: .malformedToken),
        SignedCase("payload an array", payload: "[1]", error: .malformedToken),
        SignedCase("payload empty", payload: "", error: .malformedToken),
        SignedCase("payload no JSON", payload: "{'sub':'user'}", error: .malformedToken),
        SignedCase("claim twice", payload: #"{"exp":4102444800,"sub":"a","sub":"b"}"#, error: .malformedToken),
        SignedCase("half a surrogate pair", payload: #"{"exp":4102444800,"a":"\ud83d"}"#, error: .malformedToken),
        SignedCase("NaN", payload: #"{"exp":NaN}"#, error: .malformedToken),
        SignedCase("a leading zero", payload: #"{"exp":04102444800}"#, error: .malformedToken),
        SignedCase("exp a string", payload: #"{"exp":"4102444800"}"#, error: .malformedClaim),
        SignedCase("exp true", payload: #"{"exp":true}"#, error: .malformedClaim),
        SignedCase("exp beyond numbers", payload: #"{"exp":1e999}"#, error: .malformedClaim),
        SignedCase("aud a number", payload: #"{"exp":4102444800,"aud":1}"#, error: .malformedClaim),
        SignedCase("sub a number", payload: #"{"exp":4102444800,"sub":1}"#, error: .malformedClaim),
        SignedCase("no exp", payload: #"{"sub":"user"}"#, error: .missingClaim),
        SignedCase("expired", payload: #"{"exp":1000000000}"#, error: .expired),
        SignedCase("not yet valid", payload: #"{"exp":4102444800,"nbf":4102444700}"#, error: .notYetValid),
        SignedCase("issued in the future", payload: #"{"exp":4102444800,"iat":4102444700}"#, error: .issuedInFuture),
    ]
}

@Suite("Interoperability: unusual tokens with a valid signature", .enabled(if: Interop.isPrepared, Interop.hint))
struct StrictnessTests {
    @Test("Accepts each unusual token, or rejects it with its code", arguments: SignedCase.all)
    func here(signed: SignedCase) throws {
        let service = try ES256SigningService.generate()
        let token = try SignedText.token(header: signed.header, payload: signed.payload, service: service)
        let verifier = JWTVerifier(key: service.verificationKey)
        if let error = signed.error {
            #expect(throws: TokenError(error, "")) { try verifier.verify(token) }
        } else {
            #expect(throws: Never.self) { try verifier.verify(token) }
        }
    }

    @Test("The peer accepts every token that the library accepts, with the same claims", arguments: Peer.allCases)
    func there(peer: Peer) async throws {
        let service = try ES256SigningService.generate()
        let verifier = JWTVerifier(key: service.verificationKey)
        var names: [String] = []
        var accepted: [(token: String, claims: JSONObject)] = []
        for signed in SignedCase.all {
            let token = try SignedText.token(header: signed.header, payload: signed.payload, service: service)
            guard let verified = try? verifier.verify(token) else { continue }
            names.append(signed.name)
            accepted.append((token, verified.claims))
        }
        #expect(names == SignedCase.all.filter { $0.error == nil }.map(\.name))
        let verdicts = try await peer.check(accepted.map(\.token), key: .pem(service.verificationKey.pem()))
        for (index, verdict) in verdicts.enumerated() {
            #expect(verdict.isAccepted, "\(names[index]): \(verdict.reason)")
            #expect(verdict.claims.map(Self.comparable) == Self.comparable(accepted[index].claims), "\(names[index])")
        }
    }

    /// Returns claims with `exp` as a number, which the peers print in another notation.
    private static func comparable(_ claims: JSONObject) -> [String: String] {
        var members: [String: String] = [:]
        for member in claims {
            members[member.name] = member.value.number?.double.map { "\($0)" } ?? "\(member.value)"
        }
        return members
    }
}
