import Foundation

/// `bench tokens`, `bench scaling`, `bench memory`, `bench http`, `bench oauth` and `bench profile`.
@main
struct Bench {
    static func main() async {
        do {
            let arguments = try Arguments(Array(CommandLine.arguments.dropFirst()))
            switch arguments.suite {
            case .tokens: try await TokenSuite(arguments).run()
            case .scaling: try await ScalingSuite(arguments).run()
            case .memory: try MemorySuite(arguments).run()
            case .profile: try await ProfileSuite(arguments).run()
            case .http: try await HTTPSuite(arguments).run()
            case .oauth: try await OAuthSuite(arguments).run()
            }
        } catch let error as UsageError {
            FileHandle.standardError.write(Data("\(error.text)\n\(Arguments.usage)\n".utf8))
            exit(64)
        } catch {
            FileHandle.standardError.write(Data("bench: \(error)\n".utf8))
            exit(1)
        }
    }
}
