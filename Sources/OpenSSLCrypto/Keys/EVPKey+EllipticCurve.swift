internal import COpenSSL

extension EVPKey {
    /// Generates a key pair.
    static func generate(_ curve: EllipticCurve) throws(CryptoError) -> EVPKey {
        OpenSSLLibrary.prepare()
        OpenSSLLibrary.clearErrors()
        let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard
            unsafe EVP_PKEY_keygen_init(context) == 1,
            unsafe EVP_PKEY_CTX_set_group_name(context, curve.openSSLName) == 1,
            unsafe EVP_PKEY_generate(context, &key) == 1,
            let key = unsafe key
        else { throw CryptoError(failed: "EVP_PKEY_generate", "Can't generate a \(curve.name) key") }
        return unsafe EVPKey(takingOwnershipOf: key)
    }

    /// Creates a key pair, or a public key without `scalar`, from parts that the caller must check
    /// for consistency: OpenSSL doesn't.
    ///
    /// The scalar is big-endian.
    static func make(
        _ curve: EllipticCurve,
        point: CurvePoint,
        scalar: SecretBytes?
    ) throws(CryptoError) -> EVPKey {
        OpenSSLLibrary.prepare()
        OpenSSLLibrary.clearErrors()
        let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var groupName = Array(curve.openSSLName.utf8CString)
        var encodedPoint = point.uncompressed
        let reversedScalar = scalar?.reversed()
        let selection = scalar == nil ? COpenSSL_selection_public_key() : COpenSSL_selection_keypair()
        var key: OpaquePointer?
        let status = unsafe groupName.withUnsafeMutableBufferPointer { groupName in
            unsafe encodedPoint.withUnsafeMutableBytes { point in
                func makeKey(_ scalar: UnsafeRawBufferPointer?) -> Int32 {
                    var parameters = unsafe [
                        COpenSSL_group_name_param(groupName.baseAddress),
                        COpenSSL_public_key_param(point.baseAddress, point.count),
                    ]
                    if let scalar = unsafe scalar {
                        // The parameter's type isn't const, but OpenSSL only reads it here.
                        let octets = unsafe UnsafeMutableRawPointer(mutating: scalar.baseAddress)
                        unsafe parameters.append(
                            COpenSSL_private_key_param(octets?.assumingMemoryBound(to: UInt8.self), scalar.count)
                        )
                    }
                    unsafe parameters.append(OSSL_PARAM_construct_end())
                    guard unsafe EVP_PKEY_fromdata_init(context) == 1 else { return 0 }
                    return unsafe parameters.withUnsafeMutableBufferPointer { parameters in
                        unsafe EVP_PKEY_fromdata(context, &key, selection, parameters.baseAddress)
                    }
                }
                guard let reversedScalar else { return makeKey(nil) }
                return reversedScalar.withBytes { scalar in
                    unsafe scalar.withUnsafeBytes { unsafe makeKey($0) }
                }
            }
        }
        guard status == 1, let key = unsafe key else {
            throw CryptoError(failed: "EVP_PKEY_fromdata", "OpenSSL rejected the \(curve.name) key")
        }
        return unsafe EVPKey(takingOwnershipOf: key)
    }

    /// Returns the public point.
    func point(on curve: EllipticCurve) throws(CryptoError) -> CurvePoint {
        OpenSSLLibrary.clearErrors()
        var octets = [UInt8](repeating: 0, count: 1 + 2 * curve.coordinateSize)
        var size = 0
        let status = unsafe withPointer { key in
            unsafe octets.withUnsafeMutableBufferPointer { buffer in
                unsafe EVP_PKEY_get_octet_string_param(
                    key,
                    OSSL_PKEY_PARAM_PUB_KEY,
                    buffer.baseAddress,
                    buffer.count,
                    &size
                )
            }
        }
        guard status == 1, size == octets.count, octets.first == CurvePoint.uncompressedForm else {
            throw CryptoError(failed: "EVP_PKEY_get_octet_string_param", "Can't export the public point")
        }
        return CurvePoint(uncompressed: octets)
    }

    /// Returns the private scalar, big-endian and padded to the curve's coordinate size.
    func scalar(on curve: EllipticCurve) throws(CryptoError) -> SecretBytes {
        OpenSSLLibrary.clearErrors()
        var number: OpaquePointer?
        let status = unsafe withPointer { unsafe EVP_PKEY_get_bn_param($0, OSSL_PKEY_PARAM_PRIV_KEY, &number) }
        defer { unsafe BN_clear_free(number) }
        guard status == 1 else {
            throw CryptoError(failed: "EVP_PKEY_get_bn_param", "Can't export the private scalar")
        }
        let size = curve.coordinateSize
        return try SecretBytes(capacity: size) { output throws(CryptoError) in
            let isWritten = unsafe output.withUnsafeMutableBufferPointer { buffer, initializedCount in
                guard unsafe BN_bn2binpad(number, buffer.baseAddress, Int32(size)) == Int32(size) else { return false }
                initializedCount = size
                return true
            }
            guard isWritten else { throw CryptoError(failed: "BN_bn2binpad", "Can't export the private scalar") }
        }
    }
}

extension SecretBytes {
    /// Returns the bytes in reverse order.
    fileprivate func reversed() -> SecretBytes {
        withBytes { bytes in
            SecretBytes(capacity: bytes.byteCount) { output in
                for offset in bytes.byteOffsets.reversed() {
                    output.append(bytes[offset])
                }
            }
        }
    }
}
