import Foundation

/// The `bench` program.
@main
struct Bench {
    static func main() async {
        // A child of `bench transfers`, which transfers one file in a separate process.
        if CommandLine.arguments.count == 5, CommandLine.arguments[1] == "transfer" {
            await TransferChild.run(Array(CommandLine.arguments[2...]))
        }
        // Children of `bench hostile`: work that may take too long, and a server.
        if CommandLine.arguments.count == 3 {
            switch CommandLine.arguments[1] {
            case "hostile-work": await HostileChild.work(CommandLine.arguments[2])
            case "hostile-server": HostileServer.run(CommandLine.arguments[2])
            default: break
            }
        }
        if ["--help", "-h"].contains(CommandLine.arguments.dropFirst().first) { return print(Arguments.usage) }
        do {
            let arguments = try Arguments(Array(CommandLine.arguments.dropFirst()))
            if [.tokens, .scaling, .memory, .profile].contains(arguments.suite) { warnAboutUnavailable(arguments) }
            switch arguments.suite {
            case .tokens: try await TokenSuite(arguments).run()
            case .scaling: try await ScalingSuite(arguments).run()
            case .memory: try MemorySuite(arguments).run()
            case .profile: try await ProfileSuite(arguments).run()
            case .http: try await HTTPSuite(arguments).run()
            case .oauth: try await OAuthSuite(arguments).run()
            case .transfers: try await TransferSuite(arguments).run()
            case .cli: try CommandSuite(arguments).run()
            case .hostile: try await HostileSuite(arguments).run()
            case .engines: try await EngineSuite(arguments).run()
            case .charts: try ChartSuite(arguments).run()
            }
        } catch let error as UsageError {
            FileHandle.standardError.write(Data("\(error.text)\n\(Arguments.usage)\n".utf8))
            exit(64)
        } catch {
            FileHandle.standardError.write(Data("bench: \(error)\n".utf8))
            exit(1)
        }
    }

    /// Names the selected algorithms that OpenSSL doesn't offer.
    private static func warnAboutUnavailable(_ arguments: Arguments) {
        for algorithm in TokenAlgorithm.unavailable
        where ["sign", "verify"].contains(where: { arguments.wants("\(algorithm.name) \($0)") }) {
            let text = "bench: skipped \(algorithm.name), which requires OpenSSL 3.5 or later\n"
            FileHandle.standardError.write(Data(text.utf8))
        }
    }
}
