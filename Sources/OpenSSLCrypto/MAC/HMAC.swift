/// Message authentication codes by HMAC ([RFC 2104](https://www.rfc-editor.org/rfc/rfc2104)) under one key.
///
/// The key is set up once; every code starts from a copy of that state. A value may be used from several threads at
/// once.
package struct HMAC: Sendable {
    private let hash: HashFunction
    private let context: MACContext

    /// Sets up a key.
    ///
    /// OpenSSL itself would take an empty key, under which anyone can make codes.
    ///
    /// - Parameters:
    ///   - hash: SHA-256, SHA-384 or SHA-512.
    ///   - key: The key; at least one octet. Whether it is long enough for a protocol is the caller's to check.
    /// - Throws: ``CryptoError/Code/invalidArgument`` for an empty key or another hash function,
    ///   ``CryptoError/Code/openSSL`` if the library fails.
    package init(_ hash: HashFunction, key: SecretBytes) throws(CryptoError) {
        guard hash.isCollisionResistant else {
            throw CryptoError(.invalidArgument, "HMAC is not offered with \(hash.openSSLName): use SHA-256 or longer")
        }
        guard key.count > 0 else {
            throw CryptoError(.invalidArgument, "The HMAC key is empty: anyone could make codes with it")
        }
        self.hash = hash
        context = try MACContext(hash, key: key)
    }

    /// The size of a code in octets.
    package var size: Int { hash.digestSize }

    /// Computes the code of a message.
    ///
    /// - Parameter message: The message.
    /// - Returns: The whole code, as many octets as the hash has.
    /// - Throws: ``CryptoError/Code/openSSL`` if the library fails.
    package func authenticationCode(for message: RawSpan) throws(CryptoError) -> [UInt8] {
        try context.authenticate(message)
    }

    /// Checks a code, in a time that does not depend on where it differs.
    ///
    /// - Parameters:
    ///   - code: The code to check. A shortened one is not valid.
    ///   - message: The message.
    /// - Returns: Whether the code is the message's; `false` also if the library fails.
    package func isValid(_ code: RawSpan, for message: RawSpan) -> Bool {
        guard code.byteCount == hash.digestSize, let expected = try? context.authenticate(message) else { return false }
        return expected.withBytes { ConstantTime.areEqual(code, $0) }
    }
}
