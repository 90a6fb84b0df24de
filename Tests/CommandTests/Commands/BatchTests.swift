import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Batches", .limitedConcurrency)
struct BatchTests {
    private let folder: TemporaryFolder
    private let key: String

    init() throws {
        folder = try TemporaryFolder()
        key = try folder.write(try SampleTokens.es256JWK(), to: "key.jwk")
    }

    private static func lines(_ text: String) throws -> [JSONObject] {
        try text.split(separator: "\n").map { try JSONObject(parsing: String($0)) }
    }

    @Test("Signs each line in order, and continues after invalid lines")
    func sign() throws {
        let input = "{\"n\":1}\n\nsecret\n {\"n\": 2.50} \r\n[3]\n{\"n\":4,\"n\":4}\n{\"n\":5}"
        let result = try BuiltProgram.jwt.run("sign", "-k", key, "--batch", input: input)
        #expect(result.status == 1 && result.errors == "jwt sign: 4 of 7 lines failed\n")
        #expect(!result.output.contains("secret"))
        let lines = try Self.lines(result.output)
        #expect(
            lines.map { $0["error"]?.object?["code"]?.string } == [
                nil, "malformedJSON", "malformedJSON", nil, "malformedJSON", "malformedJSON", nil,
            ]
        )
        // Unchanged claims are signed byte for byte.
        let claims = try lines.compactMap(\.["token"]?.string).map { try SampleTokens.claims(of: $0) }
        #expect(claims == [#"{"n":1}"#, #"{"n": 2.50}"#, #"{"n":5}"#])
        let verifier = JWTVerifier(
            key: try VerificationKey(jwk: JWK(parsing: SampleTokens.es256JWK())),
            policy: ValidationPolicy(expiration: .optional)
        )
        for token in lines.compactMap(\.["token"]?.string) {
            #expect(throws: Never.self) { try verifier.verify(token) }
        }
    }

    @Test("Verifies and decodes what was signed with --batch and --json, and says how to extract another token")
    func ownOutput() throws {
        for options in ["--batch", "--json"] {
            let script = "echo '{\"sub\":\"a\"}' | jwt sign -k key.jwk --claims - \(options) > signed"
            try #require(try BuiltProgram.shell(script, in: folder) == .success())
            let verified = try BuiltProgram.shell("jwt verify -k key.jwk --allow-no-exp < signed", in: folder)
            #expect(verified.status == 0 && verified.output.contains("\"sub\": \"a\""), "\(verified)")
            let lines = try BuiltProgram.shell("jwt decode --batch < signed", in: folder)
            #expect(lines.status == 0 && lines.output.contains("\"sub\":\"a\""), "\(lines)")
        }
        let response = try BuiltProgram.shell("echo '{\"access_token\":\"secret\"}' | jwt decode", in: folder)
        #expect(response.failsInOneLine(1, "jwt decode: not a token: it's JSON whose member “access_token” is one"))
        let text = try BuiltProgram.shell("echo '{\"token\":1}' | jwt verify -k key.jwk", in: folder)
        #expect(text.status == 1, "\(text)")
    }

    @Test("Adds claims from options to every line, and fails a line that sets the same claim")
    func addedClaims() throws {
        let file = try folder.write("{\"sub\":\"a\"}\n{\"iss\":\"x\"}\n{}\n", to: "claims.jsonl")
        let result = try BuiltProgram.jwt.run(
            ["sign", "-k", key, "--batch", "--claims", file, "--iss", "me", "--jti", "auto", "--kid", "1"]
        )
        #expect(result.status == 1)
        let lines = try Self.lines(result.output)
        let tokens = lines.map { $0["token"]?.string }
        #expect(tokens.map { $0 == nil } == [false, true, false])
        #expect(
            lines[1] == [
                "error": [
                    "code": "duplicateClaim",
                    "message": "the claim iss is set by both --iss and the line; remove one",
                ]
            ]
        )
        let claims = try tokens.compactMap(\.self).map { try JSONObject(parsing: SampleTokens.claims(of: $0)) }
        #expect(claims.map { $0["iss"] } == ["me", "me"])
        #expect(claims[0]["jti"] != claims[1]["jti"])
        #expect(try SampleTokens.header(of: tokens[0] ?? "") == #"{"alg":"ES256","kid":"1","typ":"JWT"}"#)
    }

    @Test("Embeds other serializations in the line")
    func forms() throws {
        let result = try BuiltProgram.jwt.run("sign", "-k", key, "--batch", "--format", "json", input: "{}\n")
        #expect(result.status == 0)
        #expect(
            try Self.lines(result.output)[0]["token"]?.object?.map(\.name).sorted() == [
                "payload", "protected", "signature",
            ]
        )
    }

    @Test("Verifies or decodes each line, and distinguishes malformed, unsigned and overlong tokens")
    func verifyAndDecode() throws {
        let token = try SampleTokens.es256Token()
        let long = String(repeating: "a", count: (2 << 20) + 1)
        let input = [token, "secret", " \(token)\r", "", SampleTokens.unsigned(claims: "{}"), long, token].joined(
            separator: "\n"
        )
        let verified = try BuiltProgram.jwt.run(
            ["verify", "-k", key, "--at", SampleTokens.goodTime, "--batch"],
            input: input
        )
        #expect(verified.status == 1 && verified.errors == "jwt verify: 4 of 7 lines failed\n")
        let lines = try Self.lines(verified.output)
        #expect(lines.map { $0["valid"] } == [true, false, true, false, false, false, true])
        #expect(
            lines.map { $0["error"]?.object?["code"]?.string }
                == [nil, "malformedToken", nil, "malformedToken", "algorithmMismatch", "tooLarge", nil]
        )
        #expect(lines[0]["claims"]?.object?["iss"] == "joe")
        let decoded = try BuiltProgram.jwt.run("decode", "--batch", input: input)
        #expect(decoded.status == 1 && decoded.errors == "jwt decode: 3 of 7 lines failed\n")
        #expect(try Self.lines(decoded.output).map { $0["verified"] } == [false, nil, false, nil, false, nil, false])
        #expect(!decoded.output.contains("secret") && !verified.output.contains("secret"))
    }

    @Test("Prints nothing for empty input")
    func empty() throws {
        for arguments in [["sign", "-k", key], ["verify", "-k", key], ["decode"]] {
            #expect(try BuiltProgram.jwt.run(arguments + ["--batch"]) == .success())
        }
    }

    @Test("Flushes each result to a reader that waits for it")
    func dialogue() throws {
        let script = """
            mkfifo in out
            jwt decode --batch < in > out &
            exec 3> in 4< out
            for name in a b; do
              printf '%s.%s.\\n' eyJhbGciOiJub25lIn0 "$(printf '{"sub":"%s"}' $name | base64 | tr -d '=')" >&3
              read -r answer <&4; echo "$answer"
            done
            exec 3>&-; wait
            """
        let result = try BuiltProgram.shell(script, in: folder)
        #expect(result.status == 0)
        #expect(
            result.output == """
                {"claims":{"sub":"a"},"header":{"alg":"none"},"verified":false}
                {"claims":{"sub":"b"},"header":{"alg":"none"},"verified":false}

                """
        )
    }

    @Test("Keeps the order of many lines in a pipe, and exits quietly if the reader exits")
    func many() throws {
        let result = try BuiltProgram.shell(
            """
            seq 2000 | sed 's/.*/{"n":&}/' | jwt sign -k key.jwk --batch | sed 's/.*:"\\(.*\\)"}/\\1/' | \
            jwt verify -k key.jwk --batch --allow-no-exp | sed 's/.*"n":\\([0-9]*\\).*/\\1/' > numbers
            seq 2000 | cmp - numbers && echo same
            { seq 20000 | sed 's/.*/{"n":&}/' | jwt sign -k key.jwk --batch; echo $? >&2; } | head -n 1 | cut -c 1-10
            """,
            in: folder
        )
        #expect(result == ProcessResult(status: 0, output: "same\n{\"token\":\"\n", errors: "2\n"))
    }

    @Test("Rejects a token argument with --batch", arguments: ["verify -k k", "decode"])
    func operand(command: String) throws {
        let result = try BuiltProgram.shell("jwt \(command) --batch x")
        let name = command.prefix { $0 != " " }
        let message =
            "jwt \(name): --batch reads the tokens from standard input; remove TOKEN (see jwt \(name) --help)\n"
        #expect(result == .failure(64, message))
    }

    @Test("Fails if the claims file is missing")
    func missingFile() throws {
        let result = try BuiltProgram.jwt.run("sign", "-k", key, "--batch", "--claims", "missing")
        let message = "jwt sign: missing: can't be read: No such file or directory\n"
        #expect(result == .failure(2, message))
    }
}

@Suite("Progress of batches", .limitedConcurrency)
struct BatchProgressTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.write(try SampleTokens.es256JWK(), to: "key.jwk")
        try folder.write(String(repeating: "{\"sub\":\"alice\"}\n", count: 3_000), to: "claims.jsonl")
    }

    /// A reader that pauses for more than a second, while the tokens exceed the pipe's buffer.
    private static let slowReader = "{ dd bs=1 count=1 2>/dev/null; sleep 1.2; cat; } > tokens"

    @Test("Shows the progress of a long batch on one line that ends before the next message")
    func shown() throws {
        try folder.write("{\"sub\":\"alice\"}\n{", to: "more.jsonl")
        let script =
            "cat more.jsonl >> claims.jsonl && jwt sign -k key.jwk --batch --claims claims.jsonl | \(Self.slowReader)"
        let result = try BuiltProgram.shell(script, in: folder, errorsAreTerminal: true)
        #expect(try folder.text(of: "tokens").split(separator: "\n").count == 3_002)
        // The terminal inserts a carriage return before a line feed.
        let lines = result.errors.components(separatedBy: "\r\n")
        try #require(lines.count == 3)
        #expect(lines[1] == "jwt sign: 1 of 3002 lines failed" && lines[2].isEmpty)
        let shown = lines[0].components(separatedBy: "\r").dropFirst()
        let first = try #require(shown.first)
        #expect(first.contains("jwt sign [") && first.contains("kB of 48.0 kB") && first.contains("%"))
        #expect(shown.last?.hasSuffix("100% 48.0 kB, completed\u{1B}[K") == true)
        #expect(shown.allSatisfy { $0.hasSuffix("\u{1B}[K") && $0.dropLast(3).count < 80 })
    }

    @Test("Shows no progress without a terminal, with --json, for a pipe and for a short batch")
    func silent() throws {
        let sign = "jwt sign -k key.jwk --batch"
        let file = "\(sign) --claims claims.jsonl | \(Self.slowReader)"
        #expect(try BuiltProgram.shell(file, in: folder) == .success())
        for script in [
            "\(sign) --json --claims claims.jsonl | \(Self.slowReader)",
            "cat claims.jsonl | \(sign) | \(Self.slowReader)",
            "head -n 5 claims.jsonl > few.jsonl && \(sign) < few.jsonl > tokens",
        ] {
            let result = try BuiltProgram.shell(script, in: folder, errorsAreTerminal: true)
            #expect(result == .success(), "\(script)")
        }
    }
}
