internal import COpenSSL

extension EVPKey {
    /// Creates OpenSSL's representation of a key pair.
    static func make(_ key: PrivateKey) throws(CryptoError) -> EVPKey {
        OpenSSLLibrary.clearErrors()
        let decoded = unsafe try key.pkcs8DER().withBytes { der in
            unsafe der.decoded { unsafe d2i_AutoPrivateKey(nil, $0, $1) }
        }
        return try unsafe decoded.object.map { unsafe EVPKey(takingOwnershipOf: $0) }
            .orThrow(failed: "d2i_AutoPrivateKey", "OpenSSL rejected the \(key.kind) key")
    }

    /// Creates OpenSSL's representation of a public key.
    static func make(_ key: PublicKey) throws(CryptoError) -> EVPKey {
        OpenSSLLibrary.clearErrors()
        let decoded = unsafe key.spkiDER().withBytes { der in unsafe der.decoded { unsafe d2i_PUBKEY(nil, $0, $1) } }
        return try unsafe decoded.object.map { unsafe EVPKey(takingOwnershipOf: $0) }
            .orThrow(failed: "d2i_PUBKEY", "OpenSSL rejected the \(key.kind) key")
    }
}
