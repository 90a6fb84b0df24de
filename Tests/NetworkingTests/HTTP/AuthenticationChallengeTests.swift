import Networking
import TestSupport
import Testing

@Suite("AuthenticationChallenge", .computing)
struct AuthenticationChallengeTests {
    typealias Challenge = AuthenticationChallenge

    @Test(
        "Parses the challenges that servers send",
        .shows("O15", "RFC 6750 §3, §3.1 (received)", "RFC 9110 §11"),
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
        "Keeps the challenges before malformed text",
        arguments: ["Bearer error=invalid_token, Basic realm=\"open", "Bearer error=invalid_token, Basic realm=\"a\\"]
    )
    func truncated(_ value: String) {
        #expect(Challenge.parse(value).first == Challenge(scheme: "Bearer", parameters: ["error": "invalid_token"]))
    }

    @Test("Compares schemes ignoring case")
    func scheme() {
        #expect(Challenge(scheme: "bEARER").isOfScheme("Bearer"))
        #expect(!Challenge(scheme: "Bear").isOfScheme("Bearer"))
    }

    @Test(
        "Formats realm first, then the other parameters by name, with escaped quotes",
        arguments: [
            ([Challenge(scheme: "Bearer")], "Bearer"),
            (
                [
                    Challenge(
                        scheme: "Bearer",
                        parameters: ["scope": "a b", "realm": "x", "error": "insufficient_scope"]
                    )
                ],
                #"Bearer realm="x", error="insufficient_scope", scope="a b""#
            ),
            (
                [Challenge(scheme: "DPoP", parameters: ["algs": "ES256"]), Challenge(scheme: "Bearer")],
                #"DPoP algs="ES256", Bearer"#
            ),
            ([Challenge(scheme: "Negotiate", token68: "YWJj==")], "Negotiate YWJj=="),
            ([Challenge(scheme: "Basic", parameters: ["realm": #"a "b" \c"#])], #"Basic realm="a \"b\" \\c""#),
            ([Challenge(scheme: "Basic", parameters: ["realm": ""])], #"Basic realm="""#),
            ([Challenge(scheme: "Basic", parameters: ["realm": "é\t,="])], "Basic realm=\"é\t,=\""),
        ]
    )
    func writing(_ challenges: [Challenge], _ expected: String) {
        #expect(Challenge.format(challenges) == expected)
        #expect(Challenge.parse(expected) == challenges)
    }

    @Test(
        "Formats nothing that could end its quotes or its line, or parse as something else",
        .shows("F7"),
        arguments: [
            Challenge(scheme: "Bearer", parameters: ["realm": "a\r\nSet-Cookie: b=c"]),
            Challenge(scheme: "Bearer", parameters: ["realm": "a\nb"]),
            Challenge(scheme: "Bearer", parameters: ["realm": "a\u{0}b"]),
            Challenge(scheme: "Bearer", parameters: ["realm": "a\u{7F}b"]),
            Challenge(scheme: "Bearer", parameters: ["re alm": "a"]),
            Challenge(scheme: "Bearer", parameters: ["": "a"]),
            Challenge(scheme: "Bearer", parameters: ["OAuth2Fixture": "a"]), Challenge(scheme: ""),
            Challenge(scheme: "Be arer"),
            Challenge(scheme: "Bearer\r\n"), Challenge(scheme: "Bearer, Basic"), Challenge(scheme: "Négocier"),
            Challenge(scheme: "Negotiate", token68: ""), Challenge(scheme: "Negotiate", token68: "==="),
            Challenge(scheme: "Negotiate", token68: "a b"), Challenge(scheme: "Negotiate", token68: "a=b"),
            Challenge(scheme: "Negotiate", token68: "YQ", parameters: ["realm": "a"]),
        ]
    )
    func unwritable(_ challenge: Challenge) {
        #expect(Challenge.format([challenge]) == nil)
        #expect(Challenge.format([Challenge(scheme: "Basic"), challenge]) == nil)
    }

    @Test("Formats no challenges as nil")
    func none() {
        #expect(Challenge.format([]) == nil)
    }

    @Test("Parses what it formats")
    func roundTrip() throws {
        var generator = SplitMix(state: 2)
        let tokens = Array("abcxyz0189!#$%&'*+-.^_`|~")
        let values = Array("Bearer Basic=\",\\ \t;/éß漢\u{301}👩‍🚀~+")
        let token68 = Array("AZaz09-._~+/")
        func text(_ alphabet: [Character], _ lengths: ClosedRange<Int>) -> String {
            String(
                (0..<Int.random(in: lengths, using: &generator)).compactMap { _ in
                    alphabet.randomElement(using: &generator)
                }
            )
        }
        for _ in 0..<5_000 {
            let challenges = (0..<Int.random(in: 1...4, using: &generator)).map { _ -> Challenge in
                let scheme = text(tokens, 1...6)
                if Int.random(in: 0..<4, using: &generator) == 0 {
                    let padding = String(repeating: "=", count: Int.random(in: 0...2, using: &generator))
                    return Challenge(scheme: scheme, token68: text(token68, 1...8) + padding)
                }
                let names = (0..<Int.random(in: 0...4, using: &generator)).map { _ in text(tokens, 1...6) }
                let parameters = Dictionary(names.map { ($0, text(values, 0...12)) }) { first, _ in first }
                return Challenge(scheme: scheme, parameters: parameters)
            }
            let field = try #require(Challenge.format(challenges))
            #expect(Challenge.parse(field) == challenges, "\(field)")
        }
    }

    @Test("Terminates on every input", .shows("RFC 9110 §11"))
    func random() {
        var generator = SplitMix(state: 1)
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
