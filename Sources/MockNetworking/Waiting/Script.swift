import Synchronization

/// A thread-safe queue of values, each of which is handed out once.
final class Script<Element: Sendable>: Sendable {
    private let elements: Mutex<[Element]>
    private let repeatsLast: Bool

    init(_ elements: [Element], repeatsLast: Bool) {
        // Reversed, so that removing the next element is cheap.
        self.elements = Mutex(elements.reversed())
        self.repeatsLast = repeatsLast
    }

    /// The number of remaining elements.
    var count: Int { elements.withLock { $0.count } }

    /// Removes and returns the next element, or returns `nil` if the script is used up.
    func next() -> Element? {
        elements.withLock { elements in
            repeatsLast && elements.count == 1 ? elements.last : elements.popLast()
        }
    }

    /// Appends elements.
    func append(_ added: [Element]) {
        elements.withLock { $0.insert(contentsOf: added.reversed(), at: 0) }
    }
}
