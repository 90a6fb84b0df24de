/// Message authentication with HMAC ([RFC 2104](https://www.rfc-editor.org/rfc/rfc2104)) and a
/// fixed key.
///
/// The key is processed once; each computation starts from a copy of that state.
package struct HMAC: Sendable {
    private let hash: HashFunction
    private let context: MACContext
    /// The size of the key, as ``keySize(of:)`` counts it.
    package let keySize: Int

    /// Creates an authenticator with SHA-256, SHA-384 or SHA-512, and a key of at least one byte;
    /// the caller must check the minimum that a protocol requires.
    ///
    /// An empty key, with which anyone could compute codes, is an `invalidArgument`. OpenSSL would
    /// accept it.
    package init(_ hash: HashFunction, key: SecretBytes) throws(CryptoError) {
        guard hash.isCollisionResistant else {
            throw CryptoError(.invalidArgument, "HMAC with \(hash.openSSLName) isn't supported; use SHA-256 or longer")
        }
        guard key.count > 0 else {
            throw CryptoError(.invalidArgument, "The HMAC key is empty, so anyone could compute codes")
        }
        self.hash = hash
        keySize = key.withBytes { Self.keySize(of: $0) }
        context = try MACContext(hash, key: key)
    }

    /// Returns the size of a key in bytes, without its trailing zeros if there are more than four.
    ///
    /// HMAC pads a key with zeros up to its block size
    /// ([RFC 2104 §2](https://www.rfc-editor.org/rfc/rfc2104#section-2)), so a key makes the same
    /// codes with and without them. Up to four count, because random keys end with zeros, too.
    package static func keySize(of key: RawSpan) -> Int {
        var size = key.byteCount
        while size > 0, key[size - 1] == 0 { size -= 1 }
        return key.byteCount - size > 4 ? size : key.byteCount
    }

    /// Returns the complete authentication code of a message, as long as the digest.
    package func authenticationCode(for message: RawSpan) throws(CryptoError) -> [UInt8] {
        try context.authenticate(message)
    }

    /// Returns whether a code is valid for a message, in constant time; `false` also for a
    /// truncated code, or if OpenSSL fails.
    package func isValid(_ code: RawSpan, for message: RawSpan) -> Bool {
        guard code.byteCount == hash.digestSize, let expected = try? context.authenticate(message) else { return false }
        return expected.withBytes { ConstantTime.areEqual(code, $0) }
    }
}
