import Foundation
import TestSupport
import Testing

@Suite("jwt in pipes", .limitedConcurrency)
struct PipeTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test("Generates a key, and signs, verifies and decodes a token")
    func transcript() throws {
        let script = """
            jwt keygen --alg ES256 --out key.pem &&
            jwt sign --key key.pem --sub alice --expires-in 1h --no-iat --claim exp2=1 > token &&
            jwt verify --key key.pem < token | grep -v '"exp"' &&
            jwt decode < token 2>/dev/null | grep -v '"exp"'
            """
        let result = try BuiltProgram.shell(script, in: folder)
        #expect(
            result
                == ProcessResult(
                    status: 0,
                    output: """
                        {
                          "exp2": 1,
                          "sub": "alice"
                        }
                        {
                          "header": {
                            "alg": "ES256",
                            "typ": "JWT"
                          },
                          "claims": {
                            "exp2": 1,
                            "sub": "alice"
                          },
                          "verified": false
                        }

                        """,
                    errors: ""
                )
        )
    }

    @Test("Passes keys and tokens through pipes, and verifies with an ephemeral key's JWK")
    func pipes() throws {
        let script = """
            jwt keygen --alg ES256 | jwt sign --key - --sub piped --expires-in 1h | jwt decode 2>/dev/null | grep piped &&
            jwt sign --sub ephemeral --expires-in 1h > token 2> public.jwk &&
            jwt verify --key public.jwk < token | grep ephemeral
            """
        let result = try BuiltProgram.shell(script, in: folder)
        #expect(result.status == 0)
        #expect(result.output == "    \"sub\": \"piped\"\n  \"sub\": \"ephemeral\"\n")
        #expect(result.errors == "")
    }

    @Test("Fails verification at the end of a pipe if signing fails")
    func failureInPipe() throws {
        let script = "jwt keygen --alg ES256 --out key; jwt sign --key missing | jwt verify --key key"
        let result = try BuiltProgram.shell(script, in: folder)
        #expect(result.status == 1)
        #expect(result.output == "")
        #expect(
            result.errors.split(separator: "\n").sorted() == [
                "jwt sign: missing: can't be read: No such file or directory",
                "jwt verify: missing token: standard input is empty",
            ]
        )
    }

    @Test(
        "Exits quietly if the reader has exited",
        arguments: [
            ["keygen", "--alg", "ES256"], ["sign", "--key", "KEY", "--sub", "a"],
            ["verify", "--key", "KEY", "--at", SampleTokens.goodTime, "TOKEN"],
            ["--help"], ["sign", "--help"], ["--version"],
        ]
    )
    func closedPipe(arguments: [String]) throws {
        let key = try folder.write(try SampleTokens.es256JWK(), to: "key.jwk")
        let token = try SampleTokens.es256Token()
        let filled = arguments.map { $0 == "KEY" ? key : $0 == "TOKEN" ? token : $0 }
        #expect(
            try BuiltProgram.jwt.run(filled, hasReader: false) == ProcessResult(status: 2, output: "", errors: "")
        )
    }

    @Test("Supports a reader that reads only the first byte")
    func head() throws {
        let claims = "{\"a\":\"" + String(repeating: "x", count: 500_000) + "\"}"
        let result = try BuiltProgram.shell(
            "jwt decode 2>/dev/null | head -c 1",
            input: SampleTokens.unsigned(claims: claims)
        )
        #expect(result == ProcessResult(status: 0, output: "{", errors: ""))
    }

    @Test("Signs and verifies a large token")
    func largeToken() throws {
        let claims = "{\"a\":\"" + String(repeating: "x", count: 500_000) + "\"}"
        let script = "jwt keygen --alg ES256 --out k && jwt sign -k k --claims - | jwt verify -k k --allow-no-exp"
        let result = try BuiltProgram.shell(script, input: claims, in: folder)
        #expect(result.status == 0)
        #expect(result.errors == "")
        #expect(result.output == "{\n  \"a\": \"" + String(repeating: "x", count: 500_000) + "\"\n}\n")
    }

    @Test("Reports a full disk and closed streams")
    func failingStreams() throws {
        let full = try BuiltProgram.shell("jwt keygen --alg ES256 > /dev/full")
        let reason = "jwt keygen: can't write to standard output: No space left on device\n"
        #expect(full == ProcessResult(status: 2, output: "", errors: reason))
        let closed = try BuiltProgram.shell("jwt keygen --alg ES256 --public-out p >&-", in: folder)
        let closedReason = "jwt keygen: can't write to standard output: Bad file descriptor\n"
        #expect(closed == ProcessResult(status: 2, output: "", errors: closedReason))
        #expect(try folder.names() == [])
        let noInput = try BuiltProgram.shell("jwt decode <&-")
        let inputReason = "jwt decode: standard input: can't be read: Bad file descriptor\n"
        #expect(noInput == ProcessResult(status: 2, output: "", errors: inputReason))
        let silent = try BuiltProgram.shell("jwt decode secret 2>&-")
        #expect(silent == ProcessResult(status: 1, output: "", errors: ""))
    }

    @Test("Requires a token argument if standard input is a terminal", arguments: ["decode", "verify -k x"])
    func terminal(command: String) throws {
        let result = try BuiltProgram.shell("script -qec 'jwt \(command)' /dev/null")
        let name = command.prefix { $0 != " " }
        let message =
            "jwt \(name): missing token; pass it as an argument, or pass - to type it (see jwt \(name) --help)"
        #expect(result.status == 64)
        #expect(result.output == message + "\r\n")
    }

    @Test("Prints one line for any file name")
    func fileNames() throws {
        let result = try BuiltProgram.jwt.run("sign", "--key", "/missing\n\u{1B}[31m")
        let message = "jwt sign: /missing\\u000a\\u001b[31m: can't be read: No such file or directory\n"
        #expect(result == ProcessResult(status: 2, output: "", errors: message))
    }
}
