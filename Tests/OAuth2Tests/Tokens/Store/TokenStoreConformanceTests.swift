import Foundation
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing
import TokenGeneration

@testable import OAuth2

@Suite("TokenStoreConformance", .limitedConcurrency, .tags(.concurrency))
struct TokenStoreConformanceTests {
    @Test("The in-memory store conforms")
    func memory() async throws {
        try await TokenStoreConformance {
            let store = InMemoryTokenStore()
            return (store, store)
        }
        .check()
    }

    @Test("The in-memory store compares keys as bytes")
    func equivalentKeys() {
        let store = InMemoryTokenStore()
        let version = store.compareAndSwap("\u{E9}", expectedVersion: nil, record: TokenStoreConformance.sample)
        #expect(version != nil && store.load("\u{E9}")?.version == version)
        #expect(store.load("e\u{301}") == nil)
    }

    @Test("The file store conforms, unencrypted and encrypted", .shows("4.19"), arguments: [nil, Self.key])
    func files(key: Secret?) async throws {
        try await withTemporaryDirectory { directory in
            let count = Mutex(0)
            try await TokenStoreConformance {
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                let folder = directory.appending(path: "\(number)")
                return (
                    try FileTokenStore(directory: folder, encryptionKey: key),
                    try FileTokenStore(directory: folder, encryptionKey: key)
                )
            }
            .check()
        }
    }

    @Test("A store that keeps a record's bytes conforms")
    func bytes() async throws {
        try await TokenStoreConformance {
            let store = ByteStore()
            return (store, store)
        }
        .check()
    }

    @Test("A record's bytes are for one key and one format")
    func otherBytes() throws {
        let data = try TokenStoreConformance.sample.serialized(for: "k")
        #expect(try TokenRecord(parsing: data, for: "k") == TokenStoreConformance.sample)
        #expect(throws: OAuth2Error(.storeDamaged, "")) { try TokenRecord(parsing: data, for: "K") }
        #expect(throws: OAuth2Error(.storeDamaged, "")) { try TokenRecord(parsing: data.dropLast(), for: "k") }
        var newer = try JSONObject(parsing: data)
        newer["version"] = 3
        let text = newer.serializedData()
        #expect(throws: OAuth2Error(.storeTooNew, "")) { try TokenRecord(parsing: text, for: "k") }
    }

    @Test("Detects a store that breaks a promise", .shows("L10", "4.19"), arguments: Fault.allCases)
    private func faults(fault: Fault) async {
        let error = await #expect(throws: TokenStoreConformance.Violations.self) {
            try await TokenStoreConformance {
                let store = FaultyStore(fault)
                return (store, store)
            }
            .check()
        }
        let violations = error?.violations ?? []
        #expect(violations.contains { $0.promise.contains(fault.rawValue) }, "\(fault) wasn't detected: \(violations)")
    }

    private static let key = Secret("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")

    /// A store's fault. The raw value is part of the promise that it breaks.
    private enum Fault: String, CaseIterable {
        case losesRefreshToken = "all of it"
        case ignoresVersion = "the version that it names, and no other"
        case reusesVersions = "the same version"
        case ignoresCase = "different keys are separate"
        case excludesNobody = "one at a time"
        case wrongError = "storeBusy"
        case refusesFirst = "compared byte by byte"
        case refusesReplacement = "a write replaces the version"
        case refusesRemoval = "a removal removes the version"
    }

    /// An application's store, in the form of the article about custom stores.
    private final class ByteStore: TokenStore {
        private let rows = Mutex<(byKey: [Secret: (data: Data, version: String)], writes: Int)>(([:], 0))
        private let sections = InMemoryTokenStore()

        func load(_ key: String) throws -> VersionedTokenRecord? {
            guard let row = rows.withLock({ $0.byKey[Secret(key)] }) else { return nil }
            return VersionedTokenRecord(
                record: try TokenRecord(parsing: row.data, for: key),
                version: TokenRecordVersion(row.version)
            )
        }

        func compareAndSwap(
            _ key: String,
            expectedVersion: TokenRecordVersion?,
            record: TokenRecord
        ) throws -> TokenRecordVersion? {
            let data = try record.serialized(for: key)
            return rows.withLock { rows in
                guard rows.byKey[Secret(key)]?.version == expectedVersion?.description else { return nil }
                rows.writes += 1
                rows.byKey[Secret(key)] = (data, String(rows.writes))
                return TokenRecordVersion(String(rows.writes))
            }
        }

        func remove(_ key: String, ifVersion version: TokenRecordVersion) -> Bool {
            rows.withLock { rows in
                guard rows.byKey[Secret(key)]?.version == version.description else { return false }
                rows.byKey[Secret(key)] = nil
                return true
            }
        }

        func withExclusiveAccess<Result: Sendable>(
            to key: String,
            timeout: Duration,
            _ body: @Sendable () async throws -> Result
        ) async throws -> Result {
            try await sections.withExclusiveAccess(to: key, timeout: timeout, body)
        }
    }

    private final class FaultyStore: TokenStore {
        private let store = InMemoryTokenStore()
        private let fault: Fault

        init(_ fault: Fault) { self.fault = fault }

        func load(_ key: String) -> VersionedTokenRecord? {
            guard let found = store.load(name(key)) else { return nil }
            return fault == .reusesVersions
                ? VersionedTokenRecord(record: found.record, version: TokenRecordVersion("1")) : found
        }

        func compareAndSwap(
            _ key: String,
            expectedVersion: TokenRecordVersion?,
            record: TokenRecord
        ) -> TokenRecordVersion? {
            var record = record
            var version = expectedVersion
            if fault == (version == nil ? .refusesFirst : .refusesReplacement) { return nil }
            if fault == .losesRefreshToken { record.refreshToken = nil }
            if fault == .ignoresVersion || fault == .reusesVersions { version = store.load(name(key))?.version }
            return store.compareAndSwap(name(key), expectedVersion: version, record: record)
        }

        func remove(_ key: String, ifVersion version: TokenRecordVersion) -> Bool {
            if fault == .refusesRemoval { return false }
            let ignores = fault == .ignoresVersion || fault == .reusesVersions
            return store.remove(
                name(key),
                ifVersion: ignores ? store.load(name(key))?.version ?? TokenRecordVersion("0") : version
            )
        }

        func withExclusiveAccess<Result: Sendable>(
            to key: String,
            timeout: Duration,
            _ body: @Sendable () async throws -> Result
        ) async throws -> Result {
            if fault == .excludesNobody { return try await body() }
            do {
                return try await store.withExclusiveAccess(to: key, timeout: timeout, body)
            } catch let error as OAuth2Error where fault == .wrongError && error.code == .storeBusy {
                throw OAuth2Error(.storeFailed, "busy")
            }
        }

        // Without the error, the test would wait a minute for each version that never changes.
        func waitForChange(
            of key: String,
            after version: TokenRecordVersion?,
            timeout: Duration,
            timeSource: TimeSource
        ) throws {
            throw OAuth2Error(.storeFailed, "this store reports no changes")
        }

        private func name(_ key: String) -> String { fault == .ignoresCase ? key.lowercased() : key }
    }

    // MARK: The in-memory store's lock

    private let time = ManualTime()
    private let store: InMemoryTokenStore

    init() {
        store = InMemoryTokenStore(timeSource: time.timeSource)
    }

    @Test("Waiting tasks get the lock in the order of their arrival")
    func order() async throws {
        let (gate, holder) = try await held()
        let entered = Journal()
        var waiters: [Task<Void, any Error>] = []
        for number in 1...20 {
            waiters.append(
                Task { [store] in
                    try await store.withExclusiveAccess(to: "k", timeout: .seconds(60)) {
                        entered.add("\(number)")
                    }
                }
            )
            while store.waiterCount(for: "k") < number { await Task.yield() }
        }
        gate.open()
        for waiter in waiters { try await waiter.value }
        try await holder.value
        let numbers = (1...20).map { number in "\(number)" }
        #expect(entered.entries == numbers)
    }

    @Test("A task that waits too long fails with storeBusy, and the others continue")
    func timeout() async throws {
        let (gate, holder) = try await held()
        let hasty = Task { [store] in try await store.withExclusiveAccess(to: "k", timeout: .seconds(5)) {} }
        let patient = Task { [store] in try await store.withExclusiveAccess(to: "k", timeout: .seconds(10)) { "in" } }
        try await time.waitForSleepers(count: 2)
        time.advance(by: .seconds(5))
        #expect(await failureCode { try await hasty.value } == .storeBusy)
        gate.open()
        #expect(try await patient.value == "in")
        try await holder.value
    }

    @Test("A timeout of zero gets a free lock, and fails for a held one")
    func noTimeout() async throws {
        try await store.withExclusiveAccess(to: "k", timeout: .zero) { [store] in
            let code = await failureCode { try await store.withExclusiveAccess(to: "k", timeout: .zero) {} }
            #expect(code == .storeBusy)
        }
        #expect(try await store.withExclusiveAccess(to: "k", timeout: .zero) { "in" } == "in")
    }

    /// Starts a task that has the lock until the gate opens.
    private func held() async throws -> (gate: ResponseGate, holder: Task<Void, any Error>) {
        let gate = ResponseGate()
        let holder = Task { [store] in
            try await store.withExclusiveAccess(to: "k", timeout: .seconds(60)) { try await gate.wait() }
        }
        try await gate.waitForWaiters(count: 1)
        return (gate, holder)
    }

    private func record(_ access: String) -> TokenRecord { TokenRecord(accessToken: Secret(access)) }

    // MARK: Comparison by bytes

    private static let spellings = ["\u{E9}", "e\u{301}"]

    @Test("Access tokens differ if their scope or type has another Unicode spelling")
    func accessTokens() {
        let now = ContinuousClock.now
        for make in [
            { AccessToken(value: Secret("t"), scope: $0, requested: now) },
            { AccessToken(value: Secret("t"), type: $0, requested: now) },
            { AccessToken(value: Secret($0), requested: now) },
        ] as [(String) -> AccessToken] {
            let tokens = Self.spellings.map(make)
            #expect(tokens[0] != tokens[1])
            #expect(tokens[0] == make(Self.spellings[0]))
            #expect(Set(tokens + tokens).count == 2)
        }
    }

    @Test("Records differ in each property, and texts in their Unicode spelling", .shows("K5"))
    func records() {
        let changes: [(inout TokenRecord, String) -> Void] = [
            { $0.accessToken = Secret($1) }, { $0.tokenType = $1 }, { $0.scope = $1 },
            { $0.refreshToken = Secret($1) }, { $0.proofKey = Secret($1) }, { $0.proofKeyThumbprint = $1 },
            { $0.refreshAttempt = RefreshAttempt(id: $1) }, { $0.epoch = $1 },
            { $0.refreshAttempt = RefreshAttempt(id: "a", host: $1) },
            { $0.refreshAttempt = RefreshAttempt(id: "a", earlier: [$1]) },
        ]
        let plain = TokenRecord(accessToken: Secret("t"))
        for change in changes {
            let records = Self.spellings.map { text in
                var record = plain
                change(&record, text)
                return record
            }
            #expect(Set(records + [plain] + records).count == 3)
        }
        let moment = Date(timeIntervalSince1970: 1)
        #expect(TokenRecord(accessToken: Secret("t"), expiration: moment) != plain)
        #expect(TokenRecord(accessToken: Secret("t"), obtained: moment) != plain)
        #expect(TokenRecord(accessToken: Secret("t"), end: .signedOut) != plain)
        #expect(TokenRecord(accessToken: Secret("t"), generation: 1) != plain)
        let pause = RefreshPause(duration: .seconds(1), end: moment)
        #expect(TokenRecord(accessToken: Secret("t"), pause: pause) != plain)
        #expect(TokenRecord(accessToken: Secret("t")) == plain)
    }
}

extension TokenStoreConformance {
    /// A record with all properties, in values that its bytes keep.
    fileprivate static var sample: TokenRecord {
        TokenRecord(
            accessToken: Secret("a"),
            refreshToken: Secret("r"),
            refreshAttempt: RefreshAttempt(id: "i", validFor: .seconds(2)),
            epoch: "e",
            generation: 7,
            pause: RefreshPause(duration: .seconds(30), end: Date(timeIntervalSince1970: 1_000_000_030))
        )
    }
}
