public import Foundation
public import Networking
public import OAuth2
import OpenSSLCrypto
public import TokenGeneration

struct KeyRingStore: Sendable {
    private let storage: any ConditionalStorage
    private let coding: KeyRingCoding
    /// Says nothing about the ring.
    private let name: String

    init(_ storage: any ConditionalStorage, cipher: RecordCipher, name: String) {
        self.storage = storage
        coding = KeyRingCoding(cipher: cipher, name: name)
        self.name = Secret("\(KeyRingCoding.format)\n\(name)").fingerprint.hexadecimal
    }

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

    // Returns `nil` if another host has written. If the store doesn't say, the record is read and
    // compared. The same record may be written again, because only one of the writes can succeed.
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

extension SigningKeyRing {
    /// Creates a ring in a store that hosts share, without reading it yet.
    ///
    /// The ring is one record of the store, encrypted with the store's keys. Use another prefix
    /// than for tokens, so that removing tokens doesn't remove the keys.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - name: The name of the ring, to keep several in one store. The default is `default`.
    ///   - options: The life of the keys.
    ///   - initialKey: The key that signs first, if the store has no ring yet. Pass the key that
    ///     the service has used so far: verifiers know it. Its ID, or else its thumbprint, is the
    ///     `kid`. The default is `nil`, for a new key.
    /// - Throws: `OAuth2Error` with the code `storeFailed` if the options can't work.
    public convenience init<Place>(
        _ store: SealedTokenStore<Place>,
        name: String = "default",
        options: Options = Options(),
        initialKey: SigningKey? = nil
    ) throws(OAuth2Error) {
        try self.init(
            store.storage,
            keys: store.keys,
            name: name,
            options: options,
            initialKey: initialKey,
            timeSource: store.timeSource
        )
    }

    /// Creates a ring in a file that the processes of one machine share, without reading it yet.
    ///
    /// - Parameters:
    ///   - directory: The directory of the file, on a local file system. It's created if needed,
    ///     accessible only to its owner.
    ///   - keys: The keys that encrypt the file.
    ///   - name: The name of the ring, to keep several in one directory. The default is `default`.
    ///   - options: The life of the keys.
    ///   - initialKey: The key that signs first, if there's no ring yet. The default is `nil`, for
    ///     a new key.
    ///   - timeSource: The source of time.
    /// - Throws: `OAuth2Error` with the code `storeFailed` if the options can't work, the directory
    ///   can't be created, or users other than the owner and root could replace its contents.
    public convenience init(
        directory: URL,
        keys: RecordKeys,
        name: String = "default",
        options: Options = Options(),
        initialKey: SigningKey? = nil,
        timeSource: TimeSource = .system
    ) throws(OAuth2Error) {
        guard directory.isFileURL, directory.path.hasPrefix("/") else {
            throw OAuth2Error(.storeFailed, "the ring's directory isn't a file URL")
        }
        try self.init(
            FileStorage(directory: directory.path),
            keys: keys,
            name: name,
            options: options,
            initialKey: initialKey,
            timeSource: timeSource
        )
    }

    /// Creates a ring in memory, for tests and for services of one process whose tokens may end
    /// with it.
    ///
    /// - Parameters:
    ///   - options: The life of the keys.
    ///   - timeSource: The source of time.
    /// - Throws: `OAuth2Error` with the code `storeFailed` if the options can't work.
    public convenience init(options: Options = Options(), timeSource: TimeSource = .system) throws(OAuth2Error) {
        let key = Data(try StoreRandom.bytes(count: 32))
        try self.init(
            MemoryStorage(),
            keys: RecordKeys(sealing: Secret(key.base64EncodedString())),
            options: options,
            timeSource: timeSource
        )
    }
}

/// The encoding of a ring in a store: JSON with an encrypted part.
///
/// The encrypted part is the generation, the attempt and the keys' times as JSON in one line, and
/// then the private keys as DER: no private key becomes a `String`, which couldn't be cleared. It's
/// tied to the ring's name.
struct KeyRingCoding: Sendable {
    static let format = "swift-authenticated-client/signing-keys"
    static let version = 1
    /// The largest record in bytes: 16 keys of any algorithm.
    static let maximumSize = 256 << 10
    private static let maximumIDSize = 256
    /// The last second of the year 9999.
    private static let latest = 253_402_300_799

    private let cipher: RecordCipher
    private let context: [UInt8]

    init(cipher: RecordCipher, name: String) {
        self.cipher = cipher
        context = Array("\(Self.format)\n\(Self.version)\n\(name)".utf8)
    }

    // MARK: Encoding

    func encode(_ set: KeyRingSet) throws(OAuth2Error) -> [UInt8] {
        guard set.keys.count <= KeyRingRules.maximumCount,
            set.keys.allSatisfy({ (1...Self.maximumIDSize).contains($0.id.utf8.count) })
        else { throw OAuth2Error(.storeFailed, "the ring has too many keys, or a key whose ID is too long") }
        var text = try plaintext(set)
        defer { text.clear() }
        let sealed = try cipher.seal(text, authenticating: context)
        let file: JSONObject = [
            "format": .string(Self.format),
            "version": .number(JSONNumber(Self.version)),
            "sealed_with": .string(sealed.keyID),
            "sealed": .string(Data(sealed.bytes).base64EncodedString()),
        ]
        let record = Array(file.serialized().utf8)
        guard record.count <= Self.maximumSize else {
            throw OAuth2Error(.storeFailed, "the ring's record would be too large; use smaller keys")
        }
        return record
    }

    private func plaintext(_ set: KeyRingSet) throws(OAuth2Error) -> [UInt8] {
        var privateKeys: [[UInt8]] = []
        defer { for index in privateKeys.indices { privateKeys[index].clear() } }
        for entry in set.keys {
            do throws(TokenError) {
                var der = try entry.key.der()
                defer { der.resetBytes(in: der.startIndex..<der.endIndex) }
                privateKeys.append(Array(der))
            } catch {
                throw OAuth2Error(.storeFailed, "a signing key can't be exported to the store", cause: error)
            }
        }
        let content: JSONObject = [
            "generation": .number(JSONNumber(set.generation)),
            "attempt": .string(set.attempt),
            "keys": .array(zip(set.keys, privateKeys).map { .object(Self.json($0, size: $1.count)) }),
        ]
        let line = Array(content.serialized().utf8) + [0x0A]
        var text: [UInt8] = []
        // Growing would leave copies of private keys behind.
        text.reserveCapacity(privateKeys.reduce(line.count) { $0 + $1.count })
        text += line
        for key in privateKeys { text += key }
        return text
    }

    private static func json(_ entry: RingKey, size: Int) -> JSONObject {
        [
            "kid": .string(entry.id),
            "alg": .string(entry.key.algorithm.rawValue),
            "published_at": seconds(entry.publishedAt),
            "active_from": seconds(entry.activeFrom),
            "signs_until": seconds(entry.signsUntil),
            "verifies_until": seconds(entry.verifiesUntil),
            "size": .number(JSONNumber(size)),
        ]
    }

    private static func seconds(_ date: Date) -> JSONValue {
        .number(JSONNumber(min(max(Int(clamping: date.timeIntervalSince1970), 0), latest)))
    }

    // MARK: Decoding

    /// Throws `storeDamaged`, `storeTooNew`, or `storeFailed` if this host can't use a key.
    func decode(_ record: [UInt8]) throws(OAuth2Error) -> KeyRingSet {
        guard record.count <= Self.maximumSize, let file = try? JSONObject(parsing: Data(record)),
            file["format"]?.string == Self.format, let version = file["version"]?.number?.integer, version > 0
        else { throw Self.damaged("it isn't a ring, or it was truncated") }
        guard version <= Self.version else {
            throw OAuth2Error(
                .storeTooNew,
                "the signing keys were written by a newer version of this package; update this package to use them"
            )
        }
        guard let sealed = file["sealed"]?.string.flatMap({ Data(base64Encoded: $0) }),
            let keyID = file["sealed_with"]?.string
        else { throw Self.damaged("it isn't encrypted") }
        guard var text = try cipher.open(Array(sealed), keyID: keyID, authenticating: context) else {
            throw Self.damaged("it can't be decrypted: it was modified, encrypted with another key, or is another ring")
        }
        defer { text.clear() }
        guard let end = text.firstIndex(of: 0x0A), let content = try? JSONObject(parsing: Data(text[..<end])),
            let generation = content["generation"]?.number?.integer, generation > 0,
            let attempt = content["attempt"]?.string, let entries = content["keys"]?.array,
            entries.count <= KeyRingRules.maximumCount
        else { throw Self.damaged("a part of it is missing or isn't what it should be") }
        var position = end + 1
        var keys: [RingKey] = []
        for entry in entries { keys.append(try Self.key(entry.object ?? [:], in: text, at: &position)) }
        guard position == text.count, Set(keys.map(\.id)).count == keys.count else {
            throw Self.damaged("its keys aren't those that it lists")
        }
        var set = KeyRingSet(generation: generation, attempt: attempt, keys: keys)
        set.record = record
        set.needsSealing = keyID != cipher.sealingKeyID
        return set
    }

    private static func key(
        _ json: JSONObject,
        in text: [UInt8],
        at position: inout Int
    ) throws(OAuth2Error) -> RingKey {
        guard let id = json["kid"]?.string, (1...maximumIDSize).contains(id.utf8.count),
            let algorithm = json["alg"]?.string.flatMap(JWSAlgorithm.init(rawValue:)), !algorithm.isSymmetric,
            let publishedAt = date(json["published_at"]), let activeFrom = date(json["active_from"]),
            let signsUntil = date(json["signs_until"]), let verifiesUntil = date(json["verifies_until"]),
            activeFrom <= signsUntil, signsUntil <= verifiesUntil,
            let size = json["size"]?.number?.integer, size > 0, size <= text.count - position
        else { throw damaged("the description of a key is incomplete") }
        var privateKey = Array(text[position..<position + size])
        defer { privateKey.clear() }
        position += size
        do throws(TokenError) {
            return RingKey(
                key: try SigningKey(der: privateKey, algorithm: algorithm).identified(by: id),
                id: id,
                publishedAt: publishedAt,
                activeFrom: activeFrom,
                signsUntil: signsUntil,
                verifiesUntil: verifiesUntil
            )
        } catch {
            guard [.unsupportedAlgorithm, .unsupportedKey].contains(error.code) else {
                throw damaged("a private key isn't one for its algorithm")
            }
            throw OAuth2Error(.storeFailed, "this host's OpenSSL can't use a key of the ring; update it", cause: error)
        }
    }

    private static func date(_ value: JSONValue?) -> Date? {
        guard let seconds = value?.number?.integer, (0...latest).contains(seconds) else { return nil }
        return Date(timeIntervalSince1970: TimeInterval(seconds))
    }

    static func damaged(_ reason: String) -> OAuth2Error {
        OAuth2Error(.storeDamaged, "the stored signing keys can't be used: \(reason)")
    }
}
