import Synchronization

/// A value that copies of a structure, or closures, share.
package final class SharedValue<Value: Sendable>: Sendable {
    private let mutex: Mutex<Value>

    package init(_ value: Value) {
        mutex = Mutex(value)
    }

    package var value: Value { mutex.withLock { $0 } }

    /// Returns the old value.
    @discardableResult
    package func replace(with new: Value) -> Value {
        mutex.withLock { value in
            defer { value = new }
            return value
        }
    }
}
