import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("jwt verify", .limitedConcurrency)
struct VerifyCommandTests {
    private static let claims = """
        {
          "exp": 1300819380,
          "http://example.com/is_root": true,
          "iss": "joe"
        }

        """

    private let folder: TemporaryFolder
    private let key: String
    private let token: String

    init() throws {
        folder = try TemporaryFolder()
        key = try folder.write(try SampleTokens.es256JWK(), to: "key.jwk")
        token = try SampleTokens.es256Token()
    }

    /// Verifies at a time when the token of RFC 7515 A.3 is valid.
    private func verify(_ arguments: String..., key: String? = nil) throws -> ProcessResult {
        try BuiltProgram.jwt.run(["verify", "--key", key ?? self.key, "--at", SampleTokens.goodTime] + arguments)
    }

    /// Creates a token with the sample key.
    private func sign(_ arguments: String...) throws -> String {
        let result = try BuiltProgram.jwt.run(["sign", "--key", key] + arguments)
        try #require(result.status == 0, "\(result)")
        return String(result.output.dropLast())
    }

    private func rejection(_ message: String) -> ProcessResult {
        ProcessResult(status: 1, output: "", errors: "jwt verify: \(message)\n")
    }

    private func failure(_ message: String) -> ProcessResult {
        ProcessResult(status: 2, output: "", errors: "jwt verify: \(message)\n")
    }

    @Test("Verifies the token of RFC 7515 A.3 and prints its claims")
    func goodToken() throws {
        #expect(try verify(token) == ProcessResult(status: 0, output: Self.claims, errors: ""))
    }

    @Test("Reads the token from standard input with or without a dash, and ignores surrounding white space")
    func standardInput() throws {
        for (arguments, input) in [([], token), (["-"], token + "\n"), ([], " \t\r\n\(token)\r\n \n")] {
            let result = try BuiltProgram.jwt.run(
                ["verify", "--key", key, "--at", SampleTokens.goodTime] + arguments,
                input: input
            )
            #expect(result == ProcessResult(status: 0, output: Self.claims, errors: ""))
        }
        #expect(try verify(" \(token)\n").output == Self.claims)
    }

    @Test("Keeps white space inside a token")
    func innerSpace() throws {
        let split = token.replacing(".", with: " .", maxReplacements: 1)
        let result = try verify(split)
        #expect(result.status == 1)
        #expect(result.errors.hasPrefix("jwt verify: the header isn't base64url: "))
    }

    @Test("Reads the key from standard input")
    func keyFromStandardInput() throws {
        let result = try BuiltProgram.jwt.run(
            "verify",
            "--key",
            "-",
            "--at",
            SampleTokens.goodTime,
            token,
            input: try SampleTokens.es256JWK()
        )
        #expect(result == ProcessResult(status: 0, output: Self.claims, errors: ""))
    }

    @Test("Verifies with a public JWK, a private JWK and a JWK Set")
    func jwkForms() throws {
        let publicKey = try SampleTokens.es256JWK(without: "d")
        let other = #"{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMko","kid":"other"}"#
        for (name, text) in [
            ("public.jwk", publicKey), ("spaced.jwk", "\n\t \(publicKey)\n"),
            ("private.jwk", try SampleTokens.es256JWK()),
            ("set.jwks", "{\"keys\":[\(publicKey)]}"), ("mixed.jwks", "{\"keys\":[\(other),\(publicKey)]}"),
        ] {
            let result = try verify(token, key: try folder.write(text, to: name))
            #expect(result == ProcessResult(status: 0, output: Self.claims, errors: ""), "\(name)")
        }
    }

    @Test("Selects a key by kid, and rejects an unknown kid")
    func keyID() throws {
        let set = try folder.write(
            "{\"keys\":[\(try SampleTokens.es256JWK(["kid": "k1"], without: "d"))]}",
            to: "set.jwks"
        )
        let known = try sign("--kid", "k1", "--claim", "exp=4102444800")
        #expect(try verify(known, key: set).output == "{\n  \"exp\": 4102444800\n}\n")
        let unknown = try sign("--kid", "k2", "--claim", "exp=4102444800")
        let result = try verify(unknown, key: set)
        #expect(result == rejection("the key set has no key with the token's “kid” “k2”"))
    }

    @Test("Verifies with a public and a private key in PEM")
    func pemForms() throws {
        let script = """
            jwt keygen --alg ES256 --out key.pem --public-out public.pem && jwt sign -k key.pem --sub a --no-iat \
            --expires-in 1h > token && jwt verify -k key.pem < token && jwt verify -k public.pem < token
            """
        let result = try BuiltProgram.shell(script, in: folder)
        #expect(result.status == 0)
        #expect(result.errors == "")
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == 8)
        #expect(lines.prefix(4) == lines.suffix(4))
    }

    @Test("Rejects a token that expired before the leeway, with the time")
    func expired() throws {
        func expired(_ ago: String) -> ProcessResult {
            rejection("the token expired \(ago) ago (exp is 2011-03-22T18:43:00Z)")
        }
        let now = try BuiltProgram.jwt.run("verify", "--key", key, token)
        #expect(now.status == 1 && now.errors.hasPrefix("jwt verify: the token expired "))
        #expect(now.errors.hasSuffix(" days ago (exp is 2011-03-22T18:43:00Z)\n"))
        #expect(try BuiltProgram.jwt.run("verify", "--key", key, "--at", "1300819440", token) == expired("60 s"))
        #expect(try BuiltProgram.jwt.run("verify", "--key", key, "--at", "2011-03-22T18:43:59Z", token).status == 0)
        let at = ["verify", "--key", key, "--at", "2011-03-22T18:43:00Z", token]
        #expect(try BuiltProgram.jwt.run(at).status == 0)
        #expect(try BuiltProgram.jwt.run(at + ["--leeway", "0"]) == expired("less than 1 s"))
        let late = ["verify", "--key", key, "--leeway=1h", token]
        #expect(try BuiltProgram.jwt.run(late + ["--at=1300822979"]).status == 0)
        #expect(try BuiltProgram.jwt.run(late + ["--at=1300822980"]) == expired("60 min"))
    }

    @Test("Rejects a token that isn't valid yet, with the time")
    func notYetValid() throws {
        let early = try sign("--claim", "nbf=1300819380", "--claim", "exp=1300819999")
        #expect(
            try verify(early) == rejection("the claim “nbf” is 60 min in the future (nbf is 2011-03-22T18:43:00Z)")
        )
        let future = try sign("--claim", "iat=1300819380", "--claim", "exp=1300819999")
        #expect(
            try verify(future)
                == rejection(
                    "the claim “iat” is 60 min in the future; check the clocks (iat is 2011-03-22T18:43:00Z)"
                )
        )
    }

    @Test("Rejects a token without expiration unless --allow-no-exp is given")
    func noExpiration() throws {
        let endless = try sign("--sub", "alice")
        #expect(
            try verify(endless)
                == rejection(
                    "the claim “exp” is missing, so the token would never expire; --allow-no-exp accepts such a token"
                )
        )
        #expect(
            try verify(endless, "--allow-no-exp")
                == ProcessResult(status: 0, output: "{\n  \"sub\": \"alice\"\n}\n", errors: "")
        )
        #expect(try BuiltProgram.jwt.run("verify", "-k", key, "--allow-no-exp", token).status == 1)
    }

    @Test("Validates the issuer, audience, subject and type")
    func expectations() throws {
        let full = try sign(
            "--iss",
            "me",
            "--sub",
            "alice",
            "--aud",
            "a",
            "--aud",
            "b",
            "--claim",
            "exp=4102444800",
            "--header",
            "typ=at+jwt"
        )
        #expect(try verify(full, "--iss", "me", "--sub", "alice", "--aud", "b", "--typ", "at+jwt").status == 0)
        #expect(
            try verify(full, "--any-aud", "--iss", "you")
                == rejection("the claim “iss” isn't the issuer that the policy expects")
        )
        #expect(
            try verify(full, "--any-aud", "--sub", "bob")
                == rejection("the claim “sub” isn't the subject that the policy expects")
        )
        #expect(
            try verify(full, "--aud", "c")
                == rejection("the claim “aud” doesn't name the audience that the policy expects")
        )
        #expect(
            try verify(full, "--any-aud", "--typ", "JWT")
                == rejection("“typ” of the header is “at+jwt”, but the policy expects “JWT”")
        )
        #expect(try verify(token, "--iss", "joe").status == 0)
        #expect(try verify(token, "--aud", "c") == rejection("the claim “aud” is missing, but the policy expects it"))
        #expect(try verify(token, "--sub", "c") == rejection("the claim “sub” is missing, but the policy expects it"))
        #expect(try verify(token, "--typ", "JWT") == rejection("the header has no “typ”, but the policy expects “JWT”"))
    }

    @Test(
        "Rejects a token with an audience without --aud, and accepts it with --any-aud",
        arguments: ["aud=a", #"aud=["a"]"#, #"aud=["a","b"]"#, "aud="]
    )
    func audience(claim: String) throws {
        let token = try sign("--claim", "exp=4102444800", "--claim", claim)
        let message =
            "the token has an audience (“aud”): pass yours with --aud TEXT, or accept any audience with --any-aud"
        #expect(try verify(token) == rejection(message))
        #expect(try verify(token, "--iss", "x").status == 1)
        #expect(try verify(token, "--any-aud").status == 0)
        let json = try verify(token, "--json")
        #expect(json.status == 1 && json.output == "")
        #expect(json.errors == #"{"error":{"code":"audienceMismatch","message":"\#(message)"}}"# + "\n")
        for (options, status) in [([], Int32(1)), (["--any-aud"], 0)] {
            let batch = try BuiltProgram.jwt.run(["verify", "--key", key, "--batch"] + options, input: token)
            #expect(batch.status == status)
            let error = try JSONObject(parsing: batch.output)["error"]?.object
            #expect(error == (status == 0 ? nil : ["code": "audienceMismatch", "message": .string(message)]))
        }
    }

    @Test("Accepts a token without an audience without either option")
    func noAudience() throws {
        let token = try sign("--claim", "exp=4102444800")
        #expect(try verify(token).status == 0)
        #expect(try verify(token, "--any-aud").status == 0)
    }

    @Test("Rejects a token signed with another key, and a modified token")
    func badSignature() throws {
        let other = folder.file("other.pem")
        try BuiltProgram.jwt.run("keygen", "--alg", "ES256", "--out", other)
        let expected = rejection("the signature doesn't verify with this key")
        #expect(try verify(token, key: other) == expected)
        let parts = token.split(separator: ".")
        let changed = "\(parts[0]).\(SampleTokens.base64URL("{\"iss\":\"eve\",\"exp\":1300819380}")).\(parts[2])"
        #expect(try verify(changed) == expected)
    }

    @Test("Rejects a token with another algorithm")
    func otherAlgorithms() throws {
        let unsigned = SampleTokens.unsigned(claims: "{\"exp\":4102444800}")
        let result = try verify(unsigned)
        #expect(result.status == 1)
        #expect(result.errors == "jwt verify: “alg” of the header is “none”, but the key is for ES256\n")
        for (vector, name) in [("rfc7515-a1-hs256", "HS256"), ("rfc7515-a2-rs256", "RS256")] {
            let other = try SampleTokens.text("compact", of: vector)
            #expect(try verify(other) == rejection("“alg” of the header is “\(name)”, but the key is for ES256"))
        }
    }

    @Test(
        "Rejects malformed tokens in one line that doesn't repeat them",
        arguments: [
            "", " ", "secret", "a.b.c", "secret.secret.secret", "..", "a.b", "a.b.c.d.e", "{\"secret\":1}",
            "\u{1B}[31m",
        ]
    )
    func malformed(text: String) throws {
        for result in [try verify("--", text), try BuiltProgram.jwt.run("verify", "--key", key, input: text)] {
            #expect(result.status == 1)
            #expect(result.output == "")
            #expect(result.errors.hasPrefix("jwt verify: "))
            #expect(result.errors.filter { $0 == "\n" }.count == 1)
            #expect(!result.errors.contains("secret"))
            #expect(!result.errors.contains("\u{1B}"))
        }
    }

    @Test("Rejects empty, binary and endless input")
    func badInput() throws {
        #expect(try BuiltProgram.jwt.run("verify", "-k", key) == rejection("missing token: standard input is empty"))
        #expect(try verify("") == rejection("missing token: the argument is empty"))
        let bytes = try BuiltProgram.shell("printf '\\377\\376' | jwt verify -k '\(key)'")
        #expect(bytes == rejection("not a token: the input isn't valid UTF-8"))
        let endless = try BuiltProgram.shell("jwt verify -k '\(key)' < /dev/zero")
        #expect(endless == rejection("not a token: larger than 2 MiB"))
    }

    @Test("Escapes hidden characters in claims")
    func hiddenCharacters() throws {
        let tricky = try sign("--claim", "exp=4102444800", "--claim", "n=a\u{9B}31m\u{202E}b\u{7F}")
        #expect(
            try verify(tricky).output == "{\n  \"exp\": 4102444800,\n  \"n\": \"a\\u009b31m\\u202eb\\u007f\"\n}\n"
        )
    }

    @Test(
        "Exits with 64 and one line for an invalid command line",
        arguments: [
            (["x"], "missing key; pass --key FILE, --key-env NAME, --jwks FILE|URL or --discover ISSUER"),
            (["--key", "-"], "the key and the token can't both come from standard input"),
            (["--key", "-", "-"], "the key and the token can't both come from standard input"),
            (
                ["--key", "k", "--at", "noon", "x"],
                "--at must be a time such as 2026-01-31T12:00:00Z, or seconds since 1970"
            ),
            (["--key", "k", "--iss", "", "x"], "--iss must not be empty"),
            (["--key", "k", "--aud=", "x"], "--aud must not be empty"),
            (["--key", "k", "--aud", "a", "--any-aud", "x"], "--aud and --any-aud can't be combined"),
            (
                ["--key", "k", "--require", "aud", "x"],
                "a token with the claim aud needs --aud TEXT, or --any-aud for every audience"
            ),
            (
                ["--key", "k", "--claim", "aud=a", "x"],
                "a token with the claim aud needs --aud TEXT, or --any-aud for every audience"
            ),
            (["--key", "k", "a", "secret"], "unexpected argument: expected only TOKEN"),
            (
                ["--key", "k", "--leeway", "-1", "x"],
                "--leeway must be a duration of at most 100 years, such as 90, 90s, 5m, 2h, 7d, 1w or 1h30m"
            ),
        ]
    )
    func usageErrors(arguments: [String], message: String) throws {
        let result = try BuiltProgram.jwt.run(["verify"] + arguments)
        #expect(
            result == ProcessResult(status: 64, output: "", errors: "jwt verify: \(message) (see jwt verify --help)\n")
        )
    }
}
