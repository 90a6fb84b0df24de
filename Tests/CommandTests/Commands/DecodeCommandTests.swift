import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("jwt decode", .limitedConcurrency)
struct DecodeCommandTests {
    private static let warning = "UNVERIFIED: the signature was not checked; anyone can have written this\n"

    @Test("Prints the header and the claims, marked as unverified for people and programs")
    func contents() throws {
        let result = try BuiltProgram.jwt.run("decode", "--at", "1300822980", try SampleTokens.es256Token())
        #expect(
            result
                == ProcessResult(
                    status: 0,
                    output: """
                        {
                          "header": {
                            "alg": "ES256"
                          },
                          "claims": {
                            "exp": 1300819380,
                            "http://example.com/is_root": true,
                            "iss": "joe"
                          },
                          "verified": false
                        }

                        """,
                    errors: Self.warning + "exp: 2011-03-22T18:43:00Z (expired 1 hour ago)\n"
                )
        )
    }

    @Test("Reads the token from standard input with or without a dash")
    func standardInput() throws {
        let token = try SampleTokens.es256Token()
        let expected = try BuiltProgram.jwt.run("decode", "--at=0", token)
        #expect(expected.status == 0)
        #expect(try BuiltProgram.jwt.run("decode", "--at=0", input: token) == expected)
        #expect(try BuiltProgram.jwt.run("decode", "--at=0", "-", input: "\n \(token) \r\n") == expected)
    }

    @Test(
        "Decodes tokens of any algorithm",
        arguments: [
            ("rfc7515-a1-hs256", "HS256"), ("rfc7515-a2-rs256", "RS256"), ("rfc7519-6.1-unsecured", "none"),
            ("rfc7519-3.1-jwt-hs256", "HS256"),
        ]
    )
    func otherAlgorithms(vector: String, algorithm: String) throws {
        let result = try BuiltProgram.jwt.run("decode", try SampleTokens.text("compact", of: vector))
        #expect(result.status == 0)
        #expect(result.errors.hasPrefix(Self.warning))
        #expect(result.output.contains("    \"alg\": \"\(algorithm)\""))
        #expect(result.output.contains("    \"iss\": \"joe\""))
        let json = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        #expect(json?.keys.sorted() == ["claims", "header", "verified"])
    }

    @Test("Shows times as dates, and handles invalid times")
    func times() throws {
        let token = SampleTokens.unsigned(
            claims: "{\"iat\":1300815780.9,\"nbf\":-62135596800,\"exp\":1e300,\"sub\":\"a\"}"
        )
        let result = try BuiltProgram.jwt.run("decode", "--at", "1300815780", token)
        #expect(
            result.errors == Self.warning + """
                iat: 2011-03-22T17:43:00Z (issued now)
                nbf: 0001-01-01T00:00:00Z (began 2010 years ago)
                exp: outside the years 1 to 9999

                """
        )
        let text = SampleTokens.unsigned(claims: "{\"exp\":\"tomorrow\"}")
        #expect(try BuiltProgram.jwt.run("decode", text).errors == Self.warning + "exp: not a time\n")
    }

    @Test("Shows dates in the user's time zone, with relative times")
    func timeZone() throws {
        let token = SampleTokens.unsigned(claims: "{\"iat\":1300815600,\"nbf\":1300815960,\"exp\":1300819380}")
        for (zone, texts) in [
            ("Europe/Berlin", ["2011-03-22T18:40:00+01:00", "2011-03-22T18:46:00+01:00", "2011-03-22T19:43:00+01:00"]),
            (
                "CET-1CEST,M3.5.0,M10.5.0/3",
                ["2011-03-22T18:40:00+01:00", "2011-03-22T18:46:00+01:00", "2011-03-22T19:43:00+01:00"]
            ),
            (
                "America/St_Johns",
                ["2011-03-22T15:10:00-02:30", "2011-03-22T15:16:00-02:30", "2011-03-22T16:13:00-02:30"]
            ),
        ] {
            let result = try BuiltProgram.jwt.run("decode", "--at=1300815780", token, environment: ["TZ": zone])
            #expect(
                result.errors == Self.warning + """
                    iat: \(texts[0]) (issued 3 minutes ago)
                    nbf: \(texts[1]) (begins in 3 minutes)
                    exp: \(texts[2]) (expires in 1 hour)

                    """
            )
        }
        // The last day of year 9999 doesn't move to year 10000.
        let last = SampleTokens.unsigned(claims: "{\"exp\":253402300799}")
        let errors = try BuiltProgram.jwt.run("decode", last, environment: ["TZ": "Europe/Berlin"]).errors
        #expect(errors.contains("exp: 9999-12-31T23:59:59Z (expires in "))
    }

    @Test("Uses colors only on a terminal, and respects NO_COLOR and TERM")
    func colors() throws {
        let token = SampleTokens.unsigned(claims: "{\"a\\\"\":[1,\"b:\",null]}")
        let colored = try BuiltProgram.shell("script -qec 'jwt decode \(token) 2>/dev/null' /dev/null")
        #expect(colored.output.contains("\u{1B}[1;34m\"a\\\"\"\u{1B}[0m: ["))
        #expect(colored.output.contains("\u{1B}[33m1\u{1B}[0m,"))
        #expect(colored.output.contains("\u{1B}[32m\"b:\"\u{1B}[0m,"))
        #expect(colored.output.contains("\u{1B}[33mnull\u{1B}[0m"))
        let plain = try BuiltProgram.jwt.run("decode", token).output
        for setting in ["NO_COLOR=1", "TERM=dumb"] {
            let result = try BuiltProgram.shell("\(setting) script -qec 'jwt decode \(token) 2>/dev/null' /dev/null")
            #expect(result.output == plain.replacing("\n", with: "\r\n"))
        }
        let empty = try BuiltProgram.shell("NO_COLOR= script -qec 'jwt decode \(token) 2>/dev/null' /dev/null")
        #expect(empty == colored)
        #expect(!plain.contains("\u{1B}"))
    }

    @Test("Prints one line and no notes with --json")
    func json() throws {
        let result = try BuiltProgram.jwt.run("decode", "--json", try SampleTokens.es256Token())
        #expect(
            result
                == .success(
                    #"{"claims":{"exp":1300819380,"http://example.com/is_root":true,"iss":"joe"},"header":{"alg":"ES256"},"verified":false}"#
                        + "\n"
                )
        )
        let refused = try BuiltProgram.jwt.run("decode", "--json", "secret")
        let error = #"{"error":{"code":"malformedToken","message":"a signed token has 3 segments, not 1"}}"#
        #expect(refused == .failure(1, error + "\n"))
    }

    @Test("Escapes hidden characters, including in names")
    func hiddenCharacters() throws {
        let token = SampleTokens.unsigned(claims: "{\"a\u{9B}\":\"\\u001b[31m\\n\u{202E}\"}")
        let result = try BuiltProgram.jwt.run("decode", token)
        #expect(result.status == 0)
        #expect(result.output.contains("\n    \"a\\u009b\": \"\\u001b[31m\\n\\u202e\"\n"))
    }

    @Test(
        "Escapes invisible characters without changing the meaning of the JSON",
        .shows("X3"),
        arguments: ["decode", "decode --json", "decode --batch"]
    )
    func invisibleCharacters(command: String) throws {
        let hidden: [Unicode.Scalar] = [
            "\u{AD}", "\u{61C}", "\u{200B}", "\u{200D}", "\u{2028}", "\u{2029}", "\u{202E}", "\u{2060}", "\u{2066}",
            "\u{FEFF}",
            "\u{85}", "\u{9B}", "\u{7F}", "\u{FE0F}", "\u{3164}", "\u{E0041}", "\u{E0100}", "\u{110BD}", "\u{1D173}",
        ]
        let text = String(String.UnicodeScalarView(hidden))
        let claims: JSONObject = ["sub": .string("a\(text)ä😀"), "exp": 1]
        let token = SampleTokens.unsigned(claims: claims.serialized())
        let words = command.split(separator: " ").map(String.init)
        let result = try BuiltProgram.jwt.run(words, input: token)
        #expect(result.status == 0)
        for scalar in hidden { #expect(!result.output.unicodeScalars.contains(scalar), "\(scalar.value)") }
        #expect(result.output.contains("ä😀"))
        #expect(try JSONObject(parsing: result.output)["claims"]?.object == claims)
    }

    @Test(
        "Rejects malformed tokens in one line that doesn't repeat them",
        arguments: [
            ("secret", "a signed token has 3 segments, not 1"),
            ("secret.secret", "a signed token has 3 segments, not 2"),
            ("", "missing token: the argument is empty"),
        ]
    )
    func malformed(text: String, message: String) throws {
        let result = try BuiltProgram.jwt.run("decode", text)
        #expect(result == .failure(1, "jwt decode: \(message)\n"))
    }

    @Test("Prints the JSON serializations, and accepts step's --insecure")
    func serializations() throws {
        let folder = try TemporaryFolder()
        try folder.write(KeyFixtures.pkcs8, to: "key.pem")
        let sign = "jwt sign -k key.pem --sub alice"
        let expected = #"{"claims":{"sub":"alice"},"header":{"alg":"ES256","typ":"JWT"},"verified":false}"# + "\n"
        for form in ["", "--format json", "--format general"] {
            for options in ["--json --insecure", "--batch"] {
                let script = "\(sign) \(form) | jwt decode \(options)"
                #expect(try BuiltProgram.shell(script, in: folder) == .success(expected), "\(script)")
            }
        }
        let generated = "jwt sign --sub a --expires-in 1h --json | jwt decode | grep sub"
        #expect(try BuiltProgram.shell(generated, in: folder).output == "    \"sub\": \"a\"\n")
        let signatures = """
            { printf '{"payload":"e30","signatures":[{"header":{"kid":"1"},"protected":"eyJhbGciOiJFUzI1NiJ9",'
              printf '"signature":"AA"},{"protected":"eyJhbGciOiJSUzI1NiJ9","signature":"AA"}]}'; } | jwt decode --json
            """
        let members: JSONObject = [
            "header": ["alg": "ES256"], "unprotectedHeader": ["kid": "1"],
            "otherSignatures": [["header": ["alg": "RS256"]]], "claims": [:], "verified": false,
        ]
        #expect(try JSONObject(parsing: BuiltProgram.shell(signatures, in: folder).output) == members)
        let detached = try BuiltProgram.shell("\(sign) --detached --format json | jwt decode", in: folder)
        let message = "the payload is detached; jwt jws verify takes it with --payload FILE"
        #expect(detached == .failure(1, "jwt decode: \(message)\n"))
        let text = try BuiltProgram.shell("echo hi | jwt jws sign -k key.pem --format json | jwt decode", in: folder)
        #expect(text.fails(1, "jwt decode: the payload isn't a valid JSON object: "), "\(text)")
    }

    @Test("Names the command for other forms of tokens, not a type of the package")
    func otherForms() throws {
        let folder = try TemporaryFolder()
        try folder.write(KeyFixtures.pkcs8, to: "key.pem")
        let json = "jwt sign -k key.pem --sub a --format json | jwt verify -k key.pem"
        let message = "jwt verify: this is JSON, not a compact token; verify it with jwt jws verify\n"
        #expect(try BuiltProgram.shell(json, in: folder) == .failure(1, message))
        let batch = try BuiltProgram.shell(json + " --batch", in: folder)
        #expect(batch.output.contains("verify it with jwt jws verify") && batch.output.contains(#""valid":false"#))
    }

    @Test("Explains common mistakes: a file name, and the value of a header field")
    func mistaken() throws {
        let folder = try TemporaryFolder()
        let token = try SampleTokens.es256Token()
        try folder.write(token, to: "token.jwt")
        let file = "the argument is the name of a file; to read the file, precede it with <"
        let scheme = "it starts with “Bearer”, the scheme of the header field; remove that word"
        for command in ["decode", "verify --key-env KEY --secret text --alg HS256"] {
            let environment = ["KEY": String(repeating: "k", count: 32)]
            let named = try BuiltProgram.shell("jwt \(command) token.jwt", environment: environment, in: folder)
            #expect(named.status == 1 && named.output.isEmpty)
            #expect(named.errors.hasSuffix(": not a token: \(file)\n"), "\(named.errors)")
            for text in ["Bearer \(token)", "bearer \(token)"] {
                let copied = try BuiltProgram.shell("jwt \(command)", input: text, environment: environment, in: folder)
                #expect(copied.status == 1 && copied.output.isEmpty)
                #expect(copied.errors.hasSuffix(": not a token: \(scheme)\n"), "\(copied.errors)")
            }
            for (text, advice) in [
                (
                    "Authorization: Bearer \(token)",
                    "it starts with “Authorization”, the name of the header field; pass only the token"
                ),
                ("\"\(token)\"", "it starts with a quotation mark; remove the quotation marks, as jq -r does"),
            ] {
                let copied = try BuiltProgram.shell("jwt \(command)", input: text, environment: environment, in: folder)
                #expect(copied.fails(1, containing: ": not a token: \(advice)\n"), "\(copied)")
            }
        }
        #expect(try BuiltProgram.shell("jwt decode < token.jwt", in: folder).status == 0)
        // Text with the form of a token isn't taken for a file name.
        try folder.write("", to: "a.b.c")
        #expect(try BuiltProgram.shell("jwt decode a.b.c", in: folder).errors.contains("base64url"))
    }

    @Test(
        "Rejects malformed parts in one line",
        arguments: [
            "{", "[]", "{\"a\":1,\"a\":2}", "{\"a\":1}x", "", "text",
        ]
    )
    func brokenJSON(text: String) throws {
        let header = "{\"alg\":\"none\"}"
        for token in [
            SampleTokens.unsigned(claims: text), SampleTokens.unsigned(header: text, claims: "{}"),
            "\(SampleTokens.base64URL(header)).!.",
        ] {
            let result = try BuiltProgram.jwt.run("decode", token)
            #expect(result.failsInOneLine(1, "jwt decode: "), "\(result)")
        }
    }

    @Test("Shows the header of an encrypted token, and how to decrypt it")
    func encrypted() throws {
        let key = try DecryptionKey.generate(.a256KW).identified(by: "7").encryptionKey
        let token = try key.encrypt(signedToken: SampleTokens.unsigned(claims: "{}") + "AA")
        let result = try BuiltProgram.jwt.run("decode", token)
        let header = """
            {
              "encrypted": true,
              "header": {
                "alg": "A256KW",
                "cty": "JWT",
                "enc": "A256GCM",
                "kid": "7"
              },
              "verified": false
            }

            """
        let notes = """
            UNVERIFIED: anyone can have written this header; the rest of the token is encrypted
            To decrypt the token, use: jwt decrypt --key FILE --nested --verify-key FILE

            """
        #expect(result == ProcessResult(status: 0, output: header, errors: notes))
        let batch = try BuiltProgram.jwt.run("decode", "--batch", input: token + "\n")
        let line =
            #"{"encrypted":true,"header":{"alg":"A256KW","cty":"JWT","enc":"A256GCM","kid":"7"},"verified":false}"#
        #expect(batch == .success(line + "\n"))
        #expect(try BuiltProgram.jwt.run("decode", "--json", token).output == line + "\n")
    }

    @Test("Shows the headers of all recipients of an encrypted token")
    func recipients() throws {
        let password = try EncryptionPassword("secret")
        let keys = try [JWEAlgorithm.pbes2HS256A128KW, .pbes2HS512A256KW].map {
            try EncryptionKey(password: password, algorithm: $0, iterations: 1_000)
        }
        let generator = JWEGenerator(
            plaintext: Data(),
            unprotectedHeader: ["note": "x"],
            recipients: keys.map { JWERecipient(key: $0) }
        )
        let result = try BuiltProgram.jwt.run("decode", input: generator.generalJSON().serialized())
        #expect(result.status == 0)
        #expect(result.errors.hasSuffix("To decrypt the token, use: jwt decrypt --password\n"))
        let report = try JSONObject(parsing: result.output)
        #expect(report["header"] == ["enc": "A256GCM"])
        #expect(report["unprotectedHeader"] == ["note": "x"])
        let headers = try #require(report["recipientHeaders"]?.array)
        #expect(headers.map { $0.object?["alg"]?.string } == ["PBES2-HS256+A128KW", "PBES2-HS512+A256KW"])
    }

    @Test("Rejects a damaged encrypted token", arguments: ["a.b.c.d.e", "....", "{\"ciphertext\":\"secret!\"}"])
    func damaged(token: String) throws {
        let result = try BuiltProgram.jwt.run("decode", token)
        #expect(result.fails(1, "jwt decode: ") && !result.errors.contains("secret"), "\(result)")
    }

    @Test("Rejects more than one token")
    func twoTokens() throws {
        let result = try BuiltProgram.jwt.run("decode", "a", "secret")
        #expect(
            result
                == .failure(64, "jwt decode: unexpected argument: expected only TOKEN (see jwt decode --help)\n")
        )
    }
}
