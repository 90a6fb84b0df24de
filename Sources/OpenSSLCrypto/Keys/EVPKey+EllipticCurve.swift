internal import COpenSSL

extension EVPKey {
    /// Generates a key pair.
    static func generate(_ curve: EllipticCurve) throws(CryptoError) -> EVPKey {
        try unsafe generate("EC", "a \(curve.name) key") { context in
            unsafe EVP_PKEY_CTX_set_group_name(context, curve.openSSLName) == 1
        }
    }

    /// Creates a public key from a point, and checks that the point is on the curve.
    ///
    /// A copy of a key without a point takes a quarter of the time that `EVP_PKEY_fromdata` does.
    static func make(_ curve: EllipticCurve, point: CurvePoint) throws(CryptoError) -> EVPKey {
        let blank = try parameters[curve]
        OpenSSLLibrary.clearErrors()
        guard let copy = unsafe blank.withPointer({ unsafe EVP_PKEY_dup($0) }) else {
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
    private static let parameters = FetchedValues(EllipticCurve.all) { curve throws(CryptoError) in
        try unsafe fromData(curve, COpenSSL_selection_parameters(), [])
            .orThrow(failed: "EVP_PKEY_fromdata", "OpenSSL rejected the parameters of \(curve.name)")
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
            unsafe scalar.reversed().withOctets { scalar in
                // The parameter's type isn't const, but OpenSSL only reads it here.
                let octets = unsafe UnsafeMutablePointer(mutating: scalar.baseAddress)
                let parts = unsafe [
                    COpenSSL_public_key_param(point.baseAddress, point.count),
                    COpenSSL_private_key_param(octets, scalar.count),
                ]
                return unsafe fromData(curve, COpenSSL_selection_keypair(), parts)
            }
        }
        return try key.orThrow(failed: "EVP_PKEY_fromdata", "OpenSSL rejected the \(curve.name) key")
    }

    private static func fromData(_ curve: EllipticCurve, _ selection: Int32, _ parts: [OSSL_PARAM]) -> EVPKey? {
        var groupName = Array(curve.openSSLName.utf8CString)
        return unsafe groupName.withUnsafeMutableBufferPointer { groupName in
            let group = unsafe COpenSSL_group_name_param(groupName.baseAddress)
            var parameters = unsafe [group] + parts + [OSSL_PARAM_construct_end()]
            return unsafe make("EC", selection, &parameters)
        }
    }

    /// Returns the public point.
    ///
    /// OpenSSL before 3.0.8 compresses `OSSL_PKEY_PARAM_PUB_KEY`, but never this parameter.
    func point(on curve: EllipticCurve) throws(CryptoError) -> CurvePoint {
        OpenSSLLibrary.clearErrors()
        let maximumSize = 1 + 2 * curve.coordinateSize
        let octets = unsafe [UInt8](maximumSize: maximumSize) { buffer, size in
            let name = OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY
            return unsafe withPointer {
                unsafe EVP_PKEY_get_octet_string_param($0, name, buffer, maximumSize, &size) == 1
            }
        }
        guard let octets, octets.count == maximumSize, octets.first == CurvePoint.uncompressedForm else {
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
        let scalar = unsafe SecretBytes(maximumSize: curve.coordinateSize) { buffer, size in
            size = curve.coordinateSize
            return unsafe BN_bn2binpad(number, buffer, Int32(size)) == Int32(size)
        }
        return try scalar.orThrow(failed: "BN_bn2binpad", "Can't export the private scalar")
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
