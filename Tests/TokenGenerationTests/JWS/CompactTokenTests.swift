import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Compact tokens", .computing)
struct CompactTokenTests {
    private let verifier: JWTVerifier

    init() throws {
        verifier = try Fixture.verifier()
    }

    @Test(
        "Requires exactly three segments",
        .shows("A6", "RFC 7515 §3.1, §7.1", "RFC 7519 §5.1, §5.2", "RFC 8725bis §3.3 (kinds)"),
        arguments: [
            "", ".", "..", "...", "a", "a.b", ".a.b", "a..b", "a.b.", "a.b.c.d", "a.b.c.d.e", " a.b.c",
        ]
    )
    func segments(token: String) {
        #expect(code { try verifier.verify(token) } == .malformedToken)
        #expect(code { try UnverifiedToken(token) } == .malformedToken)
        let message = error { try verifier.verify(token) }?.message
        #expect(message?.contains("JWE") == (token.count { $0 == "." } == 4))
    }

    @Test("Rejects a token with anything around or inside it", .shows("RFC 8725bis §3.14"))
    func surroundings() throws {
        let token = try Fixture.token()
        let parts = token.split(separator: ".").map(String.init)
        let changes: [String] = [
            " " + token, token + " ", token + "\n", token + "=", token + ".", "." + token, token + "\u{0}",
            "Bearer " + token, "\"" + token + "\"", parts[0] + "=." + parts[1] + "." + parts[2],
            parts.joined(separator: ". "), parts.joined(separator: ".\n"), token + "!!!!", token + "A", token + "AAAA",
        ]
        for changed in changes {
            let found = code { try verifier.verify(changed) }
            #expect(
                found == .malformedToken || (changed.hasPrefix(token) && found == .signatureInvalid),
                "\(changed.count)"
            )
        }
        #expect(code { try verifier.verify(token + "AAAA") } == .signatureInvalid)
    }

    @Test(
        "Rejects noncanonical base64url even if the signature covers it",
        .shows("D1"),
        arguments: [
            ("eyJhbGciOiJFUzI1NiJ9", "eyJleHAiOjE3MDAwMDAxMDB9", nil),
            ("eyJhbGciOiJFUzI1NiJ9=", "eyJleHAiOjE3MDAwMDAxMDB9", .malformedToken),
            ("eyJhbGciOiJFUzI1NiJ9", "eyJleHAiOjE3MDAwMDAxMDB9====", .malformedToken),
            ("eyJhbGciOiJFUzI1NiJ9", "eyJleHAiOjE3MDAwMDAxMDAgfR", .malformedToken),
            ("eyJhbGciOiJFUzI1NiJ9", "eyJleHAiOjE3MDAwMDAxMDAgfQ", nil),
            ("eyJhbGciOiJFUzI1NiJ9", "eyJleHAiOjE3MDAwMDAxMDAgfQ==", .malformedToken),
            ("eyJhbGciOiJFUzI1NiJ9", "eyJleHAi OjE3MDAwMDAxMDB9", .malformedToken),
            ("eyJhbGciOiJFUzI1NiJ9", "+yJleHAiOjE3MDAwMDAxMDB9", .malformedToken),
        ] as [(String, String, TokenError.Code?)]
    )
    func canonical(header: String, payload: String, expected: TokenError.Code?) throws {
        let token = try Fixture.signed(header + "." + payload)
        #expect(code { try verifier.verify(token) } == expected)
    }

    @Test("Requires a signature of exactly 64 bytes, with r and s in range, also in JSON", .shows("C13"))
    func signatures() throws {
        let token = try Fixture.token()
        let end = try #require(token.lastIndex(of: "."))
        let input = String(token[...end])
        let parts = token.split(separator: ".")
        let signature = try Base64URL.decode(String(token[token.index(after: end)...]))
        let zeros = [UInt8](repeating: 0, count: 32)
        let order: [UInt8] = [
            0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xBC, 0xE6, 0xFA, 0xAD,
            0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
        ]
        let r = Array(signature[..<32])
        let s = Array(signature[32...])
        for forged in [
            [], [0], zeros, zeros + zeros, zeros + s, r + zeros, order + s, r + order, order + order, [0] + signature,
            signature + [0], Array(signature.dropLast()), Array(signature.dropFirst()),
            [0x30, 0x44, 0x02, 0x20] + r + [0x02, 0x20] + s, s + r, [UInt8](repeating: 255, count: 64), r,
            signature + signature,
        ] as [[UInt8]] {
            let text = Base64URL.encode(forged)
            #expect(code { try verifier.verify(input + text) } == .signatureInvalid, "\(forged.count)")
            let json = #"{"payload":"\#(parts[1])","protected":"\#(parts[0])","signature":"\#(text)"}"#
            let found = code { try JSONFixture.verifier().verify(json: json, requiring: .any) }
            #expect(found == .signatureInvalid, "\(forged.count)")
        }
        #expect(throws: Never.self) { try verifier.verify(input + Base64URL.encode(signature)) }
    }

    @Test("The limits on token and header are exact", .shows("D7"))
    func sizes() throws {
        func token(payloadSize: Int) throws -> String {
            try Fixture.token(
                payload: #"{"exp":1700000100,"x":""# + String(repeating: "x", count: payloadSize - 24) + "\"}"
            )
        }
        var policy = ValidationPolicy()
        let token = try token(payloadSize: 49_000)
        #expect(throws: Never.self) { try verifier.verify(token) }
        policy.limits.size = token.utf8.count
        #expect(throws: Never.self) { try Fixture.verifier(policy).verify(token) }
        policy.limits.size = token.utf8.count - 1
        #expect(code { try Fixture.verifier(policy).verify(token) } == .tooLarge)
        #expect(code { try UnverifiedToken(token, maximumSize: token.utf8.count - 1) } == .tooLarge)
        #expect(code { try verifier.verify(String(repeating: "a", count: 65_537)) } == .tooLarge)
        #expect(code { try verifier.verify(String(repeating: "a", count: 65_536)) } == .malformedToken)

        func header(_ size: Int) -> String {
            #"{"alg":"ES256","x":""# + String(repeating: "x", count: size - 22) + "\"}"
        }
        #expect(header(8_192).utf8.count == 8_192)
        #expect(throws: Never.self) { try verifier.verify(Fixture.token(header: header(8_192))) }
        for size in [8_193, 8_194, 20_000] {
            #expect(code { try verifier.verify(Fixture.token(header: header(size))) } == .tooLarge)
        }
    }

    @Test("Limits the depth of header and claims", .shows("D4"))
    func depth() throws {
        let deep = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        #expect(code { try verifier.verify(Fixture.token(header: #"{"alg":"ES256","x":\#(deep)}"#)) } == .tooLarge)
        #expect(code { try verifier.verify(Fixture.token(payload: #"{"exp":1700000100,"x":\#(deep)}"#)) } == .tooLarge)
        let bottomless = #"{"exp":1700000100,"x":"# + String(repeating: "[", count: 40_000)
        #expect(code { try verifier.verify(Fixture.token(payload: bottomless)) } == .tooLarge)
    }

    @Test("Random text of a token's characters never traps", .shows("D15"), arguments: 0..<4)
    func randomText(seed: Int) throws {
        var numbers = Fixture.SeededNumbers(state: UInt64(seed))
        let characters = Array("eyJhbGciOiJFUzI1NiJ9.-_=+/ \u{0}é{}\"".utf8)
        for _ in 0..<500 {
            let bytes = (0..<Int.random(in: 0...60, using: &numbers)).map { _ in
                characters[Int.random(in: characters.indices, using: &numbers)]
            }
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(code { try verifier.verify(text) } != nil)
        }
    }
}
