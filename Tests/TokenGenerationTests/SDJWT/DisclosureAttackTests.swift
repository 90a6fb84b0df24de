import Foundation
import OpenSSLCrypto
import TestSupport
import Testing
import TokenGeneration

@Suite("Attacks with disclosures", .computing)
struct DisclosureAttackTests {
    private typealias Make = SDJWTFixture

    /// A handmade token. `#0` in it stands for the digest of its first disclosure, and so on.
    struct Attack: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let payload: String
        let disclosures: [String]
        /// The disclosures to present.
        let presented: [Int]

        init(_ name: String, _ payload: String, _ disclosures: [String] = [], presenting presented: [Int]? = nil) {
            (testDescription, self.payload, self.disclosures) = (name, payload, disclosures)
            self.presented = presented ?? Array(disclosures.indices)
        }

        func refusal() throws -> TokenError.Code? {
            try DisclosureAttackTests.refusal(resolved(payload), presented.map(disclosure))
        }

        private func disclosure(_ index: Int) throws -> String { Make.disclosure(try resolved(disclosures[index])) }

        private func resolved(_ json: String) throws -> String {
            try disclosures.indices.reduce(json) { json, index in
                guard json.contains("#\(index)") else { return json }
                return json.replacing("#\(index)", with: try Make.digest(disclosure(index)))
            }
        }
    }

    private static func refusal(_ payload: String, _ disclosures: [String] = []) throws -> TokenError.Code? {
        let token = try Make.token(payload, disclosures)
        let verifier = try Make.verifier()
        let refusal = code { try Make.verify(token, by: verifier) }
        // A holder runs the same checks.
        #expect(code { try SDJWTHolder(token, verifiedBy: verifier) } == refusal)
        #expect(code { try SDJWTHolder(unverified: token) } == refusal)
        return refusal
    }

    private static let (alice, city) = (#"["salt","name","Alice"]"#, #"["salt","city","Köln"]"#)
    private static let address = ##"["salt","address",{"_sd":["#0"]}]"##

    @Test(
        "Accepts disclosures that the token refers to, in any order",
        arguments: [
            Attack("one", ##"{"_sd":["#0"]}"##, [alice]),
            Attack("inner before outer", ##"{"_sd":["#1"]}"##, [city, address]),
        ]
    )
    func accepted(attack: Attack) throws {
        #expect(try attack.refusal() == nil)
    }

    @Test(
        "Rejects digests and disclosures that don't match one to one",
        .shows("V5", "V6", "V7", "RFC 9901 §7.1"),
        arguments: [
            Attack("a digest twice", ##"{"_sd":["#0","#0"]}"##, [alice]),
            Attack("a digest twice, nested", ##"{"_sd":["#0"],"a":{"_sd":["#0"]}}"##, [alice]),
            Attack("a decoy twice, in an array", ##"{"_sd":["#0","decoy"],"a":[{"...":"decoy"}]}"##, [alice]),
            Attack("a decoy twice", ##"{"_sd":["decoy","decoy","#0"]}"##, [alice]),
            Attack(
                "a digest again in a disclosure",
                ##"{"_sd":["#0","#1"]}"##,
                [##"["salt","a",{"_sd":["#1"]}]"##, city]
            ),
            Attack("an unreferenced disclosure", ##"{"_sd":["#0"]}"##, [alice, #"["salt","admin",true]"#]),
            Attack("only an unreferenced disclosure", "{}", [alice]),
            Attack("inner without outer", ##"{"_sd":["#1"]}"##, [city, address], presenting: [0]),
            Attack("a disclosure twice", ##"{"_sd":["#0"]}"##, [alice], presenting: [0, 0]),
            Attack("two values", ##"{"_sd":["#0","#1"]}"##, [#"["1","role","user"]"#, #"["2","role","admin"]"#]),
        ]
            + ["iss", "exp", "name"].map { name in
                let payload = ##"{"iss":"a","exp":1700000100,"name":"Bob","_sd":["#0"]}"##
                return Attack("a second \(name)", payload, [#"["salt","\#(name)",1]"#])
            }
    )
    func mismatch(attack: Attack) throws {
        #expect(try attack.refusal() == .disclosureMismatch)
    }

    @Test(
        "Rejects malformed disclosures, reserved names, and the wrong form of a disclosure",
        .shows("V8", "V9"),
        arguments: [
            Attack("an element as a member", ##"{"_sd":["#0"]}"##, [#"["salt","value"]"#]),
            Attack("a member as an element", ##"{"a":[{"...":"#0"}]}"##, [alice]),
        ]
            + [
                "[]", #"["salt"]"#, #"["salt","a","b","c"]"#, #"{"salt":"a"}"#, #""text""#, "[1,\"a\",2]",
                #"["salt",1,2]"#, #"["salt","a",{"b":1,"b":2}]"#, #"["salt","a",01]"#, #"["salt","a","\#u{1}"]"#,
                #"["salt","a",1] x"#, "", #"["salt","a","\ud800"]"#, #"["salt","_sd",[]]"#, #"["salt","...",[]]"#,
                #"["salt","_sd_alg",[]]"#,
            ].map { Attack($0, ##"{"_sd":["#0"]}"##, [$0]) }
    )
    func malformed(attack: Attack) throws {
        #expect(try attack.refusal() == .malformedDisclosure)
    }

    @Test(
        "Rejects digests and a hash algorithm in the wrong place, also in disclosures",
        .shows("V8", "V10", "RFC 9901 §4.1.1"),
        arguments: [
            #"{"_sd":"x"}"#, #"{"_sd":{}}"#, #"{"_sd":[1]}"#, #"{"_sd":["x",null]}"#, #"{"a":{"_sd":null}}"#,
            #"{"...":"x"}"#, #"{"a":{"...":"x"}}"#, #"{"a":[{"...":"x","b":1}]}"#, #"{"a":[{"...":1}]}"#,
            #"{"a":[[{"...":null}]]}"#, #"{"_sd_alg":1}"#, #"{"_sd_alg":null}"#, #"{"a":{"_sd_alg":"sha-256"}}"#,
            #"{"a":[{"_sd_alg":"sha-256"}]}"#,
        ].map { Attack($0, $0) }
            + [#"{"_sd":"x"}"#, #"{"...":"x"}"#, #"{"_sd_alg":"sha-256"}"#, #"[{"...":"x","b":1}]"#].map {
                Attack("disclosing \($0)", ##"{"_sd":["#0"]}"##, [#"["salt","a",\#($0)]"#])
            }
    )
    func misplaced(attack: Attack) throws {
        #expect(try attack.refusal() == .malformedClaim)
    }

    @Test(
        "Rejects hash algorithms other than SHA-256, SHA-384 and SHA-512",
        .shows("V10", "RFC 9901 §4.1.1"),
        arguments: ["sha-1", "md5", "sha-256-128", "SHA-256", ""]
    )
    func hash(name: String) throws {
        #expect(try Self.refusal(#"{"_sd_alg":"\#(name)"}"#) == .unsupportedAlgorithm)
    }

    @Test(
        "Rejects a disclosure that isn't strict base64url of UTF-8",
        .shows("V9"),
        arguments: [
            "WyJzIiwiYSIsMV0=", "WyJzIiwiYSIsMV", "WyJz IiwiYSIsMV0", "WyJzIiwiYSIsMV1", "W+", "\u{212A}",
            Base64URL.encode([0x5B, 0x22, 0xFF, 0x22, 0x5D]),
        ]
    )
    func encoding(text: String) throws {
        let payload = #"{"_sd":["\#(try Make.digest(text))"]}"#
        #expect(try Self.refusal(payload, [text]) == .malformedDisclosure)
    }

    @Test("Ignores decoys, and removes digests from the claims") func decoys() throws {
        let payload = #"{"_sd":["x"],"_sd_alg":"sha-256","a":[{"...":"y"},1],"b":{"_sd":[]}}"#
        let claims = try Make.verify(Make.token(payload)).claims
        #expect(claims == ["a": [1], "b": [:]])
    }

    @Test(
        "Checks claims that only a disclosure has",
        .shows("V11", "RFC 9901 §9.7"),
        arguments: [
            (#"["salt","exp",1699999000]"#, TokenError.Code.expired), (#"["salt","nbf",1700009999]"#, .notYetValid),
            (#"["salt","exp","soon"]"#, .malformedClaim), (#"["salt","aud","other"]"#, .audienceMismatch),
        ]
    )
    func disclosedValidity(json: String, expected: TokenError.Code) throws {
        let disclosure = Make.disclosure(json)
        let token = try Make.token(#"{"_sd":["\#(Make.digest(disclosure))"]}"#, [disclosure])
        let verifier = try Make.verifier()
        #expect(code { try Make.verify(token, by: verifier) } == expected)
    }

    @Test("Rejects a token whose required claim isn't disclosed", .shows("V11", "RFC 9901 §9.7"))
    func undisclosedClaim() throws {
        let disclosure = Make.disclosure(#"["salt","exp",1700000100]"#)
        let payload = #"{"_sd":["\#(try Make.digest(disclosure))"]}"#
        let verifier = try Make.verifier { $0.expiration = .required }
        let hidden = try Make.token(payload)
        let disclosed = try Make.token(payload, [disclosure])
        #expect(code { try Make.verify(hidden, by: verifier) } == .missingClaim)
        #expect(try Make.verify(disclosed, by: verifier).registered.expiration != nil)
    }

    @Test("Checks the issuer's signature before anything else in the token", .shows("RFC 9901 §7.1"))
    func signatureFirst() throws {
        let token = try Make.token(#"{"_sd":1}"#, ["AA", "AA"])
        let other = try SDJWTVerifier(key: Make.key("holder").verificationKey, policy: Make.policy())
        #expect(code { try Make.verify(token, by: other) } == .signatureInvalid)
        let changed = token.replacing("~", with: "A~", maxReplacements: 1)
        let verifier = try Make.verifier()
        #expect([.signatureInvalid, .malformedToken].contains(code { try Make.verify(changed, by: verifier) }))
    }
}
