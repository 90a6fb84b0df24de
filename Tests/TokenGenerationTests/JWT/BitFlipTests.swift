import Foundation
import Testing
import TokenGeneration

@Suite("Single changes of a token", .serialized)
struct BitFlipTests {
    private static let refusals: Set<TokenError.Code> = [
        .malformedToken, .algorithmMismatch, .signatureInvalid, .criticalHeaderUnsupported,
    ]

    @Test("Rejects every single-bit change of a valid token of each algorithm", arguments: JWSAlgorithm.implemented)
    func bits(algorithm: JWSAlgorithm) throws {
        let key = try Fixture.key(for: algorithm)
        let service = key
        let token = try JWTGenerator(header: ["typ": "JWT"], payload: ["exp": 4_000_000_000], signingService: service)
            .token()
        let verifier = JWTVerifier(key: key.verificationKey)
        #expect(try verifier.verify(token).claims == ["exp": 4_000_000_000])
        let octets = Array(token.utf8)
        for place in octets.indices {
            for bit in 0..<8 {
                var changed = octets
                changed[place] ^= 1 << bit
                let refusal = code { try verifier.verify(String(decoding: changed, as: UTF8.self)) }
                #expect(refusal.map(Self.refusals.contains) == true, "bit \(bit) of character \(place)")
            }
        }
    }

    @Test("Rejects a token with a removed end or an inserted character", arguments: JWSAlgorithm.implemented)
    func lengths(algorithm: JWSAlgorithm) throws {
        let key = try Fixture.key(for: algorithm)
        let token = try Fixture.token(header: #"{"alg":"\#(algorithm)"}"#, payload: #"{"exp":4000000000}"#, key: key)
        let verifier = JWTVerifier(key: key.verificationKey)
        #expect(code { try verifier.verify(token) } == nil)
        let octets = Array(token.utf8)
        for place in octets.indices {
            let cut = String(decoding: octets[..<place], as: UTF8.self)
            #expect(code { try verifier.verify(cut) }.map(Self.refusals.contains) == true)
            for addition in [UInt8(ascii: "A"), UInt8(ascii: "."), UInt8(ascii: "="), 0] {
                let longer = String(decoding: octets[..<place] + [addition] + octets[place...], as: UTF8.self)
                #expect(code { try verifier.verify(longer) }.map(Self.refusals.contains) == true)
            }
        }
    }
}
