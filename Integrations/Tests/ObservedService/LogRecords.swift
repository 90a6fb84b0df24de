package import Logging
import Synchronization

/// A log handler that keeps the records.
package final class LogRecords: Sendable {
    package struct Record: Sendable {
        package let level: Logger.Level
        package let message: String
        package let metadata: [String: String]
    }

    private let storage = Mutex<[Record]>([])

    package init() {}

    package var all: [Record] { storage.withLock { $0 } }

    /// Everything that was logged, as one text.
    package var text: String { all.map { "\($0)" }.joined(separator: "\n") }

    package var logger: Logger { Logger(label: "test") { _ in Handler(records: self) } }

    private struct Handler: LogHandler {
        let records: LogRecords
        var logLevel = Logger.Level.info
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let record = Record(
                level: event.level,
                message: "\(event.message)",
                metadata: (event.metadata ?? [:]).mapValues { "\($0)" }
            )
            records.storage.withLock { $0.append(record) }
        }
    }
}
