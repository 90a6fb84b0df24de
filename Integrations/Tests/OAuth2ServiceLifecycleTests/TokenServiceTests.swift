import ClientLogging
import Foundation
import Logging
import MockNetworking
import Networking
import OAuth2
import ServiceLifecycle
import ServiceLifecycleTestKit
import Synchronization
import Testing

@testable import OAuth2ServiceLifecycle

@Suite("TokenService")
struct TokenServiceTests {
    private let authorization: MockAuthorizationServer
    private let authenticator: OAuth2Authenticator
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    init() throws {
        authorization = try MockAuthorizationServer.start(clients: [.init(id: "reports", secret: "s3cret")])
        authenticator = OAuth2Authenticator(
            client: OAuth2Client(
                discovery: AuthorizationServerDiscovery(issuer: authorization.metadata.issuer),
                clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret("s3cret")),
                timing: OAuth2Timing(attempts: 1)
            ),
            grant: ClientCredentialsGrant(),
            resources: .everyHTTPSOrigin
        )
    }

    /// A sleep that takes no time, and counts.
    private final class Sleeps: Sendable {
        private let count = Mutex(0)

        func sleep(_: Duration) async throws {
            count.withLock { $0 += 1 }
            try Task.checkCancellation()
            await Task.yield()
        }

        var total: Int { count.withLock { $0 } }
    }

    @Test("Gets the first token while other services run, and ends with the graceful shutdown")
    func firstToken() async throws {
        try await testGracefulShutdown { trigger in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await TokenService(authenticator, logger: logger).run() }
                while authorization.issuedTokenCount == 0 { await Task.yield() }
                trigger.triggerGracefulShutdown()
                try await group.waitForAll()
            }
        }
        #expect(authorization.issuedTokenCount == 1)
        await authorization.stop()
    }

    @Test("Tries again after a failure of the server, and can be shut down meanwhile")
    func outage() async throws {
        let sleeps = Sleeps()
        authorization.misbehave(.unavailable(), .unavailable())
        var delays = TokenService.Delays()
        delays.sleep = { try await sleeps.sleep($0) }
        let service = TokenService(authenticator, logger: logger, delays: delays)
        try await testGracefulShutdown { trigger in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await service.run() }
                while sleeps.total == 0 { await Task.yield() }
                trigger.triggerGracefulShutdown()
                try await group.waitForAll()
            }
        }
        #expect(sleeps.total >= 1)
        await authorization.stop()
    }

    @Test("Stops trying if the configuration is wrong, and stays until the shutdown")
    func wrongSecret() async throws {
        let wrong = OAuth2Authenticator(
            client: OAuth2Client(
                server: authorization.metadata,
                clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret("wrong"))
            ),
            grant: ClientCredentialsGrant(),
            resources: .everyHTTPSOrigin
        )
        let sleeps = Sleeps()
        var delays = TokenService.Delays()
        delays.sleep = { try await sleeps.sleep($0) }
        let service = TokenService(wrong, logger: logger, delays: delays)
        try await testGracefulShutdown { trigger in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await service.run() }
                while authorization.tokenRequestCount == 0 { await Task.yield() }
                await #expect(throws: OAuth2Error(.invalidClient, "")) { try await service.checkHealth() }
                trigger.triggerGracefulShutdown()
                try await group.waitForAll()
            }
        }
        #expect(sleeps.total == 0)
        await authorization.stop()
    }

    @Test("A failure is one line, with or without an observer that logs it", arguments: [true, false])
    func failureLog(isObserved: Bool) async throws {
        let lines = Mutex<[(level: Logger.Level, text: String)]>([])
        let logger = Logger(label: "test") { _ in
            LineHandler { level, text in lines.withLock { $0.append((level, text)) } }
        }
        let options = NetworkClient.Options(observers: isObserved ? [LoggingObserver(logger)] : [])
        let wrong = OAuth2Authenticator(
            client: OAuth2Client(
                server: authorization.metadata,
                clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret("wrong")),
                client: NetworkClient(options: options)
            ),
            grant: ClientCredentialsGrant(),
            resources: .everyHTTPSOrigin
        )
        try await testGracefulShutdown { trigger in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await TokenService(wrong, logger: logger).run() }
                while lines.withLock({ $0.allSatisfy { $0.level < .warning } }) { await Task.yield() }
                trigger.triggerGracefulShutdown()
                try await group.waitForAll()
            }
        }
        let failures = lines.withLock { $0.filter { $0.level >= .warning } }
        #expect(failures.count == 1)
        #expect(failures.first?.text.hasPrefix("oauth2.token.refresh_failed ") == true)
        #expect(failures.first?.text.contains(#""error.type": invalidClient"#) == true)
        await authorization.stop()
    }

    /// A log handler that passes on lines of the level `info` and above.
    private struct LineHandler: LogHandler {
        var logLevel = Logger.Level.info
        var metadata: Logger.Metadata = [:]
        let write: @Sendable (Logger.Level, String) -> Void

        init(_ write: @escaping @Sendable (Logger.Level, String) -> Void) { self.write = write }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { write(event.level, "\(event.message) \(event.metadata ?? [:])") }
    }

    @Test("Is healthy with a valid token, also while the server is down")
    func health() async throws {
        let service = TokenService(authenticator, logger: logger)
        try await service.checkHealth(within: .seconds(60))
        await authorization.stop()
        try await service.checkHealth(within: .seconds(60))
        try await authenticator.signOut()
        await #expect(throws: (any Error).self) { try await service.checkHealth() }
    }

    @Test("Doubles the delays up to a limit, and waits as long as the server asks for")
    func delays() {
        let delays = TokenService.Delays()
        let error = NetworkError(.timedOut, "")
        let waits = [1, 2, 3, 5, 6, 100].map { delays.next(after: error, failures: $0).wait }
        #expect(waits == [1, 2, 4, 16, 30, 30].map { .seconds($0) })
        #expect(delays.next(after: OAuth2Error(.invalidClient, ""), failures: 1).wait == nil)
        #expect(delays.next(after: OAuth2Error(.serverTransient, ""), failures: 1).wait == .seconds(1))
    }
}
