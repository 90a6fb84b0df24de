import COpenSSL

/// Calls of OpenSSL with its defaults, as a typical program would make them, to demonstrate the
/// pitfalls.
enum BareOpenSSL {
    /// Returns whether OpenSSL accepts a PSS signature with SHA-256 if the salt length isn't set.
    static func acceptsPSS(_ signature: [UInt8], for digest: [UInt8], spki: [UInt8]) -> Bool {
        guard let key = unsafe publicKey(spki) else { return false }
        defer { unsafe EVP_PKEY_free(key) }
        let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key, nil)
        defer { unsafe EVP_PKEY_CTX_free(context) }
        guard
            unsafe EVP_PKEY_verify_init(context) == 1,
            unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1,
            unsafe EVP_PKEY_CTX_set_signature_md(context, EVP_sha256()) == 1
        else { return false }
        defer { ERR_clear_error() }
        return unsafe EVP_PKEY_verify(context, signature, signature.count, digest, digest.count) == 1
    }

    /// Returns the signature for a padded hash with arbitrary contents.
    static func signature(of block: [UInt8], pkcs8: [UInt8]) -> [UInt8]? {
        let key = unsafe pkcs8.withUnsafeBufferPointer { der in
            var start = der.baseAddress
            return unsafe d2i_AutoPrivateKey(nil, &start, der.count)
        }
        defer { unsafe EVP_PKEY_free(key) }
        let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key, nil)
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var signature = [UInt8](repeating: 0, count: block.count)
        var size = signature.count
        guard
            unsafe EVP_PKEY_sign_init(context) == 1,
            unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_NO_PADDING) == 1,
            unsafe EVP_PKEY_sign(context, &signature, &size, block, block.count) == 1
        else { return nil }
        return signature
    }

    /// Returns whether OpenSSL creates a P-256 key from a point and a scalar.
    static func acceptsP256(point: [UInt8], scalar: [UInt8]) -> Bool {
        var name = Array("prime256v1".utf8CString)
        var point = point
        var scalar = Array(scalar.reversed())
        let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        defer { unsafe EVP_PKEY_free(key) }
        return unsafe name.withUnsafeMutableBufferPointer { name in
            unsafe point.withUnsafeMutableBufferPointer { point in
                unsafe scalar.withUnsafeMutableBufferPointer { scalar in
                    var parameters = unsafe [
                        COpenSSL_group_name_param(name.baseAddress),
                        COpenSSL_public_key_param(point.baseAddress, point.count),
                        COpenSSL_private_key_param(scalar.baseAddress, scalar.count),
                        OSSL_PARAM_construct_end(),
                    ]
                    guard unsafe EVP_PKEY_fromdata_init(context) == 1 else { return false }
                    return unsafe EVP_PKEY_fromdata(context, &key, COpenSSL_selection_keypair(), &parameters) == 1
                }
            }
        }
    }

    /// Returns whether OpenSSL creates an RSA key from the numbers.
    static func acceptsRSA(_ numbers: RSATestKeyNumbers) -> Bool {
        let octets = [
            numbers.n, numbers.e, numbers.d, numbers.p, numbers.q, numbers.dp, numbers.dq, numbers.qi,
        ]
        let values = unsafe octets.map { (number: [UInt8]) in unsafe BN_bin2bn(number, Int32(number.count), nil) }
        defer {
            for index in octets.indices {
                unsafe BN_free(values[index])
            }
        }
        let builder = unsafe OSSL_PARAM_BLD_new()
        defer { unsafe OSSL_PARAM_BLD_free(builder) }
        let isCollected = unsafe COpenSSL_push_rsa_numbers(
            builder,
            values[0],
            values[1],
            values[2],
            values[3],
            values[4],
            values[5],
            values[6],
            values[7]
        )
        guard isCollected == 1 else { return false }
        let parameters = unsafe OSSL_PARAM_BLD_to_param(builder)
        defer { unsafe OSSL_PARAM_free(parameters) }
        let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "RSA", nil)
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        defer { unsafe EVP_PKEY_free(key) }
        defer { ERR_clear_error() }
        return unsafe EVP_PKEY_fromdata_init(context) == 1
            && EVP_PKEY_fromdata(context, &key, COpenSSL_selection_keypair(), parameters) == 1
    }

    /// Returns whether OpenSSL accepts an EdDSA signature under a public key given as bytes.
    static func acceptsEdDSA(_ signature: [UInt8], for message: [UInt8], _ curve: String, octets: [UInt8]) -> Bool {
        guard let key = unsafe EVP_PKEY_new_raw_public_key_ex(nil, curve, nil, octets, octets.count) else {
            return false
        }
        defer { unsafe EVP_PKEY_free(key) }
        let context = unsafe EVP_MD_CTX_new()
        defer { unsafe EVP_MD_CTX_free(context) }
        defer { ERR_clear_error() }
        return unsafe EVP_DigestVerifyInit_ex(context, nil, nil, nil, nil, key, nil) == 1
            && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }

    /// Returns how many of two signatures succeed with one context.
    static func signatureCount(reusingContextFor curve: String, seed: [UInt8]) -> Int {
        let key = unsafe EVP_PKEY_new_raw_private_key_ex(nil, curve, nil, seed, seed.count)
        defer { unsafe EVP_PKEY_free(key) }
        let context = unsafe EVP_MD_CTX_new()
        defer { unsafe EVP_MD_CTX_free(context) }
        defer { ERR_clear_error() }
        guard unsafe EVP_DigestSignInit_ex(context, nil, nil, nil, nil, key, nil) == 1 else { return 0 }
        return (0..<2).count { _ in
            var signature = [UInt8](repeating: 0, count: 200)
            var size = signature.count
            return unsafe EVP_DigestSign(context, &signature, &size, [1], 1) == 1
        }
    }

    /// Returns OpenSSL's authentication code under an empty key.
    static func codeUnderEmptyKey(for message: [UInt8]) -> [UInt8]? {
        var code = [UInt8](repeating: 0, count: 32)
        var size: UInt32 = 0
        let result = unsafe HMAC(EVP_sha256(), [0], 0, message, message.count, &code, &size)
        return unsafe result == nil ? nil : code
    }

    private static func publicKey(_ spki: [UInt8]) -> OpaquePointer? {
        unsafe spki.withUnsafeBufferPointer { der in
            var start = der.baseAddress
            return unsafe d2i_PUBKEY(nil, &start, der.count)
        }
    }
}
