import Foundation

/// The cost of the `jwt` command: batches of ES256 tokens against `openssl speed ecdsap256`, and
/// its start.
///
/// The sides alternate on one core. The figures are CPU time, for ours including the kernel.
struct CommandSuite {
    /// The operations per CPU second in each round.
    private struct Series {
        var ours: [Double] = []
        var openSSL: [Double] = []
    }

    private static let core = "0"
    private static let issued = 1_795_322_700

    private let arguments: Arguments
    private let folder: URL
    private let jwt: String

    init(_ arguments: Arguments) throws {
        self.arguments = arguments
        folder = FileManager.default.temporaryDirectory.appending(path: "bench-cli-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        jwt = try arguments.program ?? Self.built()
    }

    /// Measures and removes the temporary files.
    func run() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        if arguments.wants("ES256") { try runBatches() }
        if arguments.wants("jwt --version") { try runStart() }
    }

    private func runBatches() throws {
        let (key, claims, tokens) = (file("key.pem"), file("claims"), file("tokens"))
        try Self.run([jwt, "keygen", "--alg", "ES256", "--out", key])
        let lines = (1...arguments.tokens).map { number in
            #"{"iss":"https://id.example","sub":"user-\#(number)","aud":"https://api.example","iat":\#(Self.issued),"#
                + #""exp":\#(Self.issued + 3_600),"jti":"\#(number)"}"# + "\n"
        }
        try Data(lines.joined().utf8).write(to: URL(filePath: claims))
        var (sign, verify) = (Series(), Series())
        for _ in 0..<arguments.rounds {
            let speed = try openSSLSpeed()
            sign.openSSL.append(speed.sign)
            verify.openSSL.append(speed.verify)
            sign.ours.append(try rate([jwt, "sign", "--key", key, "--batch"], from: claims, to: file("signed")))
            try Self.tokens(in: file("signed")).write(to: URL(filePath: tokens))
            verify.ours.append(
                try rate(
                    [jwt, "verify", "--key", key, "--at", String(Self.issued + 1), "--any-aud", "--batch"],
                    from: tokens,
                    to: file("verified")
                )
            )
        }
        report("ES256 sign --batch", sign)
        report("ES256 verify --batch", verify)
    }

    private func runStart() throws {
        var times: [Double] = []
        for _ in 0..<max(arguments.rounds, 7) {
            times.append(try Self.run(bound([jwt, "--version"]), to: file("version")) * 1_000)
        }
        let time = Self.median(times)
        if arguments.isJSON {
            print(String(format: #"{"suite":"cli","case":"jwt --version","cpu_ms":%.1f}"#, time))
        } else {
            print(String(format: "jwt --version: %.1f ms of CPU time", time))
        }
    }

    private func report(_ name: String, _ series: Series) {
        let (ours, openSSL) = (Self.median(series.ours), Self.median(series.openSSL))
        // A ratio per round, because both sides of a round run at the same speed of the machine.
        let ratio = Self.median(zip(series.ours, series.openSSL).map { $0 / $1 })
        if arguments.isJSON {
            print(
                String(
                    format: """
                        {"suite":"cli","case":"%@","tokens":%d,"per_cpu_s":%.0f,"openssl_per_cpu_s":%.0f,"of_openssl":%.3f}
                        """,
                    name,
                    arguments.tokens,
                    ours,
                    openSSL,
                    ratio
                )
            )
        } else {
            print(
                String(
                    format: "%@: %.0f per CPU second, openssl speed %.0f: ratio %.3f",
                    name,
                    ours,
                    openSSL,
                    ratio
                )
            )
        }
        fflush(nil)
    }

    // MARK: The sides

    /// Returns the lines per CPU second, and throws an error if a line is missing from the output.
    private func rate(_ command: [String], from input: String, to output: String) throws -> Double {
        let seconds = try Self.run(bound(command), from: input, to: output)
        let lines = try Data(contentsOf: URL(filePath: output)).count { $0 == UInt8(ascii: "\n") }
        guard lines == arguments.tokens else {
            throw UsageError(text: "bench: \(command[1]) printed \(lines) lines instead of \(arguments.tokens).")
        }
        return Double(arguments.tokens) / seconds
    }

    /// Returns the operations per CPU second that `openssl speed` reports.
    private func openSSLSpeed() throws -> (sign: Double, verify: Double) {
        let output = file("speed")
        try Self.run(bound(["openssl", "speed", "-seconds", "3", "ecdsap256"]), to: output)
        let text = try String(contentsOf: URL(filePath: output), encoding: .utf8)
        let numbers = text.split(separator: "\n").last { $0.contains("nistp256") }?.split(separator: " ").suffix(2)
            .compactMap { Double($0) }
        guard let numbers, numbers.count == 2 else { throw UsageError(text: "bench: No output of openssl speed.") }
        return (numbers[0], numbers[1])
    }

    private func bound(_ command: [String]) -> [String] { ["taskset", "-c", Self.core] + command }

    private func file(_ name: String) -> String { folder.appending(path: name).path }

    /// Returns the tokens from lines such as `{"token":"…"}`.
    private static func tokens(in path: String) throws -> Data {
        var tokens = Data()
        for line in try Data(contentsOf: URL(filePath: path)).split(separator: UInt8(ascii: "\n")) {
            tokens.append(line.dropFirst(#"{"token":""#.utf8.count).dropLast(2))
            tokens.append(UInt8(ascii: "\n"))
        }
        return tokens
    }

    /// Builds the command for release and returns its path.
    private static func built() throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().path
        try run(["swift", "build", "-c", "release", "--product", "jwt", "--package-path", root])
        return root + "/.build/release/jwt"
    }

    private static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        return sorted.isEmpty ? 0 : sorted[(sorted.count - 1) / 2]
    }

    /// Runs a program and returns its CPU time, in seconds.
    @discardableResult
    private static func run(
        _ command: [String],
        from input: String = "/dev/null",
        to output: String = "/dev/null"
    ) throws -> Double {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = command
        process.standardInput = FileHandle(forReadingAtPath: input)
        // FileManager's createFile would replace the old file, even /dev/null.
        let descriptor = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw UsageError(text: "bench: Can't write \(output): errno \(errno).") }
        process.standardOutput = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        process.standardError = FileHandle.nullDevice
        let before = childTime()
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw UsageError(
                text: "bench: \(command.joined(separator: " ")) failed with status \(process.terminationStatus)."
            )
        }
        return childTime() - before
    }

    /// The CPU time of the child processes that have ended, including the kernel, in seconds.
    private static func childTime() -> Double {
        var usage = rusage()
        getrusage(RUSAGE_CHILDREN.rawValue, &usage)
        let parts = [usage.ru_utime, usage.ru_stime].map { Double($0.tv_sec) + Double($0.tv_usec) / 1_000_000 }
        return parts.reduce(0, +)
    }
}
