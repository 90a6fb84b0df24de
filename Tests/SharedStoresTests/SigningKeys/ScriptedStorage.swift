import OAuth2
import Synchronization

@testable import SharedStores

/// A storage in memory that fails as a test demands.
final class ScriptedStorage: ConditionalStorage {
    /// The behavior of a write.
    enum Writing {
        case normal
        /// Writes, but throws.
        case lost
        /// Throws without writing.
        case rejected
        /// Throws, and writes before the next write is handled.
        case late
    }

    private struct State {
        var value: (bytes: [UInt8], version: Int)?
        var versions = 0
        var reads = 0
        var accepted: [[UInt8]] = []
        var isDown = false
        var script: [Writing] = []
        var late: (value: [UInt8], version: String?)?
        var beforeWrite: (@Sendable () async throws -> Void)?
        var whileReading: (@Sendable () async throws -> Void)?

        mutating func write(_ value: [UInt8], over version: String?) -> String? {
            guard self.value.map({ String($0.version) }) == version else { return nil }
            versions += 1
            self.value = (value, versions)
            accepted.append(value)
            return String(versions)
        }
    }

    let maximumSize: Int
    private let state = Mutex(State())

    init(maximumSize: Int = 1 << 20) { self.maximumSize = maximumSize }

    /// The record; setting it acts as a foreign program does.
    var record: [UInt8]? {
        get { state.withLock { $0.value?.bytes } }
        set {
            state.withLock { state in
                state.versions += 1
                let version = state.versions
                state.value = newValue.map { ($0, version) }
            }
        }
    }

    var reads: Int { state.withLock { $0.reads } }
    /// The records that hosts have written.
    var accepted: [[UInt8]] { state.withLock { $0.accepted } }
    var isDown: Bool {
        get { state.withLock { $0.isDown } }
        set { state.withLock { $0.isDown = newValue } }
    }

    func script(_ writes: Writing...) { state.withLock { $0.script = writes } }

    /// Calls a closure before the next write is handled.
    func beforeWrite(_ body: @escaping @Sendable () async throws -> Void) { state.withLock { $0.beforeWrite = body } }

    /// Calls a closure during each reading.
    func whileReading(_ body: (@Sendable () async throws -> Void)?) { state.withLock { $0.whileReading = body } }

    func read(_ name: String) async throws -> (value: [UInt8], version: String)? {
        if let body = state.withLock({ $0.whileReading }) { try await body() }
        return try state.withLock { state in
            state.reads += 1
            guard !state.isDown else { throw Self.outage }
            return state.value.map { ($0.bytes, String($0.version)) }
        }
    }

    func write(_ value: [UInt8], to name: String, over version: String?) async throws -> String? {
        let body = state.withLock { state in
            defer { state.beforeWrite = nil }
            return state.beforeWrite
        }
        try await body?()
        return try state.withLock { state in
            guard !state.isDown else { throw Self.outage }
            if let late = state.late {
                state.late = nil
                _ = state.write(late.value, over: late.version)
            }
            switch state.script.isEmpty ? .normal : state.script.removeFirst() {
            case .normal: return state.write(value, over: version)
            case .lost: _ = state.write(value, over: version)
            case .rejected: break
            case .late: state.late = (value, version)
            }
            throw Self.outage
        }
    }

    func delete(_ name: String, version: String) -> Bool {
        state.withLock { state in
            guard state.value.map({ String($0.version) }) == version else { return false }
            state.value = nil
            return true
        }
    }

    private static let outage = OAuth2Error(.storeUnavailable, "the store is down")
}
