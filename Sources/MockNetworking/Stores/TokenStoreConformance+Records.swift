import Foundation
import OAuth2

extension TokenStoreConformance {
    static let records: [(promise: String, check: Check)] = [
        (
            "nothing is found before it was written",
            { store, _ in
                try await store.load("k") == nil ? nil : "there was a record"
            }
        ),
        (
            "what is written is found, all of it, also by the other",
            { store, other in
                let short = TokenRecord(accessToken: Secret("a"))
                for (key, record) in [("long", Self.record("1")), ("short", short)] {
                    guard try await store.compareAndSwap(key, expectedVersion: nil, record: record) else {
                        return "the first write was refused"
                    }
                    for reader in [store, other] {
                        guard try await reader.load(key)?.record == record else {
                            return "the \(key) record came back changed"
                        }
                    }
                }
                return nil
            }
        ),
        (
            "records under different keys are apart",
            { store, _ in
                let keys = ["", "a", "A", "a\nb", "a b", "../a", "a/b", "é", "ë", String(repeating: "k", count: 2_000)]
                for (index, key) in keys.enumerated() {
                    let record = Self.record("\(index)")
                    guard try await store.compareAndSwap(key, expectedVersion: nil, record: record) else {
                        return "the key “\(key.prefix(20))” was taken for another"
                    }
                }
                for (index, key) in keys.enumerated() {
                    guard try await store.load(key)?.record == Self.record("\(index)") else {
                        return "under the key “\(key.prefix(20))” is another's record"
                    }
                }
                return nil
            }
        ),
    ]

    static let versions: [(promise: String, check: Check)] = [
        (
            "a write that expects no record does not replace one",
            { store, other in
                _ = try await store.compareAndSwap("k", expectedVersion: nil, record: Self.record("1"))
                guard try await !other.compareAndSwap("k", expectedVersion: nil, record: Self.record("2")) else {
                    return "it was written"
                }
                return try await store.load("k")?.record == Self.record("1") ? nil : "the record changed"
            }
        ),
        (
            "a write that expects a record does not make one",
            { store, _ in
                guard try await !store.compareAndSwap("k", expectedVersion: 1, record: Self.record("1")) else {
                    return "it was written"
                }
                return try await store.load("k") == nil ? nil : "there was a record"
            }
        ),
        (
            "a write replaces the version that it names, and no other",
            { store, other in
                _ = try await store.compareAndSwap("k", expectedVersion: nil, record: Self.record("1"))
                guard let first = try await other.load("k") else { return "the record was not found" }
                guard try await other.compareAndSwap("k", expectedVersion: first.version, record: Self.record("2"))
                else {
                    return "the present version was refused"
                }
                guard try await !store.compareAndSwap("k", expectedVersion: first.version, record: Self.record("3"))
                else {
                    return "a version that is gone was replaced"
                }
                return try await store.load("k")?.record == Self.record("2")
                    ? nil : "the record is not the one written last"
            }
        ),
        (
            "no two records under a key have the same version, also not after a removal, nor if they are equal",
            { store, _ in
                var versions: Set<Int> = []
                for round in 1...20 {
                    var last: Int?
                    for _ in 1...3 {
                        guard try await store.compareAndSwap("k", expectedVersion: last, record: Self.record("same")),
                            let version = try await store.load("k")?.version
                        else { return "a write was refused in round \(round)" }
                        guard versions.insert(version).inserted else { return "the version \(version) came twice" }
                        last = version
                    }
                    guard let last, try await store.remove("k", ifVersion: last) else { return "a removal was refused" }
                }
                return nil
            }
        ),
        (
            "a removal removes the version that it names, and no other",
            { store, other in
                _ = try await store.compareAndSwap("k", expectedVersion: nil, record: Self.record("1"))
                guard let first = try await store.load("k")?.version else { return "the record was not found" }
                _ = try await store.compareAndSwap("k", expectedVersion: first, record: Self.record("2"))
                guard try await !other.remove("k", ifVersion: first) else {
                    return "a version that is gone was removed"
                }
                guard let second = try await other.load("k") else { return "the record was lost" }
                guard try await other.remove("k", ifVersion: second.version) else {
                    return "the present version was refused"
                }
                guard try await store.load("k") == nil else { return "the record is still there" }
                return try await store.remove("k", ifVersion: second.version) ? "it was removed twice" : nil
            }
        ),
        (
            "of many writes over one version one succeeds",
            { store, other in
                _ = try await store.compareAndSwap("k", expectedVersion: nil, record: Self.record("0"))
                guard let version = try await store.load("k")?.version else { return "the record was not found" }
                let winners = try await withThrowingTaskGroup(of: Int?.self) { group in
                    for index in 1...20 {
                        group.addTask {
                            let store = index.isMultiple(of: 2) ? store : other
                            let isWritten = try await store.compareAndSwap(
                                "k",
                                expectedVersion: version,
                                record: Self.record("\(index)")
                            )
                            return isWritten ? index : nil
                        }
                    }
                    return try await group.reduce(into: [Int]()) { winners, next in
                        if let next { winners.append(next) }
                    }
                }
                guard let winner = winners.first, winners.count == 1 else { return "\(winners.count) did" }
                return try await store.load("k")?.record == Self.record("\(winner)") ? nil : "another's record is there"
            }
        ),
    ]
}
