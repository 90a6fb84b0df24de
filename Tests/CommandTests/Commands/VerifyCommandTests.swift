import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("jwt verify", .serialized, .limitedConcurrency)
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

    /// Verifies at a time when the token of RFC 7515 A.3 is good.
    private func verify(_ arguments: String..., key: String? = nil) throws -> ProcessResult {
        try BuiltProgram.jwt.run(["verify", "--key", key ?? self.key, "--at", SampleTokens.goodTime] + arguments)
    }

    /// Makes a token with the sample key.
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

    @Test("the token of RFC 7515 A.3 passes at its time, and its claims are printed")
    func goodToken() throws {
        #expect(try verify(token) == ProcessResult(status: 0, output: Self.claims, errors: ""))
    }

    @Test("the token comes from standard input with or without a dash, and white space around it does not matter")
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

    @Test("white space inside a token is not removed")
    func innerSpace() throws {
        let split = token.replacing(".", with: " .", maxReplacements: 1)
        let result = try verify(split)
        #expect(result.status == 1)
        #expect(result.errors.hasPrefix("jwt verify: the header isn't base64url: "))
    }

    @Test("the key may come from standard input")
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

    @Test("a public JWK, a private JWK and a JWK Set verify")
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

    @Test("a set's key is chosen by kid; an unknown kid is rejected")
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

    @Test("a public and a private PEM verify")
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

    @Test("a token past its time, beyond the leeway, is rejected with the time")
    func expired() throws {
        let expected = rejection("the token has expired (exp is 2011-03-22T18:43:00Z)")
        #expect(try BuiltProgram.jwt.run("verify", "--key", key, token) == expected)
        #expect(try BuiltProgram.jwt.run("verify", "--key", key, "--at", "1300819440", token) == expected)
        #expect(try BuiltProgram.jwt.run("verify", "--key", key, "--at", "2011-03-22T18:43:59Z", token).status == 0)
        let at = ["verify", "--key", key, "--at", "2011-03-22T18:43:00Z", token]
        #expect(try BuiltProgram.jwt.run(at).status == 0)
        #expect(try BuiltProgram.jwt.run(at + ["--leeway", "0"]) == expected)
        #expect(try BuiltProgram.jwt.run("verify", "--key", key, "--at=1300822979", "--leeway=1h", token).status == 0)
        #expect(try BuiltProgram.jwt.run("verify", "--key", key, "--at=1300822980", "--leeway=1h", token) == expected)
    }

    @Test("a token before its time is rejected with the time")
    func notYetValid() throws {
        let early = try sign("--claim", "nbf=1300819380", "--claim", "exp=1300819999")
        #expect(
            try verify(early) == rejection("the claim “nbf” is in the future (nbf is 2011-03-22T18:43:00Z)")
        )
        let future = try sign("--claim", "iat=1300819380", "--claim", "exp=1300819999")
        #expect(
            try verify(future)
                == rejection(
                    "the claim “iat” is in the future; check the clocks (iat is 2011-03-22T18:43:00Z)"
                )
        )
    }

    @Test("a token that never expires is rejected unless that is allowed")
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

    @Test("issuer, audience, subject and type are checked when asked for")
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
        "without --aud, a token that names an audience is refused, and --any-aud accepts it",
        arguments: ["aud=a", #"aud=["a"]"#, #"aud=["a","b"]"#, "aud="]
    )
    func audience(claim: String) throws {
        let token = try sign("--claim", "exp=4102444800", "--claim", claim)
        let message = "the token is for an audience (“aud”): --aud TEXT accepts yours, --any-aud every one"
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

    @Test("a token without an audience needs neither option")
    func noAudience() throws {
        let token = try sign("--claim", "exp=4102444800")
        #expect(try verify(token).status == 0)
        #expect(try verify(token, "--any-aud").status == 0)
    }

    @Test("a signature by another key, and a changed token, are rejected")
    func badSignature() throws {
        let other = folder.file("other.pem")
        try BuiltProgram.jwt.run("keygen", "--alg", "ES256", "--out", other)
        let expected = rejection("the signature doesn't verify with this key")
        #expect(try verify(token, key: other) == expected)
        let parts = token.split(separator: ".")
        let changed = "\(parts[0]).\(SampleTokens.base64URL("{\"iss\":\"eve\",\"exp\":1300819380}")).\(parts[2])"
        #expect(try verify(changed) == expected)
    }

    @Test("the token cannot choose its algorithm")
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
        "what is no token is rejected in one line that does not repeat it",
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

    @Test("empty input, bytes that are no text and endless input are rejected")
    func badInput() throws {
        #expect(try BuiltProgram.jwt.run("verify", "-k", key) == rejection("no token: standard input is empty"))
        #expect(try verify("") == rejection("no token: the argument is empty"))
        let bytes = try BuiltProgram.shell("printf '\\377\\376' | jwt verify -k '\(key)'")
        #expect(bytes == rejection("not a token: it is not text"))
        let endless = try BuiltProgram.shell("jwt verify -k '\(key)' < /dev/zero")
        #expect(endless == rejection("not a token: larger than 2 MiB"))
    }

    @Test("hidden characters in claims reach the terminal escaped")
    func hiddenCharacters() throws {
        let tricky = try sign("--claim", "exp=4102444800", "--claim", "n=a\u{9B}31m\u{202E}b\u{7F}")
        #expect(
            try verify(tricky).output == "{\n  \"exp\": 4102444800,\n  \"n\": \"a\\u009b31m\\u202eb\\u007f\"\n}\n"
        )
    }

    @Test(
        "a wrong command line exits with 64 and one line",
        arguments: [
            (["x"], "a key is needed: --key FILE, --key-env NAME, --jwks FILE|URL or --discover ISSUER"),
            (["--key", "-"], "the key and the token cannot both come from standard input"),
            (["--key", "-", "-"], "the key and the token cannot both come from standard input"),
            (
                ["--key", "k", "--at", "noon", "x"],
                "--at must be a time such as 2026-01-31T12:00:00Z, or seconds since 1970"
            ),
            (["--key", "k", "--iss", "", "x"], "--iss must not be empty"),
            (["--key", "k", "--aud=", "x"], "--aud must not be empty"),
            (["--key", "k", "--aud", "a", "--any-aud", "x"], "--aud and --any-aud exclude each other"),
            (
                ["--key", "k", "--require", "aud", "x"],
                "a token with the claim aud needs --aud TEXT, or --any-aud for every audience"
            ),
            (
                ["--key", "k", "--claim", "aud=a", "x"],
                "a token with the claim aud needs --aud TEXT, or --any-aud for every audience"
            ),
            (["--key", "k", "a", "secret"], "unexpected argument: only TOKEN is taken"),
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
