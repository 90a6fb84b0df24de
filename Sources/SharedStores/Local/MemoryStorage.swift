import Synchronization

/// Values in the memory of this process.
final class MemoryStorage: ConditionalStorage {
    private let state = Mutex<(values: [String: (value: [UInt8], version: Int)], count: Int)>(([:], 0))

    var maximumSize: Int { 1 << 20 }

    func read(_ name: String) -> (value: [UInt8], version: String)? {
        state.withLock { $0.values[name] }.map { ($0.value, String($0.version)) }
    }

    func write(_ value: [UInt8], to name: String, over version: String?) -> String? {
        state.withLock { state in
            guard state.values[name].map({ String($0.version) }) == version else { return nil }
            state.count += 1
            state.values[name] = (value, state.count)
            return String(state.count)
        }
    }

    func delete(_ name: String, version: String) -> Bool {
        state.withLock { state in
            guard state.values[name].map({ String($0.version) }) == version else { return false }
            state.values[name] = nil
            return true
        }
    }
}
