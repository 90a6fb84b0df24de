import Foundation
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
}
