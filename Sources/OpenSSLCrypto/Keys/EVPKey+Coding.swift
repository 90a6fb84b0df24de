internal import COpenSSL

extension EVPKey {
    /// Creates OpenSSL's representation of a key pair.
    static func make(_ key: PrivateKey) throws(CryptoError) -> EVPKey {
        OpenSSLLibrary.clearErrors()
        let pointer = unsafe try key.pkcs8DER().withBytes { der in
            unsafe der.withUnsafeBytes { der in
                var start = unsafe der.baseAddress?.assumingMemoryBound(to: UInt8.self)
                return unsafe d2i_AutoPrivateKey(nil, &start, der.count)
            }
        }
        guard let pointer = unsafe pointer else {
            throw CryptoError(failed: "d2i_AutoPrivateKey", "OpenSSL rejected the \(key.kind) key")
        }
        return unsafe EVPKey(takingOwnershipOf: pointer)
    }

    /// Creates OpenSSL's representation of a public key.
    static func make(_ key: PublicKey) throws(CryptoError) -> EVPKey {
        OpenSSLLibrary.clearErrors()
        let pointer = unsafe key.spkiDER().withBytes { der in
            unsafe der.withUnsafeBytes { der in
                var start = unsafe der.baseAddress?.assumingMemoryBound(to: UInt8.self)
                return unsafe d2i_PUBKEY(nil, &start, der.count)
            }
        }
        guard let pointer = unsafe pointer else {
            throw CryptoError(failed: "d2i_PUBKEY", "OpenSSL rejected the \(key.kind) key")
        }
        return unsafe EVPKey(takingOwnershipOf: pointer)
    }
}
