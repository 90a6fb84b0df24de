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

    /// Checks the size and form of an encoded point, which may be compressed, without arithmetic.
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
