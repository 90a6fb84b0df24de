internal import COpenSSL

extension EVPKey {
    /// A number of an RSA key, named as in
    /// [RFC 7518 §6.3](https://www.rfc-editor.org/rfc/rfc7518#section-6.3).
    enum RSANumber: Int32 {
        // In the order of RFC 8017 §A.1.2.
        case n, e, d, p, q, dp, dq, qi
    }

    /// Generates an RSA key pair with the public exponent 65537.
    static func generateRSA(bitCount: Int) throws(CryptoError) -> EVPKey {
        try unsafe generate("RSA", "an RSA key of \(bitCount) bits") { context in
            unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context, Int32(bitCount)) == 1
        }
    }

    /// Creates a key pair, or a public key without private numbers, from numbers that the caller
    /// must check: OpenSSL doesn't.
    static func make(_ numbers: RSAPublicNumbers, _ privateNumbers: RSAPrivateNumbers?) throws(CryptoError) -> EVPKey {
        OpenSSLLibrary.prepareAndClearErrors()
        let builder = unsafe OSSL_PARAM_BLD_new()
        defer { unsafe OSSL_PARAM_BLD_free(builder) }
        let selection = privateNumbers == nil ? COpenSSL_selection_public_key() : COpenSSL_selection_keypair()
        func pointer(_ number: BigNumber?) -> OpaquePointer? { unsafe number?.withPointer { unsafe $0 } }
        let isCollected = withExtendedLifetime((numbers, privateNumbers)) {
            unsafe COpenSSL_push_rsa_numbers(
                builder,
                pointer(numbers.n),
                pointer(numbers.e),
                pointer(privateNumbers?.d),
                pointer(privateNumbers?.p),
                pointer(privateNumbers?.q),
                pointer(privateNumbers?.dp),
                pointer(privateNumbers?.dq),
                pointer(privateNumbers?.qi)
            ) == 1
        }
        // The parameters contain copies of the numbers. Because the numbers are marked as secret,
        // freeing the parameters clears the copies.
        let parameters = unsafe isCollected ? OSSL_PARAM_BLD_to_param(builder) : nil
        defer { unsafe OSSL_PARAM_free(parameters) }
        guard unsafe parameters != nil, let key = unsafe make("RSA", selection, parameters) else {
            throw CryptoError(failed: "EVP_PKEY_fromdata", "OpenSSL rejected the RSA key")
        }
        return key
    }

    /// Returns a number of an RSA key.
    func rsaNumber(_ name: RSANumber) throws(CryptoError) -> BigNumber {
        OpenSSLLibrary.clearErrors()
        let number = try BigNumber()
        let isRead = unsafe number.withPointer { number in
            unsafe withPointer { key in
                var target: OpaquePointer? = unsafe number
                return unsafe EVP_PKEY_get_bn_param(key, COpenSSL_rsa_number_name(name.rawValue), &target) == 1
            }
        }
        guard isRead else { throw CryptoError(failed: "EVP_PKEY_get_bn_param", "Can't export the RSA key's \(name)") }
        return number
    }
}
