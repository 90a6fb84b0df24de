import ClientLogging
import Foundation
import Logging
import MockNetworking
import Networking
import OAuth2
import ObservedService
import Synchronization
import Testing

@Suite("LoggingObserver")
struct LoggingObserverTests {
    /// A log handler that keeps the lines.
    private struct Handler: LogHandler {
        final class Lines: Sendable {
            private let lines = Mutex<[LogEvent]>([])

            var all: [LogEvent] { lines.withLock { $0 } }

            func add(_ line: LogEvent) { lines.withLock { $0.append(line) } }
        }

        let lines: Lines
        var logLevel: Logger.Level
        var metadata: Logger.Metadata = [:]
        var metadataProvider: Logger.MetadataProvider?

        subscript(metadataKey key: String) -> Logger.MetadataValue? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { lines.add(event) }
    }

    private static func logger(_ level: Logger.Level) -> (Logger, Handler.Lines) {
        let lines = Handler.Lines()
        return (Logger(label: "http") { _ in Handler(lines: lines, logLevel: level) }, lines)
    }

    @Test("One object given to the client logs requests, tokens and token requests")
    func everything() async throws {
        let (logger, lines) = Self.logger(.trace)
        _ = try await ObservedService.exercised(by: LoggingObserver(logger))
        let messages = lines.all.map { "\($0.message)" }
        #expect(messages.count { $0 == "http.client.request.started" } == 8)
        #expect(messages.count { $0 == "http.client.request" } == 8)
        #expect(messages.count { $0 == "http.client.operation.failed" } == 3)
        #expect(messages.count { $0 == "oauth2.token.refreshed" } == 2)
        let first = try #require(
            lines.all.first { $0.metadata?["server.address"] == "api.example" && $0.metadata?["duration"] != nil }
        )
        let metadata = try #require(first.metadata)
        #expect(metadata["http.request.method"] == "GET")
        #expect(metadata["server.address"] == "api.example")
        #expect(metadata["http.response.status_code"] == "503")
        #expect(metadata["error.type"] == "503")
        #expect(metadata["attempt"] == "1")
        #expect(metadata.values.allSatisfy { $0 != "none" })
    }

    @Test("Nothing in the log is a secret, at any level")
    func secrets() async throws {
        let (logger, lines) = Self.logger(.trace)
        _ = try await ObservedService.exercised(by: LoggingObserver(logger))
        for line in lines.all { #expect(!"\(line)".contains(ObservedService.secret), "\(line)") }
        let types: [Logger.MetadataValue] = lines.all.compactMap { $0.metadata?["error.type"] }
        #expect(types.contains("Leak"))
        #expect(lines.all.contains { $0.metadata?["url.full"].map { "\($0)".contains("REDACTED") } == true })
    }

    @Test("Levels: successes are for debugging, an ended grant is an error")
    func levels() async throws {
        let (logger, lines) = Self.logger(.info)
        let observer = LoggingObserver(logger)
        let service = ObservedService(observer, answers: [.text("ok")])
        _ = try await service.client.makeRequest(service.request)
        #expect(lines.all.map { "\($0.message)" } == ["oauth2.token.refreshed"])
        observer.observe(OAuth2Event.dead(.reauthenticationRequired, isPossiblyLostRotation: false))
        observer.observe(OAuth2Event.refreshInDoubt)
        #expect(lines.all.map(\.level) == [.info, .error, .warning])
        #expect(lines.all[1].metadata?["error.type"] == "reauthenticationRequired")
    }
}
