internal import COpenSSL

extension EVPKey {
    /// Creates a key pair from its seed, which must have the right size.
    static func make(
        _ parameters: MLDSAParameters,
        generatingFrom seed: SecretBytes
    ) throws(CryptoError) -> EVPKey {
        OpenSSLLibrary.prepare()
        OpenSSLLibrary.clearErrors()
        let context = unsafe EVP_PKEY_CTX_new_from_name(nil, parameters.name, nil)
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        let status = seed.withBytes { seed in
            unsafe seed.withUnsafeBytes { seed in
                // The parameter's type isn't const, but OpenSSL only reads it here.
                let octets = unsafe UnsafeMutableRawPointer(mutating: seed.baseAddress)
                var list = unsafe [COpenSSL_seed_param(octets, seed.count), OSSL_PARAM_construct_end()]
                guard unsafe EVP_PKEY_fromdata_init(context) == 1 else { return Int32(0) }
                return unsafe list.withUnsafeMutableBufferPointer { list in
                    unsafe EVP_PKEY_fromdata(context, &key, COpenSSL_selection_keypair(), list.baseAddress)
                }
            }
        }
        guard status == 1, let key = unsafe key else {
            throw CryptoError(failed: "EVP_PKEY_fromdata", "OpenSSL rejected the \(parameters.name) seed")
        }
        return unsafe EVPKey(takingOwnershipOf: key)
    }

    /// Returns the expanded private key.
    func expandedOctets(of parameters: MLDSAParameters) throws(CryptoError) -> SecretBytes {
        OpenSSLLibrary.clearErrors()
        return try SecretBytes(capacity: parameters.expandedKeySize) { output throws(CryptoError) in
            let isRead = unsafe write(parameters.expandedKeySize, to: &output) {
                unsafe EVP_PKEY_get_raw_private_key($0, $1, $2)
            }
            guard isRead else {
                throw CryptoError(failed: "EVP_PKEY_get_raw_private_key", "Can't export the expanded key")
            }
        }
    }
}
