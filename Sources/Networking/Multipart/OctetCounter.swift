import Synchronization

/// How many octets have passed, for closures that may be called from several tasks one after the other.
final class OctetCounter: Sendable {
    private let total = Atomic<Int>(0)

    var count: Int { total.load(ordering: .relaxed) }

    /// Adds octets, and returns how many there are now.
    func add(_ count: Int) -> Int {
        total.wrappingAdd(count, ordering: .relaxed).newValue
    }
}
