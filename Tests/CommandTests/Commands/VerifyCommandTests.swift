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
    private func verify(_ token: String, _ options: String = "", key: String? = nil) throws -> ProcessResult {
        let words = options.split(separator: " ").map(String.init)
        return try BuiltProgram.jwt.run(
            ["verify", "--key", key ?? self.key, "--at", SampleTokens.goodTime] + words + ["--", token]
        )
    }

    /// Creates a token with the sample key.
    private func sign(_ options: String) throws -> String {
        let result = try BuiltProgram.jwt.run(["sign", "--key", key] + options.split(separator: " ").map(String.init))
        try #require(result.status == 0, "\(result)")
        return String(result.output.dropLast())
    }

    private func rejection(_ message: String) -> ProcessResult {
        ProcessResult.failure(1, "jwt verify: \(message)\n")
    }

    @Test("Verifies the token of RFC 7515 A.3 and prints its claims", .shows("J25"))
    func goodToken() throws {
        #expect(try verify(token) == .success(Self.claims))
    }

    @Test("Reads the token from standard input with or without a dash, and ignores surrounding white space")
    func standardInput() throws {
        for (arguments, input) in [([], token), (["-"], token + "\n"), ([], " \t\r\n\(token)\r\n \n")] {
            let result = try BuiltProgram.jwt.run(
                ["verify", "--key", key, "--at", SampleTokens.goodTime] + arguments,
                input: input
            )
            #expect(result == .success(Self.claims))
        }
        #expect(try verify(" \(token)\n").output == Self.claims)
    }

    @Test("Reads the key from standard input")
    func keyFromStandardInput() throws {
        let result = try BuiltProgram.jwt.run(
            ["verify", "--key", "-", "--at", SampleTokens.goodTime, token],
            input: try SampleTokens.es256JWK()
        )
        #expect(result == .success(Self.claims))
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
            #expect(result == .success(Self.claims), "\(name)")
        }
    }

    @Test("Selects a key by kid, and rejects an unknown kid")
    func keyID() throws {
        let set = try folder.write(
            "{\"keys\":[\(try SampleTokens.es256JWK(["kid": "k1"], without: "d"))]}",
            to: "set.jwks"
        )
        let known = try sign("--kid k1 -c exp=4102444800")
        #expect(try verify(known, key: set).output == "{\n  \"exp\": 4102444800\n}\n")
        let unknown = try sign("--kid k2 -c exp=4102444800")
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
        #expect(result.status == 0 && result.errors == "", "\(result)")
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

    private static let full = "--iss me --sub alice --aud a --aud b -c exp=4102444800 --header typ=at+jwt"

    @Test(
        "Validates the times, issuer, audience, subject and type",
        arguments: [
            (
                "-c nbf=1300819380 -c exp=1300819999", "",
                "the claim “nbf” is 60 min in the future (nbf is 2011-03-22T18:43:00Z)"
            ),
            (
                "-c iat=1300819380 -c exp=1300819999", "",
                "the claim “iat” is 60 min in the future; check the clocks (iat is 2011-03-22T18:43:00Z)"
            ),
            (
                "--sub alice", "",
                "the claim “exp” is missing, so the token would never expire; --allow-no-exp accepts such a token"
            ),
            ("--sub alice", "--allow-no-exp", nil), ("-c exp=4102444800", "", nil),
            ("-c exp=4102444800", "--any-aud", nil), (full, "--iss me --sub alice --aud b --typ at+jwt", nil),
            (full, "--aud c --aud b", nil), (full, "--audience=b --issuer me --subject alice", nil),
            (full, "--any-aud -c sub=bob", "the claim “sub” doesn't have the value of --claim"),
            (full, "--any-aud -c x=1", "the claim “x” is missing, but --claim requires it"),
            (full, "--aud c --aud d", "the claim “aud” doesn't name the audience that the options expect"),
            (full, "--any-aud --iss you", "the claim “iss” isn't the issuer that the options expect"),
            (full, "--any-aud --sub bob", "the claim “sub” isn't the subject that the options expect"),
            (full, "--aud c", "the claim “aud” doesn't name the audience that the options expect"),
            (full, "--any-aud --typ JWT", "“typ” of the header is “at+jwt”, but the options expect “JWT”"),
            ("-c exp=4102444800 -c iss=joe", "--iss joe", nil),
            ("-c exp=4102444800", "--aud c", "the claim “aud” is missing, but the options expect it"),
            ("-c exp=4102444800", "--sub c", "the claim “sub” is missing, but the options expect it"),
        ]
    )
    func policy(claims: String, options: String, message: String?) throws {
        let token = try sign(claims)
        let expected = try message.map { rejection($0) } ?? .success(SampleTokens.prettyClaims(of: token) + "\n")
        #expect(try verify(token, options) == expected)
    }

    @Test("Requires an expiration time and a type that the policy names, and keeps white space inside a token")
    func otherTokens() throws {
        #expect(try verify(token, "--typ JWT") == rejection("the header has no “typ”, but the options expect “JWT”"))
        #expect(try BuiltProgram.jwt.run("verify", "-k", key, "--allow-no-exp", token).status == 1)
        let result = try verify(token.replacing(".", with: " .", maxReplacements: 1))
        #expect(result.fails(1, "jwt verify: the header isn't base64url: "), "\(result)")
    }

    @Test(
        "Rejects a token with an audience without --aud, and accepts it with --any-aud",
        .shows("X4"),
        arguments: ["aud=a", #"aud=["a"]"#, #"aud=["a","b"]"#, "aud="]
    )
    func audience(claim: String) throws {
        let token = try sign("-c exp=4102444800 -c \(claim)")
        let message =
            "the token has an audience (“aud”): pass yours with --aud TEXT, or accept any audience with --any-aud"
        #expect(try verify(token) == rejection(message))
        #expect(try verify(token, "--iss x").status == 1)
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
        #expect(result == .failure(1, "jwt verify: “alg” of the header is “none”, but the key is for ES256\n"))
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
        for result in [try verify(text), try BuiltProgram.jwt.run("verify", "--key", key, input: text)] {
            #expect(result.failsInOneLine(1, "jwt verify: "), "\(result)")
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
        let tricky = try sign("-c exp=4102444800 -c n=a\u{9B}31m\u{202E}b\u{7F}")
        #expect(try verify(tricky).output == "{\n  \"exp\": 4102444800,\n  \"n\": \"a\\u009b31m\\u202eb\\u007f\"\n}\n")
    }
}
