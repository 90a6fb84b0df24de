public import Networking
import OAuth2
import Synchronization

/// Storage for the sessions of a ``SignIn``: values by key that expire.
///
/// ``InMemorySessions`` serves one process. Several hosts need a store that they share:
/// ``EtcdSessions``, `PersistedSessions` of HummingbirdSignIn, or your own type on a database.
/// Values are encrypted before they get there, and keys are digests: reading the store
/// isn't enough to use a session.
///
/// Conforming types declare `isSharedByHosts` if hosts share the store. An error of a store refuses
/// the request: without the store, nobody is signed in.
public protocol SessionStore: Sendable {
    /// A Boolean value that indicates whether several hosts share the values.
    ///
    /// The default is `true`.
    var isSharedByHosts: Bool { get }

    /// Reads a value.
    ///
    /// - Parameter key: The key: at most 100 lowercase letters, digits and hyphens.
    /// - Returns: The last value that any host has written, with its version; `nil` if there is
    ///   none or it has expired.
    /// - Throws: Any error of the store.
    func read(_ key: String) async throws -> StoredSessionValue?

    /// Writes a value if the stored version is the expected one, as one step.
    ///
    /// - Parameters:
    ///   - value: The value: text of at most 64 KiB.
    ///   - key: The key.
    ///   - version: The version to replace; `nil` if there must not be a value.
    ///   - lifetime: The time after which the value is gone, at least a second.
    /// - Returns: The new version, or `nil` if the value wasn't written because the stored version
    ///   is another.
    /// - Throws: Any error of the store.
    func write(
        _ value: String,
        for key: String,
        replacing version: String?,
        lifetime: Duration
    ) async throws -> String?

    /// Removes a value, if there is one.
    ///
    /// - Parameter key: The key.
    /// - Throws: Any error of the store.
    func remove(_ key: String) async throws
}

extension SessionStore {
    /// The default value, `true`.
    public var isSharedByHosts: Bool { true }
}

/// A value of a ``SessionStore`` and its version.
public struct StoredSessionValue: Sendable, Hashable {
    /// The value.
    public let value: String
    /// The version, which each write changes to one that the key never had before.
    public let version: String

    /// Creates a value.
    public init(value: String, version: String) {
        self.value = value
        self.version = version
    }
}

/// A ``SessionStore`` in the memory of this process.
///
/// Its users are signed out when the process ends.
public final class InMemorySessions: SessionStore {
    private struct Entry {
        let value: StoredSessionValue
        let end: ContinuousClock.Instant
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var lastVersion = 0
        var nextPurge = 1_024
        /// The end of the pause in which a full store doesn't search all values again.
        var pauseEnd: ContinuousClock.Instant?
    }

    /// Always `false`.
    public var isSharedByHosts: Bool { false }

    private let state = Mutex(State())
    private let capacity: Int
    private let timeSource: TimeSource

    /// Creates an empty store.
    ///
    /// - Parameters:
    ///   - capacity: The maximum number of values. A session has three or four. The default is
    ///     300,000, which take about 600 MB. When the store is full, nobody else can sign in.
    ///   - timeSource: The source of time.
    public init(capacity: Int = 300_000, timeSource: TimeSource = .system) {
        self.capacity = max(capacity, 0)
        self.timeSource = timeSource
    }

    /// The number of values, including expired ones.
    public var count: Int { state.withLock { $0.entries.count } }

    /// Reads a value.
    public func read(_ key: String) -> StoredSessionValue? {
        let now = timeSource.now()
        return state.withLock { state in
            guard let entry = state.entries[key], now < entry.end else { return nil }
            return entry.value
        }
    }

    /// Writes a value if the stored version is the expected one.
    ///
    /// - Throws: ``SignInError`` with the code `storeFailed` if the store is full.
    public func write(
        _ value: String,
        for key: String,
        replacing version: String?,
        lifetime: Duration
    ) throws(SignInError) -> String? {
        let now = timeSource.now()
        return try state.withLock { state throws(SignInError) in
            let found = state.entries[key].flatMap { now < $0.end ? $0 : nil }
            guard found?.value.version == version else { return nil }
            if state.entries[key] == nil {
                let isPausing = state.pauseEnd.map { now < $0 } ?? false
                if state.entries.count >= min(state.nextPurge, capacity), !isPausing {
                    state.entries = state.entries.filter { now < $0.value.end }
                    state.nextPurge = max(1_024, 2 * state.entries.count)
                    state.pauseEnd = now + .seconds(1)
                }
                guard state.entries.count < capacity else {
                    throw SignInError(.storeFailed, "the store already has \(capacity) values; raise the capacity")
                }
            }
            state.lastVersion += 1
            let stored = StoredSessionValue(value: value, version: String(state.lastVersion))
            state.entries[key] = Entry(value: stored, end: now + lifetime)
            return stored.version
        }
    }

    /// Removes a value.
    public func remove(_ key: String) { state.withLock { $0.entries[key] = nil } }

    /// All values by key, for tests of what the store shows.
    package var contents: [String: String] { state.withLock { $0.entries.mapValues(\.value.value) } }
}
