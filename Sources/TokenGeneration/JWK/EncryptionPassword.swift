internal import OpenSSLCrypto

/// A password that encrypts and decrypts tokens.
///
/// Passwords are easier to guess than keys: an attacker who has a token can try passwords offline.
/// Use a generated password with at least 16 random characters, or a key. The text is used as it
/// is. If people type it, normalize it first
/// ([RFC 8265](https://www.rfc-editor.org/rfc/rfc8265)).
public struct EncryptionPassword: Sendable {
    let bytes: SecretBytes

    /// Creates a password.
    ///
    /// - Parameter text: The password, 1 to 1024 bytes in UTF-8 and not blank.
    /// - Throws: ``TokenError`` with the code `weakKey` if it's empty or blank, or `tooLarge`.
    public init(_ text: String) throws(TokenError) {
        try self.init(bytes: text.utf8)
    }

    /// Creates a password from bytes.
    ///
    /// - Parameter bytes: The password, 1 to 1024 bytes and not blank.
    /// - Throws: ``TokenError`` with the code `weakKey` if it's empty or blank, or `tooLarge`.
    public init(bytes: some Sequence<UInt8>) throws(TokenError) {
        var octets = Array(bytes)
        defer { octets.clear() }
        guard !octets.allSatisfy(\.isBlank) else {
            throw TokenError(.weakKey, "the password is empty or blank; check that its variable is set")
        }
        guard octets.count <= Self.maximumSize else {
            throw TokenError(.tooLarge, "the password has \(octets.count) bytes, but the limit is \(Self.maximumSize)")
        }
        self.bytes = SecretBytes(copying: octets.span.octets)
    }

    private static let maximumSize = 1_024
}

extension EncryptionPassword: Redacted {
    /// A fixed text without the password.
    public var description: String { "EncryptionPassword(not shown)" }
}
