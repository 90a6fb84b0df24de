import Networking
import OAuth2

extension TokenStoreConformance {
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
}

extension TokenStoreConformance {
    /// Returns whether a store denies access to the locked key "k", with any error.
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
    /// Runs a closure with exclusive access to "k".
    fileprivate func withAccess<Result: Sendable>(
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        // Generous, because a busy machine may schedule tasks late.
        try await withExclusiveAccess(to: "k", timeout: .seconds(600), body)
    }
}
