public import Hummingbird
public import WebSignIn

/// The sessions of a `SignIn` in a persist driver of Hummingbird: in memory, Redis, Valkey or a
/// database.
///
/// ```swift
/// let sessions = PersistedSessions(RedisPersistDriver(…))
/// ```
///
/// Values are encrypted before they get to the driver, and keys are digests.
///
/// A driver can't replace a value of a version as one step. So a second key of ten seconds is the
/// lock of a write or a removal. A host that stands still for longer in the middle of a write can
/// overwrite a newer value; it notices a pause of more than five seconds, and doesn't write.
public struct PersistedSessions: SessionStore {
    private struct Entry: Codable, Sendable {
        let value: String
        let version: String
    }

    private static let lockLifetime = Duration.seconds(10)
    private static let patience = Duration.seconds(5)

    private let driver: any PersistDriver

    /// Creates a store.
    ///
    /// - Parameter driver: The driver, which the application runs as a service. Hosts need one that
    ///   they share.
    public init(_ driver: any PersistDriver) { self.driver = driver }

    /// Reads a value.
    ///
    /// - Parameter key: The key.
    /// - Returns: The value and its version, or `nil`.
    /// - Throws: The errors of the driver.
    public func read(_ key: String) async throws -> StoredSessionValue? {
        try await driver.get(key: key, as: Entry.self).map {
            StoredSessionValue(value: $0.value, version: $0.version)
        }
    }

    /// Writes a value if the stored version is the expected one.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - key: The key.
    ///   - version: The version to replace; `nil` if there must not be a value.
    ///   - lifetime: The time after which the value is gone.
    /// - Returns: The new version, or `nil` if another one is stored.
    /// - Throws: The errors of the driver; `SignInError` with the code `storeFailed` if this write
    ///   or another one of the value takes too long.
    public func write(
        _ value: String,
        for key: String,
        replacing version: String?,
        lifetime: Duration
    ) async throws -> String? {
        let entry = Entry(value: value, version: String(UInt64.random(in: 0 ... .max), radix: 36))
        guard let version else {
            if try await create(key, entry, lifetime) { return entry.version }
            return try await locking(key) { _ in
                for _ in 0..<2 {
                    guard try await driver.get(key: key, as: Entry.self) == nil else { return nil }
                    if try await create(key, entry, lifetime) { return entry.version }
                }
                // Some drivers hide an expired value until they remove it.
                try await driver.remove(key: key)
                return try await create(key, entry, lifetime) ? entry.version : nil
            }
        }
        return try await locking(key) { checkTime in
            guard try await driver.get(key: key, as: Entry.self)?.version == version else { return nil }
            try checkTime()
            try await driver.set(key: key, value: entry, expires: lifetime)
            return entry.version
        }
    }

    /// Runs a closure while no other one has the lock of a key, with a check that enough of the
    /// lock's time is left.
    private func locking<Result>(
        _ key: String,
        _ body: (_ checkTime: () throws -> Void) async throws -> Result
    ) async throws -> Result {
        let clock = ContinuousClock()
        let start = clock.now
        let lock = "lock-" + key
        // The lock's time begins before the driver answers.
        var locked = start
        while try await !create(lock, Entry(value: "", version: ""), Self.lockLifetime) {
            guard clock.now - start < Self.patience + Self.lockLifetime else {
                throw SignInError(.storeFailed, "another host has been writing the value for too long")
            }
            try await Task.sleep(for: .milliseconds(20))
            locked = clock.now
        }
        let end = locked + Self.patience
        do {
            let result = try await body {
                guard clock.now < end else {
                    throw SignInError(.storeFailed, "the driver took too long to write the value safely")
                }
            }
            await unlock()
            return result
        } catch {
            await unlock()
            throw error
        }

        func unlock() async {
            // Later, the lock may be another host's.
            if clock.now < end { try? await driver.remove(key: lock) }
        }
    }

    private func create(_ key: String, _ entry: Entry, _ lifetime: Duration) async throws -> Bool {
        do {
            try await driver.create(key: key, value: entry, expires: lifetime)
            return true
        } catch let error as PersistError where error == .duplicate {
            return false
        }
    }

    /// Removes a value, so that no pending write of an earlier version brings it back.
    ///
    /// - Parameter key: The key.
    /// - Throws: The errors of the driver; `SignInError` with the code `storeFailed` if a write of
    ///   the value takes too long.
    public func remove(_ key: String) async throws {
        try await locking(key) { _ in try await driver.remove(key: key) }
    }
}
