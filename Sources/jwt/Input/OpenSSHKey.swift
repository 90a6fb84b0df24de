import Foundation
import TokenGeneration

/// Ed25519 keys in the formats of OpenSSH (PROTOCOL.key in its sources), for which it has no
/// conversion, unlike for other keys.
enum OpenSSHKey {
    private static let curve = "ssh-ed25519"
    private static let firstLine = "-----BEGIN OPENSSH PRIVATE KEY-----"
    private static let lastLine = "-----END OPENSSH PRIVATE KEY-----"
    private static let publicTypes = ["ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-"]

    /// Returns a key in PKCS #8 or SPKI ([RFC 8410](https://www.rfc-editor.org/rfc/rfc8410)).
    ///
    /// Returns `nil` for another format, and for a private key that `ssh-keygen` can convert.
    static func der(_ bytes: [UInt8]) throws(TokenError) -> [UInt8]? {
        // Foundation's trimming is a twentieth of the start-up, so skip other formats first.
        let start = bytes.drop(while: \.isBlank)
        let isOpenSSH = ([firstLine] + publicTypes).contains { start.starts(with: $0.utf8) }
        guard isOpenSSH, let text = String(validating: bytes, as: UTF8.self) else { return nil }
        let lines = text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
        guard let first = lines.first(where: { !$0.isEmpty }) else { return nil }
        if first == firstLine { return try privateDER(lines.dropFirst().prefix { $0 != lastLine }.joined()) }
        return publicTypes.contains { first.hasPrefix($0) } ? try publicDER(first) : nil
    }

    private static func publicDER(_ line: String) throws(TokenError) -> [UInt8] {
        let words = line.split(separator: " ")
        guard words[0] == curve else {
            throw TokenError(
                .unsupportedKey,
                "this is a public key of OpenSSH; convert it with “ssh-keygen -e -m PKCS8 -f KEY”"
            )
        }
        var reader = words.count > 1 ? Reader(base64: String(words[1])) : nil
        guard reader?.string() == Array(curve.utf8), let key = reader?.string(), key.count == 32,
            reader?.rest.isEmpty == true
        else { throw damaged }
        return [0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00] + key
    }

    private static func privateDER(_ base64: String) throws(TokenError) -> [UInt8]? {
        guard var reader = Reader(base64: base64), reader.skip(Array("openssh-key-v1\0".utf8)),
            let cipher = reader.string(), reader.string() != nil, reader.string() != nil, reader.number() == 1,
            var key = reader.string().map({ Reader(rest: $0[...]) }), let secret = reader.string()
        else { throw damaged }
        guard key.string() == Array(curve.utf8) else { return nil }
        guard cipher == Array("none".utf8) else {
            throw TokenError(
                .unsupportedKey,
                "encrypted Ed25519 keys of OpenSSH aren't supported; remove the password of a copy with “ssh-keygen -p”"
            )
        }
        var content = Reader(rest: secret[...])
        guard let check = content.number(), content.number() == check, content.string() == Array(curve.utf8),
            let point = content.string(), key.string() == point, let pair = content.string(), pair.count == 64,
            Array(pair.suffix(32)) == point
        else { throw damaged }
        let start: [UInt8] = [
            0x30, 0x2E, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
        ]
        return start + pair.prefix(32)
    }

    private static let damaged = TokenError(.malformedKey, "the key of OpenSSH is damaged")

    /// A reader of the types of [RFC 4251 §5](https://www.rfc-editor.org/rfc/rfc4251#section-5).
    private struct Reader {
        var rest: ArraySlice<UInt8>

        init(rest: ArraySlice<UInt8>) { self.rest = rest }

        init?(base64: String) {
            guard let data = Data(base64Encoded: base64) else { return nil }
            rest = Array(data)[...]
        }

        mutating func skip(_ bytes: [UInt8]) -> Bool {
            guard rest.starts(with: bytes) else { return false }
            rest = rest.dropFirst(bytes.count)
            return true
        }

        mutating func number() -> Int? {
            guard rest.count >= 4 else { return nil }
            defer { rest = rest.dropFirst(4) }
            return rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        }

        mutating func string() -> [UInt8]? {
            guard let count = number(), count <= rest.count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
    }
}
