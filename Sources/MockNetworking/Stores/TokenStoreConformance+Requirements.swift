import Foundation
import Networking
import OAuth2

extension TokenStoreConformance {
    static let records: [Requirement] = [
        Requirement(promise: "loading a key that was never written returns nothing") { store, _ in
            try await store.load("k") == nil ? nil : "it returned a record"
        },
        Requirement(promise: "a written record is loaded, all of it, by both stores") { store, other in
            let short = TokenRecord(accessToken: Secret("a"))
            for (key, record) in [("long", Self.record("1")), ("short", short)] {
                guard try await store.compareAndSwap(key, expectedVersion: nil, record: record) != nil else {
                    return "the first write failed"
                }
                for reader in [store, other] {
                    guard try await reader.load(key)?.record == record else {
                        return "the \(key) record has changed"
                    }
                }
            }
            return nil
        },
        Requirement(promise: "records under different keys are separate") { store, _ in
            let keys = ["", "a", "A", "a\nb", "a b", "../a", "a/b", "é", "ë", String(repeating: "k", count: 2_000)]
            for (index, key) in keys.enumerated() {
                let record = Self.record("\(index)")
                guard try await store.compareAndSwap(key, expectedVersion: nil, record: record) != nil else {
                    return "the key “\(key.prefix(20))” was mistaken for another"
                }
            }
            for (index, key) in keys.enumerated() {
                guard try await store.load(key)?.record == Self.record("\(index)") else {
                    return "the key “\(key.prefix(20))” has another key's record"
                }
            }
            return nil
        },
    ]

    static let versions: [Requirement] = [
        Requirement(promise: "a write that expects no record doesn't replace one") { store, other in
            _ = try await store.write("1")
            guard try await other.write("2") == nil else { return "the write succeeded" }
            return try await store.load("k")?.record == Self.record("1") ? nil : "the record changed"
        },
        Requirement(promise: "a write that expects a record doesn't create one") { store, _ in
            let other = TokenRecordVersion("1")
            guard try await store.write("1", over: other) == nil else { return "the write succeeded" }
            return try await store.load("k") == nil ? nil : "a record exists"
        },
        Requirement(promise: "a write replaces the version that it names, and no other") { store, other in
            _ = try await store.write("1")
            guard let first = try await other.load("k") else { return "the record was not found" }
            guard let next = try await other.write("2", over: first.version) else {
                return "the current version was refused"
            }
            guard try await store.load("k")?.version == next else {
                return "the write returned another version than the one that is loaded"
            }
            let outdated = try await store.write("3", over: first.version)
            guard outdated == nil else { return "an outdated version was accepted" }
            return try await store.load("k")?.record == Self.record("2")
                ? nil : "the record isn't the one written last"
        },
        Requirement(
            promise: "records under a key never have the same version, even after a removal or with equal contents"
        ) { store, _ in
            var versions: Set<TokenRecordVersion> = []
            for round in 1...20 {
                var last: TokenRecordVersion?
                for _ in 1...3 {
                    guard let version = try await store.write("same", over: last) else {
                        return "a write failed in iteration \(round)"
                    }
                    guard try await store.load("k")?.version == version else {
                        return "the write returned another version than the one that is loaded"
                    }
                    guard versions.insert(version).inserted else { return "the version \(version) occurred twice" }
                    last = version
                }
                guard let last, try await store.remove("k", ifVersion: last) else { return "a removal failed" }
            }
            return nil
        },
        Requirement(promise: "a removal removes the version that it names, and no other") { store, other in
            _ = try await store.write("1")
            guard let first = try await store.load("k")?.version else { return "the record was not found" }
            _ = try await store.write("2", over: first)
            guard try await !other.remove("k", ifVersion: first) else {
                return "an outdated version was accepted"
            }
            guard let second = try await other.load("k") else { return "the record was lost" }
            guard try await other.remove("k", ifVersion: second.version) else {
                return "the current version was refused"
            }
            guard try await store.load("k") == nil else { return "the record still exists" }
            return try await store.remove("k", ifVersion: second.version) ? "it was removed twice" : nil
        },
        Requirement(promise: "only one of many concurrent writes to the same version succeeds") { store, other in
            _ = try await store.write("0")
            guard let version = try await store.load("k")?.version else { return "the record was not found" }
            let winners = try await withThrowingTaskGroup(of: Int?.self) { group in
                for index in 1...20 {
                    group.addTask {
                        let store = index.isMultiple(of: 2) ? store : other
                        let isWritten = try await store.write("\(index)", over: version)
                        return isWritten != nil ? index : nil
                    }
                }
                return try await group.reduce(into: [Int]()) { winners, next in
                    if let next { winners.append(next) }
                }
            }
            guard let winner = winners.first, winners.count == 1 else { return "\(winners.count) succeeded" }
            return try await store.load("k")?.record == Self.record("\(winner)") ? nil : "another's record won"
        },
    ]

    private struct Interruption: Error {}

    /// Returns the second store, or the first one if hosts share the records, because exclusive
    /// access is then limited to one process.
    private static func excluded(by store: any TokenStore, _ other: any TokenStore) -> any TokenStore {
        store.isSharedByHosts ? store : other
    }

    static let sections: [Requirement] = [
        Requirement(promise: "exclusive access returns the closure's result and releases the lock") { store, _ in
            for round in 1...3 {
                let result = try await store.withAccess { round }
                guard result == round else { return "it returned another result" }
            }
            return nil
        },
        Requirement(promise: "exclusive access rethrows the closure's error and releases the lock") { store, other in
            do {
                try await store.withAccess { throw Interruption() }
                return "it didn't throw"
            } catch is Interruption {}
            return try await other.withAccess { nil }
        },
        Requirement(promise: "exclusive access is granted one at a time, across both stores") { store, other in
            let other = Self.excluded(by: store, other)
            for second in [store, other] {
                let isAlone = try await store.withAccess { await Self.isRefused(by: second) }
                guard isAlone else { return "a second closure ran" }
            }
            // The current and the maximum number of concurrent closures.
            let visitors = Watched((now: 0, most: 0))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 1...10 {
                    group.addTask {
                        try await (index.isMultiple(of: 2) ? store : other).withAccess {
                            visitors.update { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                            for _ in 1...3 { await Task.yield() }
                            visitors.update { $0.now -= 1 }
                        }
                    }
                }
                try await group.waitForAll()
            }
            let most = visitors.value.most
            return most == 1 ? nil : "\(most) closures ran at once"
        },
        Requirement(promise: "reading and writing with exclusive access loses no update") { store, other in
            let other = Self.excluded(by: store, other)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 1...20 {
                    group.addTask {
                        let store = index.isMultiple(of: 2) ? store : other
                        try await store.withAccess {
                            let last = try await store.load("k")
                            let count = last?.record.scope.flatMap { Int($0) } ?? 0
                            await Task.yield()
                            let record = TokenRecord(accessToken: Secret("a"), scope: "\(count + 1)")
                            let version = last?.version
                            guard try await store.compareAndSwap("k", expectedVersion: version, record: record) != nil
                            else { throw Interruption() }
                        }
                    }
                }
                try await group.waitForAll()
            }
            let count = try await store.load("k")?.record.scope ?? "nothing"
            return count == "20" ? nil : "after 20 increments, the count was \(count)"
        },
        Requirement(promise: "locks of different keys are independent") { store, other in
            try await store.withExclusiveAccess(to: "a", timeout: .seconds(600)) {
                try await other.withExclusiveAccess(to: "b", timeout: .seconds(600)) { nil }
            }
        },
        Requirement(promise: "waiting too long fails with storeBusy, without running the closure") { store, other in
            try await store.withAccess {
                let other = Self.excluded(by: store, other)
                do {
                    return try await other.withExclusiveAccess(to: "k", timeout: .milliseconds(50)) {
                        "the closure ran"
                    }
                } catch let error as OAuth2Error {
                    return error.code == .storeBusy ? nil : "it failed with \(error.code)"
                }
            }
        },
        Requirement(
            promise: "a task that's cancelled while waiting ends at once without affecting others"
        ) { store, other in
            let other = Self.excluded(by: store, other)
            let entered = ResponseGate()
            let leave = ResponseGate()
            let holder = Task {
                try await store.withAccess {
                    entered.open()
                    try await leave.wait()
                }
            }
            try await entered.wait()
            let cancelled = Task {
                try await other.withAccess { "the closure ran" }
            }
            for _ in 1...20 { await Task.yield() }
            cancelled.cancel()
            let outcome = await cancelled.result
            leave.open()
            try await holder.value
            if case .success(let observation) = outcome { return observation }
            return try await other.withAccess { nil }
        },
    ]

    private static func isRefused(by store: some TokenStore) async -> Bool {
        do {
            try await store.withExclusiveAccess(to: "k", timeout: .milliseconds(50)) {}
            return false
        } catch {
            return true
        }
    }
}

extension TokenStore {
    fileprivate func withAccess<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
        // Generous, because a busy machine may schedule tasks late.
        try await withExclusiveAccess(to: "k", timeout: .seconds(600), body)
    }
}

extension TokenStoreConformance {
    static let changes: [Requirement] = [
        Requirement(
            promise: "waiting for a change returns at once if the version is another one already"
        ) { store, other in
            guard let first = try await store.write("1"),
                try await other.write("2", over: first) != nil
            else { return "a write failed" }
            return try await Self.returns(store, after: first, within: .seconds(60))
        },
        Requirement(
            promise: "waiting for a change ends with the other store's write, and with its removal"
        ) { store, other in
            let first = try await store.write("1")
            async let written = Self.returns(store, after: first, within: .seconds(60))
            guard let second = try await other.write("2", over: first) else { return "a write failed" }
            if let observation = try await written { return observation }
            async let removed = Self.returns(store, after: second, within: .seconds(60))
            guard try await other.remove("k", ifVersion: second) else { return "a removal failed" }
            return try await removed
        },
        Requirement(promise: "waiting for the first record ends when it's written") { store, other in
            async let written = Self.returns(store, after: nil, within: .seconds(60))
            _ = try await other.write("1")
            return try await written
        },
        Requirement(promise: "waiting for a change that doesn't come ends with the timeout") { store, _ in
            let first = try await store.write("1")
            let started = ContinuousClock.now
            try await store.waitForChange(of: "k", after: first, timeout: .milliseconds(200), timeSource: .system)
            // Returning early is allowed, hanging isn't. Other tests can delay it for minutes.
            return ContinuousClock.now - started < .seconds(600) ? nil : "it took longer than ten minutes"
        },
        Requirement(promise: "a version is compared byte by byte") { store, _ in
            let record = Self.record("1")
            guard let version = try await store.compareAndSwap("k", expectedVersion: nil, record: record) else {
                return "the first write failed"
            }
            for text in ["\(version)0", "0\(version)", "", "\"", "0", "\(version) ", "W/\(version)", "*"] {
                let wrong = TokenRecordVersion(text)
                guard wrong != version else { continue }
                guard try await store.compareAndSwap("k", expectedVersion: wrong, record: record) == nil,
                    try await !store.remove("k", ifVersion: wrong)
                else { return "the version “\(text)” was taken for “\(version)”" }
            }
            return try await store.load("k")?.version == version ? nil : "the record changed"
        },
    ]

    private static func returns(
        _ store: any TokenStore,
        after version: TokenRecordVersion?,
        within timeout: Duration
    ) async throws -> String? {
        let started = ContinuousClock.now
        while try await store.load("k")?.version == version {
            guard ContinuousClock.now - started < timeout else { return "the change wasn't noticed" }
            try await store.waitForChange(of: "k", after: version, timeout: timeout, timeSource: .system)
        }
        return ContinuousClock.now - started < timeout ? nil : "the change was noticed only at the timeout"
    }
}
