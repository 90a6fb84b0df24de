import Foundation
import MockNetworking
import OAuth2
import TestSupport
import Testing

/// Tests of several processes that share a file store, with a server that detects every reuse of a
/// refresh token.
///
/// Before a release, run them with `ROTATIONS=200 PROCESSES=8` and `KILLS=100`.
@Suite("FileTokenStore: shared between processes", .limitedConcurrency(timeLimit: .seconds(1800)), .tags(.concurrency))
struct SharedStoreTests {
    @Test("Rotations by several processes never use a refresh token twice", .shows("L9", "O22", "Y9"))
    func rotations() async throws {
        let (processes, rotations) = (number("PROCESSES", 3), number("ROTATIONS", 5))
        try await withRotators { authorization, start in
            let running = try (1...processes).map { try start("\($0)", rotations) }
            for process in running {
                #expect(try await process.lastWords() == "usable \(rotations)")
            }
            #expect(authorization.reuseDetectionCount == 0)
            // The first token was used once in addition to the counted rotations.
            #expect(authorization.tokenRequestCount == processes * rotations + 1)
        }
    }

    @Test("With a grace period at the server, killed processes cost no other process the token", .shows("L9"))
    func killsWithGrace() async throws {
        let outcome = try await killing(isForgiving: true, upTo: number("KILLS", 4))
        #expect(outcome.words.allSatisfy { $0.hasPrefix("usable") }, "\(outcome.words)")
        #expect(outcome.reuses == 0)
    }

    @Test(
        "Without a grace period, every remaining process has a token or reports a possibly lost rotation",
        .shows("L9", "L10", "O22", "S5")
    )
    func kills() async throws {
        let count = number("KILLS", 4)
        var (kills, families, told) = (0, 0, 0)
        // If a kill ends a family, a new one follows.
        while kills < count {
            let outcome = try await killing(isForgiving: false, upTo: count - kills)
            kills += outcome.kills
            families += 1
            let lost = outcome.words.filter { $0.hasPrefix("reauthenticationRequired possiblyLost=true") }
            let usable = outcome.words.filter { $0.hasPrefix("usable") }
            // Either all processes have a token, or all know why they don't.
            #expect(lost.count + usable.count == outcome.words.count, "\(outcome.words)")
            #expect(lost.isEmpty || usable.isEmpty)
            // Only the process that reports a lost rotation may cause a reuse.
            #expect(outcome.reuses <= 1)
            #expect((outcome.reuses == 0) == lost.isEmpty)
            told += lost.isEmpty ? 0 : 1
        }
        print("\(kills) kills, \(families) families: \(told) ended between sending and storing, as reported")
    }

    // MARK: Processes

    /// Starts processes, kills some of them and starts others, and returns the output of those that
    /// remain.
    private func killing(
        isForgiving: Bool,
        upTo kills: Int
    ) async throws -> (kills: Int, words: [String], reuses: Int) {
        let processes = number("PROCESSES", 3)
        return try await withRotators(grace: isForgiving ? .seconds(3600) : .zero) { authorization, start in
            var running = try (1...processes).map { try start("first-\($0)", 1_000_000) }
            var made = 0
            for kill in 1...kills {
                // Waits for different numbers of requests, so that one is pending again.
                let count = authorization.tokenRequestCount + 3 + kill % 4
                let isInTime = try await eventually {
                    authorization.tokenRequestCount >= count || running.allSatisfy(\.isOver)
                }
                #expect(isInTime)
                // All processes have reported a lost rotation, so there is nothing left to kill.
                if running.allSatisfy(\.isOver) { break }
                let victim = running.remove(at: kill % running.count)
                victim.kill()
                made += 1
                _ = try await victim.lastWords()
                running.append(try start("next-\(kill)", 1_000_000))
            }
            for process in running { process.kill() }
            for process in running { _ = try await process.lastWords() }
            let survivors = try (1...processes).map { try start("last-\($0)", 3) }
            var words: [String] = []
            for process in survivors { words.append(try await process.lastWords()) }
            return (made + running.count, words, authorization.reuseDetectionCount)
        }
    }

    private func withRotators<Result>(
        grace: Duration = .zero,
        _ body: (MockAuthorizationServer, _ start: (String, Int) throws -> RotatorProcess) async throws -> Result
    ) async throws -> Result {
        var configuration = MockAuthorizationServer.Configuration()
        configuration.refreshTokenGrace = grace
        let authorization = try MockAuthorizationServer.start(
            configuration: configuration,
            clients: [.init(id: "reports", secret: "s3cret")]
        )
        let result = try await withTemporaryDirectory { directory in
            let firstToken = directory.appending(path: "first")
            let first = authorization.issueRefreshToken(clientID: "reports", subject: "ada").expose { $0 }
            try Data("\(first)\n".utf8).write(to: firstToken)
            let arguments = [
                directory.appending(path: "store").path, authorization.metadata.tokenEndpoint.absoluteString,
            ]
            return try await body(authorization) { name, rotations in
                try RotatorProcess(
                    arguments + ["\(rotations)"],
                    firstToken: firstToken,
                    output: directory.appending(path: "\(name).out")
                )
            }
        }
        await authorization.stop()
        return result
    }

    private func number(_ variable: String, _ value: Int) -> Int {
        ProcessInfo.processInfo.environment[variable].flatMap { Int($0) } ?? value
    }
}
