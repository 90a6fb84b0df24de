import Foundation
import Glibc
import Networking
import OAuth2

/// A log with a JSON object per line, written at once.
final class HostLog: Sendable {
    private let descriptor: Int32

    init(path: String) throws {
        descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw CocoaError(.fileNoSuchFile) }
    }

    /// The time on the machine's monotonic clock in seconds.
    static func now() -> Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    func write(_ values: [String: any Sendable]) {
        guard let line = try? JSONSerialization.data(withJSONObject: values) else { return }
        let text = [UInt8](line) + [10]
        _ = unsafe Glibc.write(descriptor, text, text.count)
    }
}

/// A store that logs its calls and which record each of them read, expected or wrote.
final class LoggedStore: TokenStore {
    private let store: any TokenStore
    private let log: HostLog

    init(_ store: any TokenStore, log: HostLog) {
        self.store = store
        self.log = log
    }

    var isSharedByHosts: Bool { store.isSharedByHosts }

    func load(_ key: String) async throws -> VersionedTokenRecord? {
        let started = HostLog.now()
        let found = try await store.load(key)
        log.write([
            "event": "read", "start": started, "end": HostLog.now(),
            "name": found.map { Self.name(of: $0.record) } ?? "", "version": found?.version.description ?? "",
            "generation": found?.record.generation ?? 0, "epoch": found?.record.epoch ?? "",
        ])
        return found
    }

    func compareAndSwap(
        _ key: String,
        expectedVersion: TokenRecordVersion?,
        record: TokenRecord
    ) async throws -> TokenRecordVersion? {
        let started = HostLog.now()
        var entry: [String: any Sendable] = [
            "event": "swap", "start": started, "expected": expectedVersion?.description ?? "",
            "name": Self.name(of: record), "generation": record.generation,
            "epoch": record.epoch ?? "", "announces": record.refreshAttempt != nil, "ends": record.end != nil,
        ]
        // Logged before the call, in case the process doesn't survive it.
        log.write(entry.merging(["event": "swapping"]) { $1 })
        do {
            let version = try await store.compareAndSwap(key, expectedVersion: expectedVersion, record: record)
            entry["end"] = HostLog.now()
            entry["succeeded"] = version != nil
            entry["version"] = version?.description ?? ""
            log.write(entry)
            return version
        } catch {
            entry["end"] = HostLog.now()
            log.write(entry)
            throw error
        }
    }

    func remove(_ key: String, ifVersion version: TokenRecordVersion) async throws -> Bool {
        try await store.remove(key, ifVersion: version)
    }

    func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await store.withExclusiveAccess(to: key, timeout: timeout, body)
    }

    func waitForChange(
        of key: String,
        after version: TokenRecordVersion?,
        timeout: Duration,
        timeSource: TimeSource
    ) async throws {
        try await store.waitForChange(of: key, after: version, timeout: timeout, timeSource: timeSource)
    }

    /// Returns a name of the record without secrets.
    private static func name(of record: TokenRecord) -> String {
        return [
            record.epoch ?? "-", "\(record.generation)", record.refreshAttempt?.id ?? "-",
            record.end.map { "\($0)" } ?? "-",
        ]
        .joined(separator: "/")
    }
}
