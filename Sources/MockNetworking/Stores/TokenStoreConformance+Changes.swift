import Networking
import OAuth2

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

    /// Waits for a change, and returns what's wrong if it takes the whole time.
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
