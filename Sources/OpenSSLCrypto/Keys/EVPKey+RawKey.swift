internal import COpenSSL

extension EVPKey {
    /// Generates a key pair.
    static func generate(_ curve: some RawKeyCurve) throws(CryptoError) -> EVPKey {
        try unsafe generate(curve.name, "a \(curve.name) key")
    }

    /// Creates a key pair from its private key bytes, which must have the curve's size.
    static func make(_ curve: some RawKeyCurve, seed: SecretBytes) throws(CryptoError) -> EVPKey {
        OpenSSLLibrary.prepareAndClearErrors()
        let key = unsafe seed.withOctets { seed in
            unsafe EVP_PKEY_new_raw_private_key_ex(nil, curve.name, nil, seed.baseAddress, seed.count)
        }
        return try unsafe key.map { unsafe EVPKey(takingOwnershipOf: $0) }
            .orThrow(failed: "EVP_PKEY_new_raw_private_key_ex", "OpenSSL rejected the \(curve.name) key")
    }

    /// Creates an ML-DSA key pair from its seed, which must have the right size.
    static func make(
        _ parameters: MLDSAParameters,
        generatingFrom seed: SecretBytes
    ) throws(CryptoError) -> EVPKey {
        let key = unsafe seed.withOctets { seed in
            // The parameter's type isn't const, but OpenSSL only reads it here.
            let octets = unsafe UnsafeMutableRawPointer(mutating: seed.baseAddress)
            var list = unsafe [COpenSSL_seed_param(octets, seed.count), OSSL_PARAM_construct_end()]
            return unsafe make(parameters.name, COpenSSL_selection_keypair(), &list)
        }
        return try key.orThrow(failed: "EVP_PKEY_fromdata", "OpenSSL rejected the \(parameters.name) seed")
    }

    /// Creates a public key from its bytes, which the caller must check: OpenSSL doesn't.
    static func make(_ curve: some RawKeyCurve, point: [UInt8]) throws(CryptoError) -> EVPKey {
        OpenSSLLibrary.prepareAndClearErrors()
        guard let key = unsafe EVP_PKEY_new_raw_public_key_ex(nil, curve.name, nil, point, point.count) else {
            throw CryptoError(failed: "EVP_PKEY_new_raw_public_key_ex", "OpenSSL rejected the \(curve.name) key")
        }
        return unsafe EVPKey(takingOwnershipOf: key)
    }

    /// Returns the public key bytes.
    func publicOctets(on curve: some RawKeyCurve) throws(CryptoError) -> [UInt8] {
        OpenSSLLibrary.clearErrors()
        let octets = unsafe [UInt8](maximumSize: curve.keySize) { buffer, size in
            unsafe withPointer { unsafe EVP_PKEY_get_raw_public_key($0, buffer, &size) } == 1 && size == curve.keySize
        }
        return try octets.orThrow(failed: "EVP_PKEY_get_raw_public_key", "Can't export the public key")
    }

    /// Returns the private key bytes.
    func privateOctets(size expectedSize: Int) throws(CryptoError) -> SecretBytes {
        OpenSSLLibrary.clearErrors()
        let seed = unsafe SecretBytes(maximumSize: expectedSize) { buffer, size in
            unsafe withPointer { unsafe EVP_PKEY_get_raw_private_key($0, buffer, &size) } == 1 && size == expectedSize
        }
        return try seed.orThrow(failed: "EVP_PKEY_get_raw_private_key", "Can't export the private key")
    }
}
