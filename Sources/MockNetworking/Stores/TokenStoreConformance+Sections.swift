import Networking
import OAuth2
import Synchronization

extension TokenStoreConformance {
    private struct Interruption: Error {}

    /// Generous: on a busy machine nobody comes at once.
    private static let patience = Duration.seconds(600)

    static let sections: [(promise: String, check: Check)] = [
        (
            "a section returns what its body returns, and is free again",
            { store, _ in
                for round in 1...3 {
                    let result = try await store.withExclusiveAccess(to: "k", timeout: Self.patience) { round }
                    guard result == round else { return "it returned something else" }
                }
                return nil
            }
        ),
        (
            "a section throws what its body throws, and is free again",
            { store, other in
                do {
                    try await store.withExclusiveAccess(to: "k", timeout: Self.patience) { throw Interruption() }
                    return "it threw nothing"
                } catch is Interruption {}
                return try await other.withExclusiveAccess(to: "k", timeout: Self.patience) { nil }
            }
        ),
        (
            "one at a time is in a section, whichever way it came",
            { store, other in
                for second in [store, other] {
                    let isAlone = try await store.withExclusiveAccess(to: "k", timeout: Self.patience) {
                        await Self.isRefused(by: second)
                    }
                    guard isAlone else { return "a second was" }
                }
                let visitors = Visitors()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for index in 1...10 {
                        group.addTask {
                            try await (index.isMultiple(of: 2) ? store : other)
                                .withExclusiveAccess(to: "k", timeout: Self.patience) {
                                    visitors.enter()
                                    for _ in 1...3 { await Task.yield() }
                                    visitors.leave()
                                }
                        }
                    }
                    try await group.waitForAll()
                }
                return visitors.most == 1 ? nil : "\(visitors.most) were"
            }
        ),
        (
            "who reads and writes in a section loses nothing",
            { store, other in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for index in 1...20 {
                        group.addTask {
                            let store = index.isMultiple(of: 2) ? store : other
                            try await store.withExclusiveAccess(to: "k", timeout: Self.patience) {
                                let last = try await store.load("k")
                                let count = last?.record.scope.flatMap { Int($0) } ?? 0
                                await Task.yield()
                                let record = TokenRecord(accessToken: Secret("a"), scope: "\(count + 1)")
                                guard
                                    try await store.compareAndSwap("k", expectedVersion: last?.version, record: record)
                                else {
                                    throw Interruption()
                                }
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                let count = try await store.load("k")?.record.scope ?? "nothing"
                return count == "20" ? nil : "after twenty it was \(count)"
            }
        ),
        (
            "sections of different keys don't exclude each other",
            { store, other in
                try await store.withExclusiveAccess(to: "a", timeout: Self.patience) {
                    try await other.withExclusiveAccess(to: "b", timeout: Self.patience) { nil }
                }
            }
        ),
        (
            "who waits too long fails with storeBusy, and its body does not run",
            { store, other in
                try await store.withExclusiveAccess(to: "k", timeout: Self.patience) {
                    do {
                        return try await other.withExclusiveAccess(to: "k", timeout: .milliseconds(50)) {
                            "its body ran"
                        }
                    } catch let error as OAuth2Error {
                        return error.code == .storeBusy ? nil : "it failed with \(error.code)"
                    }
                }
            }
        ),
        (
            "who is cancelled while waiting leaves at once, and the others go on",
            { store, other in
                let entered = ResponseGate()
                let leave = ResponseGate()
                let holder = Task {
                    try await store.withExclusiveAccess(to: "k", timeout: Self.patience) {
                        entered.open()
                        try await leave.wait()
                    }
                }
                try await entered.wait()
                let cancelled = Task {
                    try await other.withExclusiveAccess(to: "k", timeout: Self.patience) { "its body ran" }
                }
                for _ in 1...20 { await Task.yield() }
                cancelled.cancel()
                let outcome = await cancelled.result
                leave.open()
                try await holder.value
                if case .success(let observation) = outcome { return observation }
                return try await other.withExclusiveAccess(to: "k", timeout: Self.patience) { nil }
            }
        ),
    ]
}

extension TokenStoreConformance {
    /// Whether a store lets nobody into the section of "k"; with what error is another promise.
    private static func isRefused(by store: some TokenStore) async -> Bool {
        do {
            try await store.withExclusiveAccess(to: "k", timeout: .milliseconds(50)) {}
            return false
        } catch {
            return true
        }
    }
}

/// How many are inside at a time.
private final class Visitors: Sendable {
    private let count = Mutex((now: 0, most: 0))

    var most: Int { count.withLock { $0.most } }

    func enter() { count.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) } }

    func leave() { count.withLock { $0.now -= 1 } }
}
