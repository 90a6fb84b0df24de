import Synchronization

/// A log of entries from any task, in order.
final class Log<Entry: Sendable>: Sendable {
    private let state = Mutex<[Entry]>([])

    var entries: [Entry] { state.withLock { $0 } }

    func note(_ entry: Entry) {
        state.withLock { $0.append(entry) }
    }
}
