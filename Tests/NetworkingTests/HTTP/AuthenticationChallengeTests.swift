import Networking
import Testing

@Suite("AuthenticationChallenge")
struct AuthenticationChallengeTests {
    typealias Challenge = AuthenticationChallenge

    @Test(
        "reads what servers send",
        arguments: [
            ("Bearer", [Challenge(scheme: "Bearer")]),
            ("Basic realm=\"simple\"", [Challenge(scheme: "Basic", parameters: ["realm": "simple"])]),
            (
                #"Newauth realm="apps", type=1, title="Login to \"apps\"", Basic realm="simple""#,
                [
                    Challenge(
                        scheme: "Newauth",
                        parameters: ["realm": "apps", "type": "1", "title": "Login to \"apps\""]
                    ),
                    Challenge(scheme: "Basic", parameters: ["realm": "simple"]),
                ]
            ),
            (
                #"Bearer realm="a", error="invalid_token", DPoP algs="ES256", error="use_dpop_nonce""#,
                [
                    Challenge(scheme: "Bearer", parameters: ["realm": "a", "error": "invalid_token"]),
                    Challenge(scheme: "DPoP", parameters: ["algs": "ES256", "error": "use_dpop_nonce"]),
                ]
            ),
            (
                "Negotiate YWJj==, Bearer",
                [Challenge(scheme: "Negotiate", token68: "YWJj=="), Challenge(scheme: "Bearer")]
            ),
            (
                "Negotiate, Basic realm=x",
                [Challenge(scheme: "Negotiate"), Challenge(scheme: "Basic", parameters: ["realm": "x"])]
            ),
            (
                "Bearer REALM = \"x\" , Error= y",
                [Challenge(scheme: "Bearer", parameters: ["realm": "x", "error": "y"])]
            ),
            ("Bearer error=first, error=second", [Challenge(scheme: "Bearer", parameters: ["error": "first"])]),
            (" ,, Bearer realm=\"a,b\"", [Challenge(scheme: "Bearer", parameters: ["realm": "a,b"])]),
            ("Bearer realm=\"a\",", [Challenge(scheme: "Bearer", parameters: ["realm": "a"])]),
            ("", []),
            (",,", []),
            ("\"quoted\"", []),
        ]
    )
    func parsing(_ value: String, _ expected: [Challenge]) {
        #expect(Challenge.parse(value) == expected)
    }

    @Test(
        "keeps what came before something unreadable",
        arguments: ["Bearer error=invalid_token, Basic realm=\"open", "Bearer error=invalid_token, Basic realm=\"a\\"]
    )
    func truncated(_ value: String) {
        #expect(Challenge.parse(value).first == Challenge(scheme: "Bearer", parameters: ["error": "invalid_token"]))
    }

    @Test("compares schemes without regard to case")
    func scheme() {
        #expect(Challenge(scheme: "bEARER").isOfScheme("Bearer"))
        #expect(!Challenge(scheme: "Bear").isOfScheme("Bearer"))
    }

    @Test("ends on every input, whatever it is")
    func random() {
        var generator = SeededGenerator(seed: 1)
        let alphabet = Array("Bearer Basic=\",\\ \t;/é\u{0}~+")
        for _ in 0..<5_000 {
            let text = String(
                (0..<Int.random(in: 0...40, using: &generator)).compactMap { _ in
                    alphabet.randomElement(using: &generator)
                }
            )
            #expect(Challenge.parse(text).count <= text.utf8.count)
        }
    }
}

/// A generator whose numbers are the same in every run (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
