import Logging
import Synchronization

/// A log handler that keeps what was logged, as text.
final class LogMessages: Sendable {
    private let storage = Mutex<[String]>([])

    var all: [String] { storage.withLock { $0 } }

    var logger: Logger { Logger(label: "test") { _ in Handler(messages: self) } }

    private struct Handler: LogHandler {
        let messages: LogMessages
        var logLevel = Logger.Level.info
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            messages.storage.withLock { $0.append("\(event.message) \(event.metadata ?? [:])") }
        }
    }
}
