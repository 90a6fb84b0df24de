import Foundation
import Hummingbird
import HummingbirdSignIn
import Logging

@main
enum Main {
    static func main() async throws {
        let logger = Logger(label: "shop")
        let configuration = try Configuration(environment: ProcessInfo.processInfo.environment)
        let application = try makeApplication(
            configuration,
            sessions: PersistedSessions(MemoryPersistDriver()),
            logger: logger
        )
        logger.info("open \(configuration.publicURL)")
        try await application.runService()
        await configuration.mock?.stop()
    }
}
