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
