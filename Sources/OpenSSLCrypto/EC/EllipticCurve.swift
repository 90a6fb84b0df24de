internal import COpenSSL

/// A named elliptic curve; keys with explicit parameters aren't supported.
package struct EllipticCurve: KeyParameters {
    /// The name in a JWK's `crv` member
    /// ([RFC 7518 §6.2.1.1](https://www.rfc-editor.org/rfc/rfc7518#section-6.2.1.1),
    /// [RFC 8812 §3.1](https://www.rfc-editor.org/rfc/rfc8812#section-3.1)).
    package let name: String
    /// The size of a coordinate and of a private scalar, in bytes.
    package let coordinateSize: Int
    let openSSLNumber: Int32
    let openSSLName: String
    package let identifier: ObjectIdentifier

    /// NIST P-256, also called secp256r1 and prime256v1.
    package static let p256 = EllipticCurve(
        name: "P-256",
        coordinateSize: 32,
        openSSLNumber: NID_X9_62_prime256v1,
        openSSLName: "prime256v1",
        identifier: ObjectIdentifier(1, 2, 840, 10045, 3, 1, 7)
    )
    /// NIST P-384, also called secp384r1.
    package static let p384 = EllipticCurve(
        name: "P-384",
        coordinateSize: 48,
        openSSLNumber: NID_secp384r1,
        openSSLName: "secp384r1",
        identifier: ObjectIdentifier(1, 3, 132, 0, 34)
    )
    /// NIST P-521, also called secp521r1.
    package static let p521 = EllipticCurve(
        name: "P-521",
        coordinateSize: 66,
        openSSLNumber: NID_secp521r1,
        openSSLName: "secp521r1",
        identifier: ObjectIdentifier(1, 3, 132, 0, 35)
    )
    package static let secp256k1 = EllipticCurve(
        name: "secp256k1",
        coordinateSize: 32,
        openSSLNumber: NID_secp256k1,
        openSSLName: "secp256k1",
        identifier: ObjectIdentifier(1, 3, 132, 0, 10)
    )

    package static let all: [EllipticCurve] = [.p256, .p384, .p521, .secp256k1]
}

/// The arithmetic of a curve: the owner of an `EC_GROUP`.
// reason: the pointer is set once, and all functions take it as const. OpenSSL itself shares the
// group of a key between threads in the same way.
@safe final class CurveGroup: @unchecked Sendable {
    private let pointer: OpaquePointer
    private let curve: EllipticCurve

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
    /// neutral element; with cofactor 1, such a point is also in the right group.
    ///
    /// An invalid size or form is `malformedKey`, another point `pointNotOnCurve`.
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

    /// The scalar is big-endian; it's an `invalidScalar` if it's zero or too large.
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

/// A public point: the byte 4, then the coordinates x and y, each padded to the curve's coordinate
/// size (SEC 1 §2.3.3).
struct CurvePoint: Hashable {
    static let uncompressedForm: UInt8 = 4

    let uncompressed: [UInt8]

    init(uncompressed: [UInt8]) {
        self.uncompressed = uncompressed
    }

    init(x: [UInt8], y: [UInt8]) {
        uncompressed = [Self.uncompressedForm] + x + y
    }

    /// The point may be compressed; the check takes no arithmetic.
    static func checkForm(of encoded: RawSpan, on curve: EllipticCurve) throws(CryptoError) {
        let size = curve.coordinateSize
        let form = encoded.isEmpty ? 0 : encoded[0]
        guard
            form == uncompressedForm && encoded.byteCount == 1 + 2 * size
                || (form == 2 || form == 3) && encoded.byteCount == 1 + size
        else {
            throw CryptoError(
                .malformedKey,
                "The public point has \(encoded.byteCount) bytes of form \(form), but a \(curve.name) point has "
                    + "\(1 + 2 * size) bytes of form 4, or \(1 + size) bytes of form 2 or 3"
            )
        }
    }

    var x: [UInt8] { Array(uncompressed.dropFirst().prefix(uncompressed.count / 2)) }
    var y: [UInt8] { Array(uncompressed.suffix(uncompressed.count / 2)) }
}
