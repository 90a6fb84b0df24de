internal import COpenSSL

/// The arithmetic of a curve: the owner of an `EC_GROUP`.
// reason: the pointer is set once, and all functions take it as const. OpenSSL itself shares the
// group of a key between threads in the same way.
@safe final class CurveGroup: @unchecked Sendable {
    private let pointer: OpaquePointer
    private let curve: EllipticCurve

    /// Returns the arithmetic of a curve, created once per process.
    static func shared(for curve: EllipticCurve) throws(CryptoError) -> CurveGroup {
        try groups[curve]
    }

    private static let groups = FetchedValues(EllipticCurve.all) { curve throws(CryptoError) in try CurveGroup(curve) }

    private init(_ curve: EllipticCurve) throws(CryptoError) {
        OpenSSLLibrary.prepareAndClearErrors()
        guard let pointer = unsafe EC_GROUP_new_by_curve_name(curve.openSSLNumber) else {
            throw CryptoError(failed: "EC_GROUP_new_by_curve_name", "The curve \(curve.name) isn't available")
        }
        unsafe self.pointer = pointer
        self.curve = curve
    }

    deinit {
        unsafe EC_GROUP_free(pointer)
    }

    /// Decodes a point, uncompressed or compressed, and checks that it's on the curve and not the
    /// neutral element.
    ///
    /// The curves have cofactor 1, so such a point is also in the right group. An invalid size or
    /// form is `malformedKey`, another point `pointNotOnCurve`.
    func point(decoding encoded: RawSpan) throws(CryptoError) -> CurvePoint {
        OpenSSLLibrary.clearErrors()
        try CurvePoint.checkForm(of: encoded, on: curve)
        guard let point = unsafe EC_POINT_new(pointer) else { throw CryptoError(failed: "EC_POINT_new", "No memory") }
        defer { unsafe EC_POINT_free(point) }
        let status = unsafe encoded.withOctets {
            unsafe EC_POINT_oct2point(pointer, point, $0.baseAddress, $0.count, nil)
        }
        guard status == 1 else {
            throw CryptoError(
                .pointNotOnCurve,
                failed: "EC_POINT_oct2point",
                "The public point isn't on the curve \(curve.name)"
            )
        }
        // An uncompressed point has only one encoding, and encoding it again takes 4 µs.
        if encoded[0] == CurvePoint.uncompressedForm {
            return CurvePoint(uncompressed: encoded.byteOffsets.map { encoded[$0] })
        }
        return try unsafe encode(point)
    }

    /// Returns the public point of a big-endian private scalar, which is an `invalidScalar` if it's
    /// zero or too large.
    func point(of scalar: SecretBytes) throws(CryptoError) -> CurvePoint {
        OpenSSLLibrary.clearErrors()
        let number = try scalar.withBytes { bytes throws(CryptoError) in try BigNumber(bytes) }
        let isInRange = unsafe number.withPointer { unsafe BN_cmp($0, EC_GROUP_get0_order(pointer)) < 0 }
        guard !number.isZero, isInRange else {
            throw CryptoError(
                .invalidScalar,
                "The private scalar is zero or not less than the order of \(curve.name); the key is for another "
                    + "curve or is damaged"
            )
        }
        guard let point = unsafe EC_POINT_new(pointer) else { throw CryptoError(failed: "EC_POINT_new", "No memory") }
        defer { unsafe EC_POINT_free(point) }
        guard unsafe number.withPointer({ unsafe EC_POINT_mul(pointer, point, $0, nil, nil, nil) }) == 1 else {
            throw CryptoError(failed: "EC_POINT_mul", "Can't compute the public point")
        }
        return try unsafe encode(point)
    }

    private func encode(_ point: OpaquePointer) throws(CryptoError) -> CurvePoint {
        let expectedSize = 1 + 2 * curve.coordinateSize
        let octets = unsafe [UInt8](maximumSize: expectedSize) { buffer, size in
            let form = POINT_CONVERSION_UNCOMPRESSED
            size = unsafe EC_POINT_point2oct(pointer, point, form, buffer, expectedSize, nil)
            return size == expectedSize
        }
        return try CurvePoint(
            uncompressed: octets.orThrow(failed: "EC_POINT_point2oct", "Can't encode the public point")
        )
    }
}
