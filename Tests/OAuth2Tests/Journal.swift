import Networking
import OAuth2
import Synchronization

/// An observer that keeps the events in their order.
final class EventJournal: ClientObserver {
    private let events = Mutex<[any ObservedEvent]>([])

    var all: [any ObservedEvent] { events.withLock { $0 } }

    /// The events of tokens, without the waits of callers, which race with the token request.
    var tokenEvents: [OAuth2Event] { all.compactMap { $0 as? OAuth2Event }.filter { $0 != .awaited } }

    /// The events of key sets.
    var keySetEvents: [KeySetEvent] { all.compactMap { $0 as? KeySetEvent } }

    func observe(_ event: any ObservedEvent) {
        events.withLock { $0.append(event) }
    }
}

/// A log of events in their order.
final class Journal: Sendable {
    private let lines = Mutex<[String]>([])

    var entries: [String] { lines.withLock { $0 } }

    func add(_ entry: String) {
        lines.withLock { $0.append(entry) }
    }
}
