import Foundation
import TestSupport
import Testing

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
        eventually() { n=0; until eval "$1"; do n=$((n + 1)); [ $n -lt 1000 ] || { echo "never: $1"; exit 9; }; sleep 0.02; done; }

        """

    @Test(
        "Leaves no core dump and prints no memory in a crash, even with a raised limit",
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
        arguments: ["TERM", "HUP", "XCPU", "ALRM", "USR1"]
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
        let numbers = ["TERM": 143, "HUP": 129, "XCPU": 152, "ALRM": 142, "USR1": 138]
        #expect(result.output == "\(numbers[name] ?? 0)\nfull\nkey.pem\n", "\(result)")
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
        #expect(printed == ProcessResult(status: 2, output: "", errors: message))
    }
}
