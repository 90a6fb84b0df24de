import Synchronization

/// What happened, in the order in which it did.
final class Journal: Sendable {
    private let lines = Mutex<[String]>([])

    var entries: [String] { lines.withLock { $0 } }

    func add(_ entry: String) {
        lines.withLock { $0.append(entry) }
    }
}
