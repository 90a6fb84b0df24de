import Foundation
import OpenSSLCrypto
import TokenGeneration

/// The encoding of a record in a file: JSON, encrypted or not.
struct TokenRecordCoding: Sendable {
    static let format = "swift-authenticated-client/token"
    static let version = 1

    /// The cipher that encrypts records; `nil` for unencrypted text.
    let cipher: AESGCM?

    func encode(_ record: VersionedTokenRecord, key: String) throws(OAuth2Error) -> [UInt8] {
        let content = Self.content(of: record.record)
        var file: JSONObject = [
            "format": .string(Self.format),
            "version": .number(JSONNumber(Self.version)),
            "key": .string(key),
            "revision": .string(String(record.version)),
        ]
        if let cipher {
            do {
                let sealed = try cipher.seal(
                    Array(content.serialized().utf8),
                    authenticating: Self.context(key, revision: record.version)
                )
                file["sealed"] = .string(Data(sealed).base64EncodedString())
            } catch {
                throw OAuth2Error(.storeFailed, "the record could not be encrypted", cause: error)
            }
        } else {
            file["record"] = .object(content)
        }
        return Array(file.serialized().utf8)
    }

    /// Returns `true` if encoded text decodes to the same record.
    func isReadable(_ text: [UInt8], as record: VersionedTokenRecord, key: String) throws(OAuth2Error) -> Bool {
        var expected = record.record
        // Only the precision that seconds since 1970 keep is compared.
        expected.expiration = expected.expiration.map { Date(timeIntervalSince1970: $0.timeIntervalSince1970) }
        expected.obtained = expected.obtained.map { Date(timeIntervalSince1970: $0.timeIntervalSince1970) }
        do {
            return try decode(text, key: key) == VersionedTokenRecord(record: expected, version: record.version)
        } catch {
            guard error.code == .storeDamaged else { throw error }
            return false
        }
    }

    func decode(_ text: [UInt8], key: String) throws(OAuth2Error) -> VersionedTokenRecord {
        guard let file = try? JSONObject(parsing: Data(text)), file["format"]?.string == Self.format,
            let version = file["version"]?.number?.double
        else { throw Self.damaged("it isn't a record of this store, or it was truncated") }
        guard version <= Double(Self.version) else {
            throw OAuth2Error(
                .storeTooNew,
                "the token file was written by a newer version of this package; update this package to use it"
            )
        }
        guard file["key"]?.string == key, let revision = file["revision"]?.string.flatMap({ Int($0) }) else {
            throw Self.damaged("it belongs to another grant")
        }
        let content = try content(of: file, key: key, revision: revision)
        guard let access = content["access_token"]?.string, let type = content["token_type"]?.string else {
            throw Self.damaged("a part of it is missing")
        }
        let expiration = content["expiration"]?.string
        guard expiration == nil || expiration.flatMap(Double.init)?.isFinite == true else {
            throw Self.damaged("its expiration is not a time")
        }
        let obtained = content["obtained"]?.string
        guard obtained == nil || obtained.flatMap(Double.init)?.isFinite == true else {
            throw Self.damaged("its time of issue is not a time")
        }
        let record = TokenRecord(
            accessToken: Secret(access),
            tokenType: type,
            scope: content["scope"]?.string,
            expiration: expiration.flatMap(Double.init).map(Date.init(timeIntervalSince1970:)),
            refreshToken: content["refresh_token"]?.string.map(Secret.init),
            proofKey: content["proof_key"]?.string.map(Secret.init),
            proofKeyThumbprint: content["proof_key_thumbprint"]?.string,
            refreshAttempt: content["is_being_refreshed"]?.string,
            obtained: obtained.flatMap(Double.init).map(Date.init(timeIntervalSince1970:)),
            isSignedOut: content["signed_out"] != nil
        )
        return VersionedTokenRecord(record: record, version: revision)
    }

    private static func content(of record: TokenRecord) -> JSONObject {
        var content: JSONObject = [
            "access_token": .string(record.accessToken.expose { $0 }),
            "token_type": .string(record.tokenType),
        ]
        content["scope"] = record.scope.map(JSONValue.string)
        content["expiration"] = record.expiration.map { .string(String($0.timeIntervalSince1970)) }
        content["refresh_token"] = record.refreshToken.map { .string($0.expose { $0 }) }
        content["proof_key"] = record.proofKey.map { .string($0.expose { $0 }) }
        content["proof_key_thumbprint"] = record.proofKeyThumbprint.map(JSONValue.string)
        content["obtained"] = record.obtained.map { .string(String($0.timeIntervalSince1970)) }
        if record.isSignedOut { content["signed_out"] = .string("yes") }
        content["is_being_refreshed"] = record.refreshAttempt.map(JSONValue.string)
        return content
    }

    private func content(of file: JSONObject, key: String, revision: Int) throws(OAuth2Error) -> JSONObject {
        guard let cipher else {
            guard case .object(let content)? = file["record"] else {
                throw Self.damaged("it is encrypted; pass the key that it was written with")
            }
            return content
        }
        guard let sealed = file["sealed"]?.string.flatMap({ Data(base64Encoded: $0) }) else {
            throw Self.damaged("it isn't encrypted, but a key was given")
        }
        let plaintext: [UInt8]?
        do { plaintext = try cipher.open(Array(sealed), authenticating: Self.context(key, revision: revision)) } catch {
            throw OAuth2Error(.storeFailed, "the record could not be decrypted", cause: error)
        }
        guard let plaintext, let content = try? JSONObject(parsing: Data(plaintext)) else {
            throw Self.damaged("it can't be decrypted: it was modified, or encrypted with another key")
        }
        return content
    }

    /// Returns the data that ties an encrypted record to its grant and version.
    ///
    /// An older copy of the whole file has it, too.
    private static func context(_ key: String, revision: Int) -> [UInt8] {
        Array("\(format)\n\(version)\n\(revision)\n\(key)".utf8)
    }

    private static func damaged(_ reason: String) -> OAuth2Error {
        OAuth2Error(.storeDamaged, "the token file can't be used: \(reason)")
    }
}
