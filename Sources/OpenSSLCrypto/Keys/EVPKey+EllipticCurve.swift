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

    /// Creates a public key from a point, and checks that the point is on the curve.
    ///
    /// A copy of a key without a point takes a quarter of the time that `EVP_PKEY_fromdata` does.
    static func make(_ curve: EllipticCurve, point: CurvePoint) throws(CryptoError) -> EVPKey {
        let blank = parameters[curve] ?? Result { () throws(CryptoError) in try makeParameters(curve) }
        OpenSSLLibrary.clearErrors()
        guard let copy = try unsafe blank.get().withPointer({ unsafe EVP_PKEY_dup($0) }) else {
            throw CryptoError(failed: "EVP_PKEY_dup", "Can't copy the parameters of \(curve.name)")
        }
        let key = unsafe EVPKey(takingOwnershipOf: copy)
        let encoded = point.uncompressed
        let status = unsafe encoded.withUnsafeBufferPointer { encoded in
            unsafe EVP_PKEY_set1_encoded_public_key(copy, encoded.baseAddress, encoded.count)
        }
        guard status == 1 else {
            // Unlike this function, the group reports the reason.
            let group = try CurveGroup.shared(for: curve)
            _ = try encoded.withBytes { encoded throws(CryptoError) in try group.point(decoding: encoded) }
            throw CryptoError(failed: "EVP_PKEY_set1_encoded_public_key", "Can't use the point on \(curve.name)")
        }
        return key
    }

    /// For each curve, a key that has only the curve's parameters.
    private static let parameters: [EllipticCurve: Result<EVPKey, CryptoError>] = Dictionary(
        uniqueKeysWithValues: EllipticCurve.all.map { curve in
            (curve, Result { () throws(CryptoError) in try makeParameters(curve) })
        }
    )

    private static func makeParameters(_ curve: EllipticCurve) throws(CryptoError) -> EVPKey {
        guard let key = unsafe fromData(curve, COpenSSL_selection_parameters(), []) else {
            throw CryptoError(failed: "EVP_PKEY_fromdata", "OpenSSL rejected the parameters of \(curve.name)")
        }
        return key
    }

    /// Creates a key pair from parts that the caller must check for consistency: OpenSSL doesn't.
    ///
    /// The scalar is big-endian.
    static func make(
        _ curve: EllipticCurve,
        point: CurvePoint,
        scalar: SecretBytes
    ) throws(CryptoError) -> EVPKey {
        var encodedPoint = point.uncompressed
        let key = unsafe encodedPoint.withUnsafeMutableBytes { point in
            scalar.reversed().withBytes { scalar in
                unsafe scalar.withUnsafeBytes { scalar in
                    // The parameter's type isn't const, but OpenSSL only reads it here.
                    let octets = unsafe UnsafeMutableRawPointer(mutating: scalar.baseAddress)
                    let parts = unsafe [
                        COpenSSL_public_key_param(point.baseAddress, point.count),
                        COpenSSL_private_key_param(octets?.assumingMemoryBound(to: UInt8.self), scalar.count),
                    ]
                    return unsafe fromData(curve, COpenSSL_selection_keypair(), parts)
                }
            }
        }
        guard let key else {
            throw CryptoError(failed: "EVP_PKEY_fromdata", "OpenSSL rejected the \(curve.name) key")
        }
        return key
    }

    private static func fromData(_ curve: EllipticCurve, _ selection: Int32, _ parts: [OSSL_PARAM]) -> EVPKey? {
        OpenSSLLibrary.prepare()
        OpenSSLLibrary.clearErrors()
        let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var groupName = Array(curve.openSSLName.utf8CString)
        var key: OpaquePointer?
        let status = unsafe groupName.withUnsafeMutableBufferPointer { groupName in
            var parameters = unsafe [COpenSSL_group_name_param(groupName.baseAddress)] + parts
            unsafe parameters.append(OSSL_PARAM_construct_end())
            guard unsafe EVP_PKEY_fromdata_init(context) == 1 else { return Int32(0) }
            return unsafe parameters.withUnsafeMutableBufferPointer { parameters in
                unsafe EVP_PKEY_fromdata(context, &key, selection, parameters.baseAddress)
            }
        }
        guard status == 1, let key = unsafe key else { return nil }
        return unsafe EVPKey(takingOwnershipOf: key)
    }

    /// Returns the public point.
    ///
    /// OpenSSL before 3.0.8 compresses `OSSL_PKEY_PARAM_PUB_KEY`, but never this parameter.
    func point(on curve: EllipticCurve) throws(CryptoError) -> CurvePoint {
        OpenSSLLibrary.clearErrors()
        var octets = [UInt8](repeating: 0, count: 1 + 2 * curve.coordinateSize)
        var size = 0
        let status = unsafe withPointer { key in
            unsafe octets.withUnsafeMutableBufferPointer { buffer in
                unsafe EVP_PKEY_get_octet_string_param(
                    key,
                    OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY,
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
