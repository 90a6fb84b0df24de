import Synchronization

/// Values that are handed out one after the other, each once, whoever asks.
final class Script<Element: Sendable>: Sendable {
    private let elements: Mutex<[Element]>
    private let repeatsLast: Bool

    init(_ elements: [Element], repeatsLast: Bool) {
        // Reversed so that taking the next one is cheap.
        self.elements = Mutex(elements.reversed())
        self.repeatsLast = repeatsLast
    }

    /// How many elements are left.
    var count: Int { elements.withLock { $0.count } }

    /// Takes the next element; `nil` if there is none left.
    func next() -> Element? {
        elements.withLock { elements in
            repeatsLast && elements.count == 1 ? elements.last : elements.popLast()
        }
    }

    /// Adds elements after those that are left.
    func append(_ added: [Element]) {
        elements.withLock { $0.insert(contentsOf: added.reversed(), at: 0) }
    }
}
