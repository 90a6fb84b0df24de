import Synchronization

/// A byte counter for closures that several tasks may call, one after the other.
final class OctetCounter: Sendable {
    private let total = Atomic<Int>(0)

    var count: Int { total.load(ordering: .relaxed) }

    /// Adds to the count, and returns the new total.
    func add(_ count: Int) -> Int {
        total.wrappingAdd(count, ordering: .relaxed).newValue
    }
}
