import Foundation
import TestSupport
import Testing

/// How the process protects what it holds, and what it leaves behind when it is ended.
@Suite("Protection of the jwt process", .serialized, .limitedConcurrency)
struct ProtectionTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.write(KeyFixtures.pkcs8, to: "key.pem")
    }

    /// Waits in a shell until a command succeeds; ends the script if it doesn't.
    private static let eventually = """
        eventually() { n=0; until eval "$1"; do n=$((n + 1)); [ $n -lt 1000 ] || { echo "never: $1"; exit 9; }; sleep 0.02; done; }

        """

    @Test(
        "a crash leaves no core dump and prints no memory, also where a debugger raises the limit",
        arguments: ["SEGV", "ABRT", "TRAP"]
    )
    func coreDumps(name: String) throws {
        // The second limit is what another process of root could set: the process isn't dumpable all the same.
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
        "a signal that ends the process leaves no temporary file behind",
        arguments: ["TERM", "HUP", "XCPU", "ALRM", "USR1"]
    )
    func signals(name: String) throws {
        // The key's file is complete and has no name yet; the public key waits for a pipe that is full.
        let script = """
            \(Self.eventually)mkfifo full; exec 8<>full; head -c 65536 /dev/zero >&8
            jwt keygen --alg ES256 --out new.pem --public-out - >&8 8>&- & pid=$!
            eventually 'ls .jwt-*.tmp > /dev/null 2>&1'
            kill -\(name) $pid; wait $pid; echo $?; ls -A
            """
        let result = try BuiltProgram.shell(script, in: folder)
        let numbers = ["TERM": 143, "HUP": 129, "XCPU": 152, "ALRM": 142, "USR1": 138]
        #expect(result.output == "\(numbers[name] ?? 0)\nfull\nkey.pem\n", "\(result)")
    }

    @Test("a signal that the parent has the process ignore stays ignored")
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
        "a limit on the size of files is a failure that leaves nothing behind",
        arguments: [
            "keygen --alg ES256 --out new.pem", "keygen --alg ES256 --public-out public.pem --out new.pem",
            "key convert key.pem --out new.pem", "key jwks add keys.jwks key.pem",
            "sign -k key.pem -c a=1 --detached --payload-out payload",
        ]
    )
    func fileSizeLimit(command: String) throws {
        let result = try BuiltProgram.shell("ulimit -f 0; jwt \(command)", in: folder)
        #expect(result.status == 2, "\(result)")
        #expect(result.errors.hasSuffix(": cannot be written: File too large\n"), "\(result)")
        #expect(try folder.names() == ["key.pem"])
        let printed = try BuiltProgram.shell("ulimit -f 0; jwt key public key.pem > out", in: folder)
        let message = "jwt key public: cannot write to standard output: File too large\n"
        #expect(printed == ProcessResult(status: 2, output: "", errors: message))
    }
}
