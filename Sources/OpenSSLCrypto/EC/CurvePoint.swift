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

    var x: [UInt8] { Array(uncompressed.dropFirst().prefix(uncompressed.count / 2)) }
    var y: [UInt8] { Array(uncompressed.suffix(uncompressed.count / 2)) }
}
