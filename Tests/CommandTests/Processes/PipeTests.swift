import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing
import TokenGeneration

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
                == .success(
                    """
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

                    """
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
        #expect(try BuiltProgram.jwt.run(filled, hasReader: false) == .failure(2, ""))
    }

    @Test("Supports a reader that reads only the first byte")
    func head() throws {
        let claims = "{\"a\":\"" + String(repeating: "x", count: 500_000) + "\"}"
        let result = try BuiltProgram.shell(
            "jwt decode 2>/dev/null | head -c 1",
            input: SampleTokens.unsigned(claims: claims)
        )
        #expect(result == .success("{"))
    }

    @Test("Signs and verifies a large token")
    func largeToken() throws {
        let claims = "{\"a\":\"" + String(repeating: "x", count: 500_000) + "\"}"
        let script = "jwt keygen --alg ES256 --out k && jwt sign -k k --claims - | jwt verify -k k --allow-no-exp"
        let result = try BuiltProgram.shell(script, input: claims, in: folder)
        #expect(result.status == 0 && result.errors == "", "\(result)")
        #expect(result.output == "{\n  \"a\": \"" + String(repeating: "x", count: 500_000) + "\"\n}\n")
    }

    @Test("Reports a full disk and closed streams")
    func failingStreams() throws {
        let full = try BuiltProgram.shell("jwt keygen --alg ES256 > /dev/full")
        let reason = "jwt keygen: can't write to standard output: No space left on device\n"
        #expect(full == .failure(2, reason))
        let closed = try BuiltProgram.shell("jwt keygen --alg ES256 --public-out p >&-", in: folder)
        let closedReason = "jwt keygen: can't write to standard output: Bad file descriptor\n"
        #expect(closed == .failure(2, closedReason))
        #expect(try folder.names() == [])
        let noInput = try BuiltProgram.shell("jwt decode <&-")
        let inputReason = "jwt decode: standard input: can't be read: Bad file descriptor\n"
        #expect(noInput == .failure(2, inputReason))
        let silent = try BuiltProgram.shell("jwt decode secret 2>&-")
        #expect(silent == .failure(1, ""))
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
        #expect(result == .failure(2, message))
    }
}

/// Tests for the protection of secrets in memory and for the removal of temporary files.
@Suite("Protection of the jwt process", .limitedConcurrency)
struct ProtectionTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.write(KeyFixtures.pkcs8, to: "key.pem")
    }

    /// A shell function that waits until a command succeeds, or ends the script after a timeout.
    private static let eventually = """
        eventually() { n=0; until eval "$1"; do n=$((n + 1)); [ $n -lt 6000 ] || { echo "never: $1"; exit 9; }; sleep 0.02; done; }

        """

    @Test(
        "Leaves no core dump and prints no memory in a crash, even with a raised limit",
        .shows("X1"),
        arguments: ["SEGV", "ABRT", "TRAP"]
    )
    func coreDumps(name: String) throws {
        // A process of root could raise the limit, but the process still isn't dumpable.
        let script = """
            \(Self.eventually)mkfifo input; exec 8<>input; ulimit -c unlimited 2>/dev/null
            jwt decode < input 8>&- & pid=$!
            eventually "grep -Eq 'core file size +0 +0 ' /proc/$pid/limits"
            prlimit --pid $pid --core=1000000:1000000 2>/dev/null
            kill -\(name) $pid; wait $pid; echo $?; ls
            """
        let result = try BuiltProgram.shell(script, in: folder)
        let numbers = ["SEGV": 139, "ABRT": 134, "TRAP": 133]
        #expect(result.output == "\(numbers[name] ?? 0)\ninput\nkey.pem\n", "\(result)")
        #expect(!result.errors.contains("core dumped"))
        #expect(!result.errors.contains("Backtrac") && !result.errors.contains("rax"), "\(result.errors)")
    }

    @Test(
        "Removes temporary files if a signal ends the process",
        .shows("X2"),
        arguments: ["TERM", "HUP", "XCPU", "ALRM", "USR1", "PROF", "VTALRM", "PWR"]
    )
    func signals(name: String) throws {
        // The private file is written but not yet renamed, while the public key waits for a full
        // pipe.
        let script = """
            \(Self.eventually)mkfifo full; exec 8<>full; head -c 65536 /dev/zero >&8
            jwt keygen --alg ES256 --out new.pem --public-out - >&8 8>&- & pid=$!
            eventually 'ls .jwt-*.tmp > /dev/null 2>&1'
            kill -\(name) $pid; wait $pid; echo $?; ls -A
            """
        let result = try BuiltProgram.shell(script, in: folder)
        let numbers = [
            "TERM": 143, "HUP": 129, "XCPU": 152, "ALRM": 142, "USR1": 138, "PROF": 155, "VTALRM": 154, "PWR": 158,
        ]
        #expect(result.output == "\(numbers[name] ?? 0)\nfull\nkey.pem\n", "\(result)")
    }

    /// A command line that makes a standard stream nonblocking for the command after it.
    private static func nonblocking(_ stream: String) -> String {
        "perl -MFcntl -e 'fcntl(\(stream), F_SETFL, O_RDWR | O_NONBLOCK) or die; exec @ARGV'"
    }

    @Test("Waits for nonblocking standard input and output")
    func nonblockingStreams() throws {
        let slow = "{ for n in 1 2 3; do echo '{}'; sleep 0.1; done; }"
        let read = "\(slow) | \(Self.nonblocking("STDIN")) jwt sign -k key.pem --batch | wc -l"
        #expect(try BuiltProgram.shell(read, in: folder) == .success("3\n"))
        let key = "{ sleep 0.1; cat key.pem; } | \(Self.nonblocking("STDIN")) jwt key inspect - | head -n 1"
        #expect(try BuiltProgram.shell(key, in: folder) == .success("form:       PEM, PRIVATE KEY\n"))
        let token =
            "{ sleep 0.1; jwt sign -k key.pem --sub a; } | \(Self.nonblocking("STDIN")) jwt decode 2>&1 | grep sub"
        #expect(try BuiltProgram.shell(token, in: folder) == .success("    \"sub\": \"a\"\n"))
        let write = """
            seq 3000 | sed 's/.*/{"n":&}/' | \(Self.nonblocking("STDOUT")) jwt sign -k key.pem --batch | { sleep 0.5; wc -l; }
            """
        #expect(try BuiltProgram.shell(write, in: folder) == .success("3000\n"))
    }

    @Test("Ignores a signal that the parent ignores")
    func ignoredSignal() throws {
        let script = """
            \(Self.eventually)mkfifo full; exec 8<>full; head -c 65536 /dev/zero >&8; trap '' HUP
            jwt keygen --alg ES256 --out new.pem --public-out - >&8 8>&- & pid=$!
            eventually 'ls .jwt-*.tmp > /dev/null 2>&1'
            kill -HUP $pid; head -c 65536 <&8 > /dev/null; wait $pid; echo $?; ls -A
            """
        let result = try BuiltProgram.shell(script, in: folder)
        #expect(result.output == "0\nfull\nkey.pem\nnew.pem\n", "\(result)")
    }

    @Test(
        "Removes temporary files at the file size limit",
        .shows("X2"),
        arguments: [
            "keygen --alg ES256 --out new.pem", "keygen --alg ES256 --public-out public.pem --out new.pem",
            "key convert key.pem --out new.pem", "key jwks add keys.jwks key.pem",
            "sign -k key.pem -c a=1 --detached --payload-out payload",
        ]
    )
    func fileSizeLimit(command: String) throws {
        let result = try BuiltProgram.shell("ulimit -f 0; jwt \(command)", in: folder)
        #expect(result.status == 2, "\(result)")
        #expect(result.errors.hasSuffix(": can't be written: File too large\n"), "\(result)")
        #expect(try folder.names() == ["key.pem"])
        let printed = try BuiltProgram.shell("ulimit -f 0; jwt key public key.pem > out", in: folder)
        let message = "jwt key public: can't write to standard output: File too large\n"
        #expect(printed == .failure(2, message))
    }
}

/// A mount namespace in which /proc is empty.
private enum ProclessNamespace {
    /// The start of a command line that hides /proc from the rest of it: with the rights of root,
    /// or with a user namespace.
    static let start = ["unshare --mount", "unshare --map-root-user --mount"]
        .map { $0 + #" sh -ec 'mount -t tmpfs none /proc; [ ! -e /proc/self ]; exec "$@"' sh"# }
        .first { (try? BuiltProgram.shell($0 + " true").status) == 0 }

    static let hasAddressSanitizer = unsafe dlsym(nil, "__asan_init") != nil
}

@Suite(
    "Without /proc",
    .limitedConcurrency,
    .tokenScene,
    .enabled(if: ProclessNamespace.start != nil, "requires unshare and a kernel that allows mount namespaces"),
    .enabled(if: !ProclessNamespace.hasAddressSanitizer, "AddressSanitizer reads /proc")
)
struct ProclessTests {
    private var scene: TokenScene { .current }

    private func run(_ line: String, in scene: TokenScene) async throws -> ProcessResult {
        try await scene.shell("cd '\(scene.home.path)' && \(ProclessNamespace.start ?? "false") \(line)")
    }

    @Test("jwt generates keys, signs, verifies and decodes")
    func tokens() async throws {
        let keygen = try await run("jwt keygen --alg ES256 --out key.pem --public-out public.pem", in: scene)
        #expect(keygen == .success())
        let sign = try await run("jwt sign --key key.pem --sub ada --expires-in 1h", in: scene)
        #expect(sign.status == 0 && sign.errors == "", "\(sign)")
        try scene.home.write(sign.output, to: "token")
        for line in ["jwt verify --key public.pem < token", "jwt decode < token"] {
            let result = try await run(line, in: scene)
            #expect(result.status == 0 && result.output.contains(#""sub": "ada""#), "\(result)")
        }
    }

    @Test("jwt prints usage errors, and rejects an argument that isn't UTF-8")
    func usage() async throws {
        let unknown = try await run("jwt sing", in: scene)
        #expect(unknown.status == 64 && unknown.errors.contains("sing"), "\(unknown)")
        let invalid = try await run(#"jwt decode "$(printf 'a\377')""#, in: scene)
        #expect(invalid.status == 64 && invalid.errors.contains("argument 2 isn't valid UTF-8"), "\(invalid)")
    }

    @Test("Commands that send requests fail before they start tasks, which Dispatch can't run", .shows("Q17"))
    func requests() async throws {
        let flags = scene.flags.map { "'\($0)'" }.joined(separator: " ")
        _ = try await run("jwt keygen --alg ES256 --out key.pem", in: scene)
        try scene.home.write(
            try await run("jwt sign --key key.pem --sub ada --expires-in 1h", in: scene).output,
            to: "token"
        )
        for line in [
            "jwt token \(flags)", "jwt request GET \(scene.origin)/reports \(flags)",
            "jwt verify --discover \(scene.issuer) --aud api < token",
            "jwt pin https://127.0.0.1:\(scene.api.port)",
        ] {
            let result = try await run(line, in: scene)
            #expect(result.status == 2 && result.output == "", "\(line): \(result)")
            #expect(result.errors.contains("requests need /proc, which isn't mounted"), "\(line): \(result)")
        }
        #expect(scene.authorization.server.requestCount == 0 && scene.api.requestCount == 0)
    }

    @Test("quickstart lists the examples, and doesn't start them")
    func examples() async throws {
        let list = try await run("quickstart --list", in: scene)
        #expect(list.status == 0 && list.output.hasPrefix("quickstart: "), "\(list)")
        let result = try await run("quickstart token-exchange", in: scene)
        let message = "token-exchange needs /proc, which isn't mounted; mount it as container engines do\n"
        #expect(result == .failure(1, message))
        #expect(try await run("quickstart unknown", in: scene).status == 64)
    }
}
