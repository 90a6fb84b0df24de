import Synchronization

/// A log of events in their order.
final class Journal: Sendable {
    private let lines = Mutex<[String]>([])

    var entries: [String] { lines.withLock { $0 } }

    func add(_ entry: String) {
        lines.withLock { $0.append(entry) }
    }
}
