/// The two encodings of an ECDSA signature.
///
/// The raw encoding is `r` and `s`, each padded to the curve's coordinate size
/// ([RFC 7518 §3.4](https://www.rfc-editor.org/rfc/rfc7518#section-3.4)). OpenSSL and X.509 use DER
/// ([RFC 3279 §2.2.3](https://www.rfc-editor.org/rfc/rfc3279#section-2.2.3)). Verification checks
/// that the numbers are in the curve's range.
package enum ECDSASignature {
    /// A size that is odd, zero or larger than twice 66 bytes is a `malformedSignature`.
    package static func der(fromRaw raw: RawSpan) throws(CryptoError) -> [UInt8] {
        guard raw.byteCount.isMultiple(of: 2), (2...maximumRawSize).contains(raw.byteCount) else {
            throw CryptoError(
                .malformedSignature,
                "A raw ECDSA signature can't have \(raw.byteCount) bytes; r and s must have the same size, 1 to 66 bytes"
            )
        }
        let middle = raw.byteCount / 2
        let r = significantOctets(of: raw, in: 0..<middle)
        let s = significantOctets(of: raw, in: middle..<raw.byteCount)
        let rSize = integerSize(r, in: raw)
        let sSize = integerSize(s, in: raw)
        let size = 2 + rSize + 2 + sSize
        return [UInt8](capacity: DERWriter.size(ofElementWith: size)) { output in
            DERWriter.appendHeader(DERReader.Tag.sequence, size: size, to: &output)
            appendInteger(r, size: rSize, of: raw, to: &output)
            appendInteger(s, size: sSize, of: raw, to: &output)
        }
    }

    /// Throws `malformedSignature` for anything but the DER encoding of two non-negative numbers of
    /// at most `coordinateSize` bytes, also for deviations that BER would permit.
    package static func raw(fromDER der: RawSpan, coordinateSize: Int) throws(CryptoError) -> [UInt8] {
        guard (1...maximumRawSize / 2).contains(coordinateSize) else {
            throw CryptoError(
                .invalidArgument,
                "A coordinate can't have \(coordinateSize) bytes; the size must be 1 to 66"
            )
        }
        var reader = try DERReader.sequence("signature", in: der, code: .malformedSignature)
        let r = try reader.magnitude("signature's r", in: der)
        let s = try reader.magnitude("signature's s", in: der)
        try reader.finish("signature's s")
        guard r.count <= coordinateSize, s.count <= coordinateSize else {
            throw CryptoError(
                .malformedSignature,
                "The signature's numbers have \(r.count) and \(s.count) bytes, but the curve allows at most \(coordinateSize)"
            )
        }
        return [UInt8](capacity: 2 * coordinateSize) { output in
            for number in [r, s] {
                output.append(repeating: 0, count: coordinateSize - number.count)
                output.append(der.extracting(number))
            }
        }
    }

    private static let maximumRawSize = 2 * 66

    private static func significantOctets(of raw: RawSpan, in range: Range<Int>) -> Range<Int> {
        var start = range.lowerBound
        while start < range.upperBound - 1, raw[start] == 0 {
            start += 1
        }
        return start..<range.upperBound
    }

    /// Includes a zero if the first byte would otherwise be a sign.
    private static func integerSize(_ range: Range<Int>, in raw: RawSpan) -> Int {
        range.count + Int(raw[range.lowerBound] >> 7)
    }

    @_lifetime(output: copy output)
    private static func appendInteger(
        _ range: Range<Int>,
        size: Int,
        of raw: RawSpan,
        to output: inout OutputSpan<UInt8>
    ) {
        DERWriter.appendHeader(DERReader.Tag.integer, size: size, to: &output)
        if size > range.count {
            output.append(0)
        }
        output.append(raw.extracting(range))
    }
}
