import Foundation
import TokenGeneration

/// A key of a ring, with the times of its life by the clocks of hosts, in whole seconds.
struct RingKey: Sendable {
    /// The private key, the only copy of this set in memory.
    let key: SigningKey
    /// The key's ID.
    let id: String
    /// The time at which the key was added to the set.
    let publishedAt: Date
    /// The time from which the key signs, apart from the difference between clocks.
    var activeFrom: Date
    /// The time until which the key may sign.
    var signsUntil: Date
    /// The time until which verifiers need the key.
    var verifiesUntil: Date
}

/// The keys that hosts share.
struct KeyRingSet: Sendable {
    /// The number of the set, which grows with each change.
    let generation: Int
    /// The random text that tells this change from all others.
    let attempt: String
    /// The keys, ordered by the times from which they sign.
    let keys: [RingKey]
    /// The stored form, if the set was read or written; `nil` for one that is about to be.
    var record: [UInt8]?
    /// A Boolean value that indicates whether the set must be encrypted with the current key.
    var needsSealing = false

    init(generation: Int, attempt: String, keys: [RingKey]) {
        self.generation = generation
        self.attempt = attempt
        self.keys = keys.sorted { ($0.activeFrom, $0.id) < ($1.activeFrom, $1.id) }
    }
}
