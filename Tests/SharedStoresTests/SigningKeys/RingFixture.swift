import Foundation
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TokenGeneration

@testable import SharedStores

/// Hosts of a service with short-lived keys, a common store and virtual time.
struct RingFixture: Sendable {
    /// New keys are known to all verifiers after 3 × 60 + 600 + 30 = 810 seconds.
    static let options = SigningKeyRing.Options(
        rotationInterval: .seconds(3_600),
        tokenLifetime: .seconds(300),
        cacheLifetime: .seconds(600),
        leeway: .seconds(60),
        pollInterval: .seconds(60),
        clockDifference: .seconds(30)
    )
    static let key = Secret("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
    static let otherKey = Secret("ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=")

    let time = ManualTime(date: Date(timeIntervalSince1970: 1_800_000_000))
    var storage = ScriptedStorage()

    /// Returns a host's ring.
    ///
    /// - Parameter skew: The difference of the host's clock in seconds.
    func ring(
        keys: RecordKeys? = nil,
        name: String = "default",
        options: SigningKeyRing.Options = Self.options,
        initialKey: SigningKey? = nil,
        skew: TimeInterval = 0,
        random: Double = 0
    ) throws -> SigningKeyRing {
        var timeSource = time.timeSource
        timeSource.date = { [time] in time.date + skew }
        return try SigningKeyRing(
            storage,
            keys: keys ?? RecordKeys(sealing: Self.key),
            name: name,
            options: options,
            initialKey: initialKey,
            timeSource: timeSource,
            random: { random }
        )
    }

    /// Returns claims that are valid for the whole lifetime of tokens.
    func claims(_ subject: String) -> RegisteredClaims {
        RegisteredClaims(subject: subject, expiration: time.date + 300)
    }

    /// The policy of verifiers.
    var policy: ValidationPolicy { ValidationPolicy(currentDate: { [time] in time.date }) }

    /// Returns the ID of the key that signs.
    func keyID(_ ring: SigningKeyRing) async throws -> String {
        let id = try await ring.signingKey().keyID ?? ""
        await settle(ring)
        return id
    }

    /// Advances the time while hosts sign, so that they read the keys without a gap.
    func run(_ rings: SigningKeyRing..., seconds: Int) async throws {
        for _ in 0..<(seconds / 20) {
            time.advance(by: .seconds(20))
            for ring in rings { _ = try await keyID(ring) }
        }
    }

    /// Waits until no refresh is running.
    func settle(_ ring: SigningKeyRing) async {
        while ring.state.withLock({ $0.refresh != nil }) { await Task.yield() }
    }

    /// Returns the IDs of the keys in the document, in order.
    func published(_ ring: SigningKeyRing) async throws -> [String] {
        let document = try await ring.document()
        await settle(ring)
        return try JWKSet(parsing: document.body).keys.compactMap(\.keyID)
    }

    /// Returns the stored set.
    func stored(_ keys: RecordKeys? = nil) throws -> KeyRingSet {
        let cipher = try (keys ?? RecordKeys(sealing: Self.key)).cipher
        return try KeyRingCoding(cipher: cipher, name: "default").decode(storage.record ?? [])
    }
}

/// A storage in memory that fails as a test demands.
final class ScriptedStorage: ConditionalStorage {
    /// The behavior of a write.
    enum Writing {
        case normal
        /// Writes, but throws.
        case lost
        /// Throws without writing.
        case rejected
        /// Throws, and writes before the next write is handled.
        case late
    }

    private struct State {
        var value: (bytes: [UInt8], version: Int)?
        var versions = 0
        var reads = 0
        var accepted: [[UInt8]] = []
        var isDown = false
        var script: [Writing] = []
        var late: (value: [UInt8], version: String?)?
        var beforeWrite: (@Sendable () async throws -> Void)?
        var whileReading: (@Sendable () async throws -> Void)?

        mutating func write(_ value: [UInt8], over version: String?) -> String? {
            guard self.value.map({ String($0.version) }) == version else { return nil }
            versions += 1
            self.value = (value, versions)
            accepted.append(value)
            return String(versions)
        }
    }

    let maximumSize: Int
    private let state = Mutex(State())

    init(maximumSize: Int = 1 << 20) { self.maximumSize = maximumSize }

    /// The record; setting it acts as a foreign program does.
    var record: [UInt8]? {
        get { state.withLock { $0.value?.bytes } }
        set {
            state.withLock { state in
                state.versions += 1
                let version = state.versions
                state.value = newValue.map { ($0, version) }
            }
        }
    }

    var reads: Int { state.withLock { $0.reads } }
    /// The records that hosts have written.
    var accepted: [[UInt8]] { state.withLock { $0.accepted } }
    var isDown: Bool {
        get { state.withLock { $0.isDown } }
        set { state.withLock { $0.isDown = newValue } }
    }

    func script(_ writes: Writing...) { state.withLock { $0.script = writes } }

    /// Calls a closure before the next write is handled.
    func beforeWrite(_ body: @escaping @Sendable () async throws -> Void) { state.withLock { $0.beforeWrite = body } }

    /// Calls a closure during each reading.
    func whileReading(_ body: (@Sendable () async throws -> Void)?) { state.withLock { $0.whileReading = body } }

    func read(_ name: String) async throws -> (value: [UInt8], version: String)? {
        if let body = state.withLock({ $0.whileReading }) { try await body() }
        return try state.withLock { state in
            state.reads += 1
            guard !state.isDown else { throw Self.outage }
            return state.value.map { ($0.bytes, String($0.version)) }
        }
    }

    func write(_ value: [UInt8], to name: String, over version: String?) async throws -> String? {
        let body = state.withLock { state in
            defer { state.beforeWrite = nil }
            return state.beforeWrite
        }
        try await body?()
        return try state.withLock { state in
            guard !state.isDown else { throw Self.outage }
            if let late = state.late {
                state.late = nil
                _ = state.write(late.value, over: late.version)
            }
            switch state.script.isEmpty ? .normal : state.script.removeFirst() {
            case .normal: return state.write(value, over: version)
            case .lost: _ = state.write(value, over: version)
            case .rejected: break
            case .late: state.late = (value, version)
            }
            throw Self.outage
        }
    }

    func delete(_ name: String, version: String) -> Bool {
        state.withLock { state in
            guard state.value.map({ String($0.version) }) == version else { return false }
            state.value = nil
            return true
        }
    }

    private static let outage = OAuth2Error(.storeUnavailable, "the store is down")
}
