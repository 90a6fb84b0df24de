import Foundation
import Hummingbird
import Logging

@main
enum Main {
    static func main() async throws {
        let logger = Logger(label: "reports")
        let configuration = try Configuration(environment: ProcessInfo.processInfo.environment)
        // Ends gracefully on SIGTERM and SIGINT: the server completes the requests in progress.
        try await makeService(configuration, logger: logger).runService()
    }
}
