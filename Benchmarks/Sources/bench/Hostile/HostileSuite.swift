import Foundation
import FoundationNetworking
import Networking
import TokenGeneration

/// The cost of the worst input of each kind, and the latency of other requests while a hostile
/// server responds.
struct HostileSuite {
    private let arguments: Arguments

    init(_ arguments: Arguments) {
        self.arguments = arguments
    }

    func run() async throws {
        if !arguments.isJSON { print("case                                CPU ms") }
        for work in HostileWork.all where arguments.wants(work.name) {
            reportWork(work.name, try HostileChild.cost(of: work.name))
        }
        guard HostileServer.Behavior.allCases.contains(where: { arguments.wants("beside \($0.rawValue)") }) else {
            return
        }
        if !arguments.isJSON { print("case                              median ms    p99 ms  late ms  ends with") }
        for behavior in HostileServer.Behavior.allCases where arguments.wants("beside \(behavior.rawValue)") {
            reportLatency("beside \(behavior.rawValue)", try await HostileNeighbor.measure(beside: behavior))
        }
    }

    private func reportWork(_ name: String, _ milliseconds: Double?) {
        let text = milliseconds.map { String(format: "%.2f", $0) }
        if arguments.isJSON {
            print(#"{"suite":"hostile","case":"\#(name)","cpu_ms":\#(text ?? "null")}"#)
        } else {
            print(padded(name) + (text ?? "more than \(HostileChild.longest) s"))
        }
        fflush(nil)
    }

    private func reportLatency(_ name: String, _ figures: HostileNeighbor.Figures) {
        let numbers = [figures.median, figures.highest, figures.lateness].map { String(format: "%.2f", $0) }
        if arguments.isJSON {
            print(
                """
                {"suite":"hostile","case":"\(name)","median_ms":\(numbers[0]),"p99_ms":\(numbers[1]),\
                "late_ms":\(numbers[2]),"ends_with":"\(figures.end)"}
                """
            )
        } else {
            let cells = numbers.map { String(repeating: " ", count: max(1, 9 - $0.count)) + $0 }
            print(padded(name) + cells.joined() + "  " + figures.end)
        }
        fflush(nil)
    }

    private func padded(_ name: String) -> String {
        name + String(repeating: " ", count: max(1, 34 - name.count))
    }
}

/// A piece of work that an attacker's input causes.
struct HostileWork: Sendable {
    let name: String
    /// Creates the input and returns the operation that reads it, which ignores errors.
    let prepare: @Sendable () throws -> @Sendable () async -> Void

    static let all = keysAndTokens + certificates + documents

    private static let keysAndTokens = [
        HostileWork(name: "private JWK, 11,213 bits") {
            let jwk = try JWK(parsing: HostileInput.privateKey(bits: 11_213, keyID: "1"))
            return { use(try? VerificationKey(jwk: jwk)) }
        },
        HostileWork(name: "private JWK, 3,217 bits") {
            let jwk = try JWK(parsing: HostileInput.privateKey(bits: 3_217, keyID: "1"))
            return { use(try? VerificationKey(jwk: jwk)) }
        },
        HostileWork(name: "public JWK, 16,384 bits") {
            let jwk = try JWK(parsing: HostileInput.publicKey(bits: 16_384, keyID: "1"))
            return { use(try? VerificationKey(jwk: jwk)) }
        },
        keySet("key set, private RSA keys") { HostileInput.privateKey(bits: 3_217, keyID: "\($0)") },
        keySet("key set, RSA of 16,384 bits") { HostileInput.publicKey(bits: 16_384, keyID: "\($0)") },
        keySet("key set, RSA, kid of the token") { _ in HostileInput.publicKey(bits: 2_048, keyID: "good") },
        keySet("key set, EC keys, kid of the token") { _ in
            var jwk = try SigningKey.generate(.es256).verificationKey.jwk
            jwk.members["kid"] = "good"
            return jwk.members.serialized()
        },
        keySet("key set, combining marks") { _ in
            #"{"kty":"RSA","\#(HostileInput.combiningMarks(bytes: 20_000))":1,"\#(HostileInput.combiningMarks(bytes: 20_004))":1}"#
        },
        HostileWork(name: "token of 64 KiB, combining marks") {
            let token = HostileInput.token()
            return { use(try? UnverifiedToken(token)) }
        },
        HostileWork(name: "JSON of 1 MB, combining marks") {
            let text = Data(HostileInput.object(bytes: 1_000_000).utf8)
            return { use(try? JSONObject(parsing: text)) }
        },
        HostileWork(name: "DPoP proof, RSA of 16,384 bits") { proof(bits: 16_384) },
        HostileWork(name: "DPoP proof, RSA of 4,096 bits") { proof(bits: 4_096) },
        HostileWork(name: "PKCS#12, 8 million iterations") {
            let file = try HostileInput.pkcs12()
            return { use(try? ClientIdentity(pkcs12: file) { "secret" }) }
        },
        HostileWork(name: "PKCS#12, most work accepted") {
            let file = try HostileInput.pkcs12(options: "-certpbe NONE -iter 2000000 -nomac")
            return { use(try? ClientIdentity(pkcs12: file) { "secret" }) }
        },
    ]

    /// Returns work that reads a key set and verifies a token of the last key.
    private static func keySet(_ name: String, _ entry: @escaping @Sendable (Int) throws -> String) -> Self {
        Self(name: name) {
            let key = try SigningKey.generate(.es256)
            var jwk = key.verificationKey.jwk
            jwk.members["kid"] = "good"
            let text = try HostileInput.keySet(around: jwk, entry)
            let token = try JWTGenerator(
                payload: ["iss": "https://id.example", "exp": JSONValue(date: Date().addingTimeInterval(600))],
                signingService: key.identified(by: "good")
            ).token()
            return {
                guard let set = try? JWKSet(parsing: text) else { return }
                use(try? JWTVerifier(keys: set, policy: ValidationPolicy(issuer: "https://id.example")).verify(token))
            }
        }
    }

    private static func proof(bits: Int) -> @Sendable () async -> Void {
        let proof = HostileInput.proof(bits: bits)
        let verifier = DPoPVerifier(replayCache: InMemoryReplayCache())
        return {
            use(
                try? await verifier.verify(
                    proof,
                    method: "GET",
                    url: "https://api.example/",
                    for: .tokenEndpoint,
                    nonce: .notRequired
                )
            )
        }
    }
}

/// A child process for work that can take too long.
enum HostileChild {
    /// The maximum duration of the work, in seconds.
    static let longest = 60

    /// Returns the CPU time of the work in milliseconds, or `nil` if it exceeded the maximum
    /// duration.
    static func cost(of name: String) throws -> Double? {
        let child = try start(["hostile-work", name])
        let timer = DispatchSource.makeTimerSource()
        timer.schedule(deadline: .now() + .seconds(longest))
        timer.setEventHandler { kill(child.process.processIdentifier, SIGKILL) }
        timer.resume()
        defer { timer.cancel() }
        let output = try child.output.readToEnd() ?? Data()
        child.process.waitUntilExit()
        guard child.process.terminationReason == .exit else { return nil }
        guard child.process.terminationStatus == 0, let cost = Double(String(decoding: output, as: UTF8.self)) else {
            throw UsageError(text: "bench: \(name) failed.")
        }
        return cost
    }

    /// Starts this program again.
    static func start(_ arguments: [String]) throws -> (process: Process, output: FileHandle) {
        let process = Process()
        process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        return (process, pipe.fileHandleForReading)
    }

    /// Kills a child, even if it ignores other signals.
    static func end(_ process: Process) {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Runs in the child: does the work once and prints its CPU time, in milliseconds.
    static func work(_ name: String) async -> Never {
        do {
            guard let work = HostileWork.all.first(where: { $0.name == name }) else { exit(64) }
            let operation = try work.prepare()
            let start = CPUClock.now
            await operation()
            print(Double(CPUClock.now - start) / 1e6, terminator: "")
            fflush(nil)
            exit(0)
        } catch {
            FileHandle.standardError.write(Data("bench: \(error)\n".utf8))
            exit(1)
        }
    }
}
