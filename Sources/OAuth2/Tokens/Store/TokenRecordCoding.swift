import Foundation
import OpenSSLCrypto
import TokenGeneration

/// The encoding of a record in a store: JSON, encrypted or not.
///
/// A record has the number of its format, and newer ones are never replaced. A new property that
/// matters for safety needs a new number, because an old version that ignores it would send a token
/// that another host is using.
package struct TokenRecordCoding: Sendable {
    static let format = "swift-authenticated-client/token"
    static let version = 2

    private let cipher: RecordCipher?

    package init(cipher: RecordCipher?) {
        self.cipher = cipher
    }

    /// Decodes a record whose version the store assigns.
    package func decodeRecord(_ text: [UInt8], key: String) throws(OAuth2Error) -> TokenRecord {
        try decode(text, key: key, hasRevision: false).record
    }

    func decode(_ text: [UInt8], key: String) throws(OAuth2Error) -> VersionedTokenRecord {
        let (record, revision) = try decode(text, key: key, hasRevision: true)
        return VersionedTokenRecord(record: record, version: TokenRecordVersion(revision))
    }

    /// Encodes a record with its version, unless the store assigns that.
    package func encode(
        _ record: TokenRecord,
        version: TokenRecordVersion? = nil,
        key: String
    ) throws(OAuth2Error) -> [UInt8] {
        let content = record.content
        let revision = version?.description
        var file: JSONObject = [
            "format": .string(Self.format),
            "version": .number(JSONNumber(Self.version)),
            "key": .string(key),
        ]
        file["revision"] = revision.map(JSONValue.string)
        if let cipher {
            let sealed = try cipher.seal(
                Array(content.serialized().utf8),
                authenticating: Self.context(key, revision: revision)
            )
            file["sealed_with"] = .string(sealed.keyID)
            file["sealed"] = .string(Data(sealed.bytes).base64EncodedString())
        } else {
            file["record"] = .object(content)
        }
        return Array(file.serialized().utf8)
    }

    /// Returns `true` if encoded text decodes to the same record.
    func isReadable(_ text: [UInt8], as record: VersionedTokenRecord, key: String) throws(OAuth2Error) -> Bool {
        do {
            let decoded = try decode(text, key: key)
            // Dates and durations lose precision in the record's content.
            return decoded.record == TokenRecord(record.record.content) && decoded.version == record.version
        } catch {
            guard error.code == .storeDamaged else { throw error }
            return false
        }
    }

    private func decode(
        _ text: [UInt8],
        key: String,
        hasRevision: Bool
    ) throws(OAuth2Error) -> (record: TokenRecord, revision: String) {
        guard let file = try? JSONObject(parsing: Data(text)), file["format"]?.string == Self.format,
            let version = file["version"]?.number?.integer, version >= Self.version
        else { throw Self.damaged("it isn't a record of this store, or it was truncated") }
        guard version == Self.version else {
            throw OAuth2Error(
                .storeTooNew,
                "the stored token was written by a newer version of this package; update this package to use it"
            )
        }
        let revision = file["revision"]?.string
        guard file["key"]?.string == key, (revision != nil) == hasRevision else {
            throw Self.damaged("it belongs to another grant")
        }
        let content = try content(of: file, key: key, revision: revision)
        guard let record = TokenRecord(content) else {
            throw Self.damaged("a part of it is missing or isn't what it should be")
        }
        return (record, revision ?? "")
    }

    private func content(of file: JSONObject, key: String, revision: String?) throws(OAuth2Error) -> JSONObject {
        guard let cipher else {
            guard case .object(let content)? = file["record"] else {
                throw Self.damaged("it is encrypted; pass the key that it was written with")
            }
            return content
        }
        guard let sealed = file["sealed"]?.string.flatMap({ Data(base64Encoded: $0) }),
            let keyID = file["sealed_with"]?.string
        else { throw Self.damaged("it isn't encrypted, but a key was given") }
        let plaintext = try cipher.open(
            Array(sealed),
            keyID: keyID,
            authenticating: Self.context(key, revision: revision)
        )
        guard let plaintext, let content = try? JSONObject(parsing: Data(plaintext)) else {
            throw Self.damaged("it can't be decrypted: it was modified, or encrypted with another key")
        }
        return content
    }

    /// Ties an encrypted record to its grant and version; an older copy of the whole file has it,
    /// too.
    private static func context(_ key: String, revision: String?) -> [UInt8] {
        Array("\(format)\n\(version)\n\(revision ?? "")\n\(key)".utf8)
    }

    private static func damaged(_ reason: String) -> OAuth2Error {
        OAuth2Error(.storeDamaged, "the stored token can't be used: \(reason)")
    }
}

extension TokenRecord {
    /// The longest time that a stored attempt or pause is respected.
    static let longestWait = Duration.seconds(3_600)

    var content: JSONObject {
        var content: JSONObject = [
            "access_token": .string(accessToken.expose { $0 }),
            "token_type": .string(tokenType),
            "generation": .number(JSONNumber(generation)),
        ]
        content["scope"] = scope.map(JSONValue.string)
        content["expiration"] = expiration.map(Self.text)
        content["refresh_token"] = refreshToken.map { .string($0.expose { $0 }) }
        content["proof_key"] = proofKey.map { .string($0.expose { $0 }) }
        content["proof_key_thumbprint"] = proofKeyThumbprint.map(JSONValue.string)
        content["obtained"] = obtained.map(Self.text)
        content["end"] = end.map { .string($0.rawValue) }
        content["epoch"] = epoch.map(JSONValue.string)
        content["pause"] = pause.map {
            .object(["seconds": .string(String($0.duration / .seconds(1))), "end": Self.text($0.end)])
        }
        content["attempt"] = refreshAttempt.map { attempt in
            var object: JSONObject = [
                "id": .string(attempt.id),
                "valid_for": .string(String(attempt.validFor / .seconds(1))),
                "tries": .number(JSONNumber(attempt.tries)),
                "earlier": .array(attempt.earlier.map(JSONValue.string)),
            ]
            object["host"] = attempt.host.map(JSONValue.string)
            object["date"] = attempt.date.map(Self.text)
            return .object(object)
        }
        return content
    }

    /// Returns `nil` if a part is missing or invalid.
    init?(_ content: JSONObject) {
        guard let access = content["access_token"]?.string, let type = content["token_type"]?.string else {
            return nil
        }
        self.init(accessToken: Secret(access), tokenType: type)
        scope = content["scope"]?.string
        refreshToken = content["refresh_token"]?.string.map(Secret.init)
        proofKey = content["proof_key"]?.string.map(Secret.init)
        proofKeyThumbprint = content["proof_key_thumbprint"]?.string
        epoch = content["epoch"]?.string
        if let value = content["generation"] {
            guard let number = value.number?.integer, number >= 0 else { return nil }
            generation = number
        }
        do {
            expiration = try Self.date(content["expiration"])
            obtained = try Self.date(content["obtained"])
            refreshAttempt = try content["attempt"].map(RefreshAttempt.init)
            pause = try content["pause"].map(RefreshPause.init)
        } catch { return nil }
        if let value = content["end"] {
            guard let reason = value.string.flatMap(GrantEnd.init(rawValue:)) else { return nil }
            end = reason
        }
    }

    fileprivate struct Malformed: Error {}

    fileprivate static func text(_ date: Date) -> JSONValue { .string(String(date.timeIntervalSince1970)) }

    fileprivate static func date(_ value: JSONValue?) throws -> Date? {
        guard let value else { return nil }
        guard let seconds = value.string.flatMap(Double.init), seconds.isFinite else { throw Malformed() }
        return Date(clampingSecondsSince1970: seconds)
    }

    /// Limits a time span to ``longestWait``, so that a foreign record can't stop a client.
    fileprivate static func duration(_ value: JSONValue?) throws -> Duration {
        guard let seconds = value?.string.flatMap(Double.init), seconds.isFinite, seconds >= 0 else {
            throw Malformed()
        }
        return min(Duration(clampingSeconds: seconds), longestWait)
    }
}

extension RefreshAttempt {
    fileprivate init(_ value: JSONValue) throws {
        guard let object = value.object, let id = object["id"]?.string,
            let tries = object["tries"]?.number?.integer, tries >= 1,
            let earlier = object["earlier"]?.array
        else { throw TokenRecord.Malformed() }
        self.init(
            id: id,
            host: object["host"]?.string,
            date: try TokenRecord.date(object["date"]),
            validFor: try TokenRecord.duration(object["valid_for"]),
            tries: tries,
            earlier: earlier.suffix(Self.earlierLimit).compactMap(\.string)
        )
    }
}

extension RefreshPause {
    fileprivate init(_ value: JSONValue) throws {
        guard let end = try TokenRecord.date(value.object?["end"]) else { throw TokenRecord.Malformed() }
        self.init(duration: try TokenRecord.duration(value.object?["seconds"]), end: end)
    }
}

/// The encryption of stored records: one key that seals, and others that still open.
///
/// To replace a key, first let all processes open with the new one, then let them seal with it, and
/// remove the old one when every record has been written again.
package struct RecordCipher: Sendable {
    package struct Sealed: Sendable {
        package let keyID: String
        /// The nonce, the ciphertext and the tag.
        package let bytes: [UInt8]
    }

    private let sealing: (id: String, cipher: AESGCM)
    private let opening: [String: AESGCM]

    /// Creates a cipher with keys of 32 bytes as base64 or base64url text.
    package init(sealingKey: Secret, openingKeys: [Secret] = []) throws(OAuth2Error) {
        sealing = try Self.cipher(sealingKey)
        var opening = [sealing.id: sealing.cipher]
        for key in openingKeys {
            let (id, cipher) = try Self.cipher(key)
            opening[id] = cipher
        }
        self.opening = opening
    }

    package var sealingKeyID: String { sealing.id }

    package func seal(_ text: [UInt8], authenticating context: [UInt8]) throws(OAuth2Error) -> Sealed {
        do {
            return Sealed(keyID: sealing.id, bytes: try sealing.cipher.seal(text, authenticating: context))
        } catch {
            throw OAuth2Error(.storeFailed, "the record could not be encrypted", cause: error)
        }
    }

    /// Returns `nil` if the text was modified, or sealed with a key that isn't available.
    package func open(
        _ bytes: [UInt8],
        keyID: String,
        authenticating context: [UInt8]
    ) throws(OAuth2Error) -> [UInt8]? {
        do {
            return try opening[keyID]?.open(bytes, authenticating: context)
        } catch {
            throw OAuth2Error(.storeFailed, "the record could not be decrypted", cause: error)
        }
    }

    /// Decodes a key of base64 or base64url text; another text gives no or other bytes than 32.
    package static func octets(of key: Secret) -> [UInt8] {
        key.expose { text in
            let base64 = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
                .trimmingCharacters(in: CharacterSet(charactersIn: "= \n"))
            let padding = String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
            return [UInt8](Data(base64Encoded: base64 + padding) ?? Data())
        }
    }

    private static func cipher(_ key: Secret) throws(OAuth2Error) -> (id: String, cipher: AESGCM) {
        var bytes = octets(of: key)
        defer { bytes.clear() }
        do {
            let cipher = try AESGCM(key: bytes.withBytes { SecretBytes(copying: $0) })
            // A digest of a random key doesn't help to find it.
            let text = "swift-authenticated-client/key\n" + Data(bytes).base64EncodedString()
            let id = Secret(text).fingerprint.prefix(8)
            return (Array(id).hexadecimal, cipher)
        } catch {
            throw OAuth2Error(
                .storeFailed,
                "the encryption key isn't 32 bytes in base64; create one with `openssl rand -base64 32`",
                cause: error
            )
        }
    }
}
