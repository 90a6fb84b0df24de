import OAuth2

/// The stored set of a ring.
struct KeyRingStore: Sendable {
    private let storage: any ConditionalStorage
    private let coding: KeyRingCoding
    /// The name of the record, which says nothing about the ring.
    private let name: String

    init(_ storage: any ConditionalStorage, cipher: RecordCipher, name: String) {
        self.storage = storage
        coding = KeyRingCoding(cipher: cipher, name: name)
        self.name = Secret("\(KeyRingCoding.format)\n\(name)").fingerprint.hexadecimal
    }

    /// Reads the set and its version; `nil` if there's none.
    ///
    /// A set that is older than the one that this process knows is damaged.
    func read(after known: KeyRingSet?) async throws -> (set: KeyRingSet, version: String)? {
        guard let (value, version) = try await storage.read(name) else { return nil }
        // The same record needs no second copy of its private keys.
        if let known, known.record == value { return (known, version) }
        let set = try coding.decode(value)
        if let known {
            let isOlder = set.generation < known.generation
            guard !isOlder, set.generation > known.generation || set.attempt == known.attempt else {
                throw KeyRingCoding.damaged(
                    "it's older than the one that this process knows; remove it, so that a running host puts that back"
                )
            }
        }
        return (set, version)
    }

    /// Writes a set over a version, or creates it if the version is `nil`; returns `nil` if another
    /// host has written.
    ///
    /// If the store doesn't say what has become of it, the record is read and compared. The same
    /// record may be written again, because only one of the writes can succeed.
    func write(_ set: KeyRingSet, over version: String?) async throws -> KeyRingSet? {
        let value = try coding.encode(set)
        var written = set
        written.record = value
        guard value.count <= storage.maximumSize else {
            throw OAuth2Error(.storeFailed, "the signing keys are larger than a record of the store may be")
        }
        var failure: (any Error)?
        for _ in 1...2 {
            do {
                if try await storage.write(value, to: name, over: version) != nil { return written }
                guard failure != nil else { return nil }
            } catch {
                failure = error
            }
            let found = try await storage.read(name)
            // The encryption makes each record unique, as an attempt's identifier does.
            if found?.value == value { return written }
            guard found?.version == version else { return nil }
        }
        throw failure ?? OAuth2Error(.storeUnavailable, "the store didn't write the signing keys")
    }
}
