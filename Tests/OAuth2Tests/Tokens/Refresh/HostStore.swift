import OAuth2
import Synchronization

/// One host's view of a store with a single record that several hosts share, with faults.
final class HostStore: TokenStore {
    /// A call that fails.
    enum Fault: Equatable, Sendable {
        case load
        /// A write that doesn't happen.
        case write
        /// A write that happens, though the call fails.
        case answer
    }

    struct Failure: Error {}

    let isSharedByHosts = true
    private let base: InMemoryTokenStore
    private let sections = InMemoryTokenStore()
    private let state = Mutex((faults: [Fault](), isOut: false, loads: 0, written: [TokenRecord]()))
    private let beforeWriting = Mutex<(@Sendable (TokenRecord) -> Void)?>(nil)

    init(_ base: InMemoryTokenStore) { self.base = base }

    var loads: Int { state.withLock { $0.loads } }
    /// The records that this host has written.
    var written: [TokenRecord] { state.withLock { $0.written } }

    /// Makes the next calls of these kinds fail, once each.
    func fail(_ faults: Fault...) { state.withLock { $0.faults += faults } }

    /// Makes all loads and writes fail, or no more.
    func setOut(_ isOut: Bool) { state.withLock { $0.isOut = isOut } }

    /// Calls a closure once, before the next write.
    func beforeNextWrite(_ action: @escaping @Sendable (TokenRecord) -> Void) {
        beforeWriting.withLock { $0 = action }
    }

    func load(_ key: String) throws -> VersionedTokenRecord? {
        state.withLock { $0.loads += 1 }
        if takes(.load) { throw Failure() }
        return base.load("k")
    }

    func compareAndSwap(
        _ key: String,
        expectedVersion: TokenRecordVersion?,
        record: TokenRecord
    ) throws -> TokenRecordVersion? {
        if takes(.write) { throw Failure() }
        beforeWriting.withLock { $0.take() }?(record)
        let version = base.compareAndSwap("k", expectedVersion: expectedVersion, record: record)
        if version != nil { state.withLock { $0.written.append(record) } }
        if takes(.answer) { throw Failure() }
        return version
    }

    func remove(_ key: String, ifVersion version: TokenRecordVersion) throws -> Bool {
        if takes(.write) { throw Failure() }
        return base.remove("k", ifVersion: version)
    }

    func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await sections.withExclusiveAccess(to: key, timeout: timeout, body)
    }

    private func takes(_ fault: Fault) -> Bool {
        state.withLock { state in
            if state.isOut { return fault != .answer }
            guard let index = state.faults.firstIndex(of: fault) else { return false }
            state.faults.remove(at: index)
            return true
        }
    }
}
