import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("jwt sign", .limitedConcurrency)
struct SignCommandTests {
    private let folder: TemporaryFolder
    private let key: String

    init() throws {
        folder = try TemporaryFolder()
        key = try folder.write(try SampleTokens.es256JWK(), to: "key.jwk")
    }

    /// Signs with the sample key and returns the claims.
    private func claims(_ arguments: [String], input: String = "") throws -> String {
        let result = try BuiltProgram.jwt.run(["sign", "--key", key] + arguments, input: input)
        try #require(result.errors == "" && result.status == 0, "\(result)")
        return try SampleTokens.claims(of: result.output)
    }

    private func header(_ arguments: String...) throws -> String {
        let result = try BuiltProgram.jwt.run(["sign", "--key", key, "--sub", "alice"] + arguments)
        try #require(result.errors == "" && result.status == 0, "\(result)")
        return try SampleTokens.header(of: result.output)
    }

    @Test("Prints only a valid token, on one line", .shows("J25"))
    func token() throws {
        let result = try BuiltProgram.jwt.run("sign", "--key", key, "--sub", "alice", "--claim", "exp=4102444800")
        #expect(result.status == 0 && result.errors == "", "\(result)")
        #expect(result.output.filter { $0 == "\n" }.count == 1)
        #expect(result.output.hasSuffix("\n"))
        #expect(try SampleTokens.header(of: result.output) == #"{"alg":"ES256","typ":"JWT"}"#)
        #expect(try SampleTokens.claims(of: result.output) == #"{"exp":4102444800,"sub":"alice"}"#)
        let verifier = JWTVerifier(key: try VerificationKey(jwk: JWK(parsing: SampleTokens.es256JWK())))
        #expect(try verifier.verify(String(result.output.dropLast())).registered.subject == "alice")
    }

    @Test(
        "Sets claims from options, a file and standard input",
        arguments: [
            (
                ["--iss", "me", "--sub=alice", "--aud", "api", "-c", "n=5", "--claim", "t=true", "-cs=a b", "-ce="],
                #"{"aud":"api","e":"","iss":"me","n":5,"s":"a b","sub":"alice","t":true}"#
            ),
            (["--aud", "a", "--aud", "b"], #"{"aud":["a","b"]}"#), (["--sub", "5"], #"{"sub":"5"}"#),
            (
                ["-c", #"o={"b":[1,null]}"#, "-c", #"q="5""#, "-c", "z=007", "-c", "u=http://x/?a=b"],
                #"{"o":{"b":[1,null]},"q":"5","u":"http://x/?a=b","z":"007"}"#
            ),
            (["--claims", "FILE"], #"{"a":"ä/","b":1.50}"#), (["--claims", "-"], #"{"sub":"alice"}"#),
            (["--claims", "FILE", "--iss", "me"], #"{"a":"ä/","b":1.50,"iss":"me"}"#),
        ]
    )
    func claimOptions(options: [String], expected: String) throws {
        let file = try folder.write("{ \"b\": 1.50,\n \"a\": \"ä/\" }\n", to: "claims.json")
        #expect(try claims(options.map { $0 == "FILE" ? file : $0 }, input: #"{"sub":"alice"}"#) == expected)
    }

    @Test(
        "Sets exp and iat in whole seconds with --expires-in",
        arguments: [("90", 90), ("5m", 300), ("1h30m", 5_400)]
    )
    func expiresIn(duration: String, seconds: Int) throws {
        let before = Int(Date().timeIntervalSince1970)
        let object = try JSONObject(parsing: claims(["--expires-in", duration]))
        let after = Int(Date().timeIntervalSince1970)
        let issuedAt = try #require(object["iat"]?.number?.integer)
        #expect((before...after).contains(issuedAt))
        #expect(object["exp"]?.number?.integer == issuedAt + seconds)
        #expect(object.count == 2)
    }

    @Test("Keeps an explicit iat, and omits iat with --no-iat")
    func issuedAt() throws {
        #expect(try JSONObject(parsing: claims(["--expires-in", "1h", "--claim", "iat=7"]))["iat"] == 7)
        #expect(try JSONObject(parsing: claims(["--expires-in", "1h", "--no-iat"])).map(\.name) == ["exp"])
    }

    @Test("Signs a token without claims with a warning")
    func noClaims() throws {
        let warning = "the token has no claims; set some with --claim, or read them from standard input with --claims -"
        for (arguments, input) in [([], ""), (["--claims", "-"], "{}")] {
            let result = try BuiltProgram.jwt.run(["sign", "--key", key] + arguments, input: input)
            #expect(result.errors == "jwt sign: warning: \(warning)\n" && result.status == 0)
            #expect(try SampleTokens.claims(of: result.output) == "{}")
        }
    }

    @Test(
        "Rejects piped claims and a piped key that no option reads",
        arguments: [
            ("printf '{\"sub\":\"a\"}' | jwt sign -k key.jwk", "--claims - reads claims from it"),
            ("printf x | jwt sign -k key.jwk", "--claims - reads claims from it"),
            ("printf ' {\"a\":1}' | jwt sign -k key.jwk --expires-in 5m", "--claims - reads claims from it"),
            ("printf '{\"a\":1}' > c; jwt sign -k key.jwk < c", "--claims - reads claims from it"),
            ("{ sleep 1; echo '{}'; } | jwt sign -k key.jwk", "--claims - reads claims from it"),
            ("{ sleep 1; echo '{}'; } | jwt sign -k key.jwk --expires-in 5m", "--claims - reads claims from it"),
            ("{ sleep 1; cat key.jwk; } | jwt sign --sub a", "--claims - reads claims from it"),
            ("echo \"$KEY\" | jwt sign --sub a", "--claims - reads claims from it, and --key - a key"),
            ("cat key.jwk | jwt sign --sub a", "--claims - reads claims from it"),
            ("echo '{}' | jwt sd issue -k key.jwk --expires-in 5m", "--claims - reads claims from it"),
            ("echo '{}' | jwt encrypt -k key.jwk --expires-in 5m", "--claims - reads claims from it"),
        ]
    )
    func unreadInput(script: String, advice: String) throws {
        let result = try BuiltProgram.shell(script, in: folder)
        let message = "standard input isn't empty, but no option reads it; \(advice) "
        #expect(result.fails(64, containing: message), "\(result)")
    }

    @Test("Leaves the standard input of a loop unread")
    func loop() throws {
        let loop = "while read -r sub; do jwt sign -k key.jwk --sub $sub | jwt decode 2>/dev/null | grep sub; done"
        let expected = ProcessResult.success("    \"sub\": \"alice\"\n    \"sub\": \"bob\"\n")
        #expect(try BuiltProgram.shell("printf 'alice\\nbob\\n' | \(loop)", in: folder) == expected)
        #expect(try BuiltProgram.shell("printf 'alice\\nbob\\n' > names; \(loop) < names", in: folder) == expected)
    }

    @Test("Accepts the option names of other tools where they mean the same")
    func otherNames() throws {
        #expect(
            try claims(["--issuer", "i", "--subject", "s", "--audience", "a", "--audience=b", "--nbf", "7", "--iat=8"])
                == #"{"aud":["a","b"],"iat":8,"iss":"i","nbf":7,"sub":"s"}"#
        )
        #expect(try header("--keyid", "k1") == #"{"alg":"ES256","kid":"k1","typ":"JWT"}"#)
    }

    @Test("Signs a token that has already expired", arguments: ["--expires-in=-5m", "--expires-in -5m"])
    func expired(option: String) throws {
        let script = "jwt sign -k key.jwk \(option) > token; jwt verify -k key.jwk < token"
        let result = try BuiltProgram.shell(script, in: folder)
        #expect(result.fails(1, "jwt verify: the token expired 5 min ago (exp is "), "\(result)")
        let object = try JSONObject(parsing: claims(option.split(separator: " ").map(String.init)))
        #expect(object["exp"]?.number?.integer == (object["iat"]?.number?.integer ?? 0) - 300)
    }

    @Test("Sets header parameters, including typ, and kid from --kid or from the JWK")
    func keyID() throws {
        #expect(try header("--header", "typ=at+jwt", "--header=n=5") == #"{"alg":"ES256","n":5,"typ":"at+jwt"}"#)
        #expect(try header("--kid", "k1") == #"{"alg":"ES256","kid":"k1","typ":"JWT"}"#)
        let thumbprint = try JWK(parsing: SampleTokens.es256JWK()).thumbprint
        #expect(try header("--kid", "auto") == #"{"alg":"ES256","kid":"\#(thumbprint)","typ":"JWT"}"#)
        let named = try folder.write(try SampleTokens.es256JWK(["kid": "own"]), to: "named.jwk")
        let own = try BuiltProgram.jwt.run("sign", "--key", named)
        #expect(try SampleTokens.header(of: own.output) == #"{"alg":"ES256","kid":"own","typ":"JWT"}"#)
        let other = try BuiltProgram.jwt.run("sign", "--key", named, "--kid", "other")
        #expect(try SampleTokens.header(of: other.output) == #"{"alg":"ES256","kid":"other","typ":"JWT"}"#)
    }

    @Test("Prints the public JWK of a generated key as the only line on standard error")
    func ephemeralKey() throws {
        for (arguments, named) in [([], nil), (["--kid", "k1"], "k1"), (["--kid=auto"], nil)] as [([String], String?)] {
            let result = try BuiltProgram.jwt.run(["sign", "--sub", "alice", "--expires-in", "1h"] + arguments)
            #expect(result.status == 0)
            #expect(result.errors.filter { $0 == "\n" }.count == 1)
            #expect(result.errors.hasSuffix("}\n"))
            let jwk = try JWK(parsing: result.errors)
            #expect(jwk.members.map(\.name).sorted() == ["alg", "crv", "kid", "kty", "x", "y"])
            let thumbprint = try jwk.thumbprint
            #expect(jwk.keyID == named ?? thumbprint)
            let verifier = JWTVerifier(keys: JWKSet(keys: [jwk]))
            let token = try verifier.verify(String(result.output.dropLast()))
            #expect(token.registered.subject == "alice")
            #expect(token.header["kid"]?.string == jwk.keyID)
        }
    }

    @Test("Reads a key in PEM (PKCS #8 or SEC1) from a file or standard input")
    func keyForms() throws {
        try folder.write(KeyFixtures.sec1, to: "sec1.pem")
        try folder.write(KeyFixtures.pkcs8, to: "pkcs8.pem")
        try folder.write(KeyFixtures.publicKey, to: "public.pem")
        let script = """
            for key in sec1.pem pkcs8.pem; do
              jwt sign --key $key --sub $key --expires-in 1h | jwt verify --key public.pem | grep sub
              jwt sign --key - --sub stdin --expires-in 1h < $key | jwt verify --key public.pem | grep sub
            done
            """
        let result = try BuiltProgram.shell(script, in: folder)
        #expect(
            result
                == .success(
                    """
                      "sub": "sec1.pem"
                      "sub": "stdin"
                      "sub": "pkcs8.pem"
                      "sub": "stdin"

                    """
                )
        )
    }

    @Test("Uses a key file that other users can access, with a warning", arguments: [0o640, 0o604, 0o644, 0o620])
    func permissions(mode: Int) throws {
        let path = try folder.write(try SampleTokens.es256JWK(), to: "open.jwk", mode: mode)
        let result = try BuiltProgram.jwt.run("sign", "--key", path, "--sub", "alice")
        #expect(result.status == 0)
        #expect(try SampleTokens.claims(of: result.output) == #"{"sub":"alice"}"#)
        #expect(
            result.errors == """
                jwt sign: warning: \(path): other users can access this private key (mode \(String(mode, radix: 8))); \
                fix: chmod 600 \(path)

                """
        )
    }

    private static let malformedClaims: [(name: String, value: String, reason: String)] = [
        ("exp", "\"tomorrow\"", "must be a number of seconds since 1970, not a string; --expires-in DURATION sets it"),
        ("exp", "null", "must be a number of seconds since 1970, not null; --expires-in DURATION sets it"),
        ("exp", "1e300", "is a time outside the years 1 to 9999; --expires-in DURATION sets it"),
        ("nbf", "\"7\"", "must be a number of seconds since 1970, not a string; --not-before TIME sets it"),
        ("iat", "true", "must be a number of seconds since 1970, not a Boolean; --issued-at TIME sets it"),
        ("iss", "5", "must be a string, not a number; --iss TEXT sets it"),
        ("sub", "[]", "must be a string, not an empty array; --sub TEXT sets it"),
        ("jti", "7", "must be a string, not a number; --jti ID sets it"),
    ]

    @Test(
        "Rejects a registered claim of the wrong type in an option, a file and a batch",
        arguments: malformedClaims.map { [$0.name, $0.value, $0.reason] } + [
            [
                "aud", "{}",
                "must be a string or a non-empty array of strings, not an object; --aud TEXT sets it",
            ],
            ["aud", "[\"a\",1]", "must contain only strings, not a number; --aud TEXT sets it"],
        ]
    )
    func malformedClaim(claim: [String]) throws {
        let (name, value, reason) = (claim[0], claim[1], claim[2])
        let option = try BuiltProgram.jwt.run("sign", "--key", key, "--claim", "\(name)=\(value)")
        #expect(option == .failure(64, "jwt sign: the claim “\(name)” \(reason) (see jwt sign --help)\n"))
        let words = reason.prefix { $0 != ";" }
        let claims = "{\"a\":1,\"\(name)\":\(value)}"
        for form in [[], ["--format", "json"], ["--detached"]] {
            let piped = try BuiltProgram.jwt.run(["sign", "--key", key, "--claims", "-"] + form, input: claims)
            let message = "jwt sign: standard input: the claim “\(name)” \(words)\n"
            #expect(piped == .failure(2, message))
        }
        for options in [[], ["--claim", "b=1"]] {
            let batch = try BuiltProgram.jwt.run(["sign", "--key", key, "--batch"] + options, input: claims)
            #expect(batch.status == 1)
            let error = try JSONObject(parsing: batch.output)["error"]?.object
            #expect(error == ["code": "malformedClaim", "message": .string("the claim “\(name)” \(words)")])
        }
    }

    @Test("Signs well-formed registered claims and claims with similar names")
    func wellFormedClaims() throws {
        for claim in ["exp=1.5", "aud=[\"a\"]", "sub=\"\"", "Exp=tomorrow", "expires=tomorrow", "iat=-1"] {
            #expect(try BuiltProgram.jwt.run("sign", "--key", key, "--claim", claim).status == 0, "\(claim)")
        }
    }

    @Test("Rejects a claim that both the file and an option set")
    func claimInFileAndOption() throws {
        let file = try folder.write("{\"sub\":\"a\"}", to: "claims.json")
        let result = try BuiltProgram.jwt.run("sign", "--key", key, "--claims", file, "--sub", "b")
        let message = "the claim sub is set by both --sub and the --claims file; remove one"
        #expect(result == .failure(64, "jwt sign: \(message) (see jwt sign --help)\n"))
    }

    @Test(
        "Rejects malformed claims with the file's name and without repeating them",
        arguments: [
            ("", "unexpected end"), ("[1]", ""), ("\"text\"", ""), ("{\"a\":secret}", ""), ("{\"a\":1,\"a\":2}", ""),
            ("{\"a\":1}x", ""),
        ]
    )
    func brokenClaims(text: String, _: String) throws {
        let file = try folder.write(text, to: "claims.json")
        let result = try BuiltProgram.jwt.run("sign", "--key", key, "--claims", file)
        #expect(result.failsInOneLine(2, "jwt sign: \(file): claims must be a JSON object: "), "\(result)")
    }
}
