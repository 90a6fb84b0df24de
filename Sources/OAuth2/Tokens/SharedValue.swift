import Synchronization

/// A value that copies of a structure, or closures, share.
final class SharedValue<Value: Sendable>: Sendable {
    private let mutex: Mutex<Value>

    init(_ value: Value) {
        mutex = Mutex(value)
    }

    var value: Value { mutex.withLock { $0 } }

    /// Replaces the value.
    ///
    /// - Returns: The old value.
    @discardableResult
    func replace(with new: Value) -> Value {
        mutex.withLock { value in
            defer { value = new }
            return value
        }
    }
}
