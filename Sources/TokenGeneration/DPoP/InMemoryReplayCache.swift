public import Foundation
internal import Synchronization

/// A ``ReplayCache`` in the memory of this process, of bounded size.
///
/// Identifiers that have expired make room for new ones. If none has, a new one is refused: forgetting one that is still good
/// would let its token be used again.
public final class InMemoryReplayCache: ReplayCache {
    /// The most identifiers that are remembered at a time.
    public let capacity: Int

    private let state = Mutex(State())

    private struct State {
        var known: Set<String> = []
        var byExpiration = ExpirationHeap()
    }

    /// Makes a cache.
    ///
    /// - Parameter capacity: The most identifiers that are remembered at a time: 100,000 by default, which take about 15 MB.
    public init(capacity: Int = 100_000) {
        self.capacity = max(capacity, 0)
    }

    /// How many identifiers are remembered, expired ones among them.
    public var count: Int { state.withLock { $0.known.count } }

    /// Remembers an identifier, if it is not remembered yet.
    ///
    /// - Parameters:
    ///   - identifier: The identifier.
    ///   - expiration: When it can be forgotten.
    ///   - date: The current time.
    /// - Returns: Whether the identifier was not remembered.
    /// - Throws: ``TokenError`` with the code `replayCacheFull` if there is no room.
    public func remember(_ identifier: String, until expiration: Date, at date: Date) throws(TokenError) -> Bool {
        try state.withLock { state throws(TokenError) in
            while let first = state.byExpiration.first, first.expiration < date {
                state.byExpiration.removeFirst()
                state.known.remove(first.identifier)
            }
            guard !state.known.contains(identifier) else { return false }
            guard state.known.count < capacity else {
                throw TokenError(
                    .replayCacheFull,
                    "the replay cache has its \(capacity) identifiers: shorten the window, or give it more capacity"
                )
            }
            state.known.insert(identifier)
            state.byExpiration.insert(.init(expiration: expiration, identifier: identifier))
            return true
        }
    }
}

/// Identifiers in a binary heap, the one that expires first at the top.
private struct ExpirationHeap {
    struct Entry {
        let expiration: Date
        let identifier: String
    }

    private var entries: [Entry] = []

    var first: Entry? { entries.first }

    mutating func insert(_ entry: Entry) {
        entries.append(entry)
        var child = entries.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard entries[child].expiration < entries[parent].expiration else { return }
            entries.swapAt(child, parent)
            child = parent
        }
    }

    mutating func removeFirst() {
        guard let last = entries.popLast(), !entries.isEmpty else { return }
        entries[0] = last
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < entries.count {
                if entries[child].expiration < entries[least].expiration { least = child }
            }
            guard least != parent else { return }
            entries.swapAt(least, parent)
            parent = least
        }
    }
}
