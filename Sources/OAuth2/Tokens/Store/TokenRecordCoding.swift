import Foundation
import TokenGeneration

/// The encoding of a record in a store: JSON, encrypted or not.
///
/// A record has the number of its format. Old formats are read, and newer ones are never replaced.
/// A new property that matters for safety needs a new number, because an old version that ignores
/// it would send a token that another host is using.
package struct TokenRecordCoding: Sendable {
    static let format = "swift-authenticated-client/token"
    static let version = 2

    /// The cipher that encrypts records; `nil` for unencrypted text.
    private let cipher: RecordCipher?

    package init(cipher: RecordCipher?) {
        self.cipher = cipher
    }

    /// Decodes a record whose version the store assigns.
    ///
    /// - Throws: ``OAuth2Error`` with the code `storeDamaged`, `storeTooNew` or `storeFailed`.
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
                authenticating: Self.context(key, version: Self.version, revision: revision)
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
            return try decode(text, key: key)
                == VersionedTokenRecord(record: record.record.storable, version: record.version)
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
            let version = file["version"]?.number?.integer, version > 0
        else { throw Self.damaged("it isn't a record of this store, or it was truncated") }
        guard version <= Self.version else {
            throw OAuth2Error(
                .storeTooNew,
                "the stored token was written by a newer version of this package; update this package to use it"
            )
        }
        let revision = file["revision"]?.string
        guard file["key"]?.string == key, (revision != nil) == hasRevision else {
            throw Self.damaged("it belongs to another grant")
        }
        let content = try content(of: file, key: key, version: version, revision: revision)
        guard let record = TokenRecord(content) else {
            throw Self.damaged("a part of it is missing or isn't what it should be")
        }
        return (record, revision ?? "")
    }

    private func content(
        of file: JSONObject,
        key: String,
        version: Int,
        revision: String?
    ) throws(OAuth2Error) -> JSONObject {
        guard let cipher else {
            guard case .object(let content)? = file["record"] else {
                throw Self.damaged("it is encrypted; pass the key that it was written with")
            }
            return content
        }
        guard let sealed = file["sealed"]?.string.flatMap({ Data(base64Encoded: $0) }) else {
            throw Self.damaged("it isn't encrypted, but a key was given")
        }
        let plaintext = try cipher.open(
            Array(sealed),
            keyID: file["sealed_with"]?.string,
            authenticating: Self.context(key, version: version, revision: revision)
        )
        guard let plaintext, let content = try? JSONObject(parsing: Data(plaintext)) else {
            throw Self.damaged("it can't be decrypted: it was modified, or encrypted with another key")
        }
        return content
    }

    /// Returns the data that ties an encrypted record to its grant and version.
    ///
    /// An older copy of the whole file has it, too.
    private static func context(_ key: String, version: Int, revision: String?) -> [UInt8] {
        Array("\(format)\n\(version)\n\(revision ?? "")\n\(key)".utf8)
    }

    private static func damaged(_ reason: String) -> OAuth2Error {
        OAuth2Error(.storeDamaged, "the stored token can't be used: \(reason)")
    }
}
