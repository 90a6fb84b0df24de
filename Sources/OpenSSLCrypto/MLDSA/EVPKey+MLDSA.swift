internal import COpenSSL

extension EVPKey {
    /// Creates a key pair from its seed, which must have the right size.
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
        guard let key else {
            throw CryptoError(failed: "EVP_PKEY_fromdata", "OpenSSL rejected the \(parameters.name) seed")
        }
        return key
    }
}
