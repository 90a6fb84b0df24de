internal import OpenSSLCrypto

/// A writer of compact JWSs that uses a single buffer.
enum CompactSerialization {
    /// Writes the three segments.
    ///
    /// - Parameters:
    ///   - header: The header in base64url, followed by a period.
    ///   - payload: The payload's bytes.
    ///   - signatureSize: The maximum size of the signature in bytes.
    ///   - sign: A closure that appends the signature of the signing input.
    /// - Returns: The compact JWS.
    /// - Throws: The error that `sign` throws.
    @inline(__always)
    static func make<Failure: Error>(
        _ header: [UInt8],
        _ payload: [UInt8],
        signatureSize: Int,
        signedBy sign: (RawSpan, inout OutputSpan<UInt8>) throws(Failure) -> Void
    ) throws(Failure) -> String {
        let inputSize = header.count + Base64URL.encodedSize(payload.count)
        let capacity = inputSize + 1 + Base64URL.encodedSize(signatureSize)
        return try String(asciiCapacity: capacity) { text throws(Failure) in
            text.store(header.span, at: 0)
            Base64URL.encode(payload.span, into: &text, at: header.count)
            let size = try TemporaryBytes.with(capacity: signatureSize) { output throws(Failure) in
                try sign(text.span.extracting(first: inputSize).octets, &output)
            } _: { signature throws(Failure) in
                text[inputSize] = UInt8(ascii: ".")
                Base64URL.encode(Span<UInt8>(_bytes: signature), into: &text, at: inputSize + 1)
                return inputSize + 1 + Base64URL.encodedSize(signature.byteCount)
            }
            return size
        }
    }
}
