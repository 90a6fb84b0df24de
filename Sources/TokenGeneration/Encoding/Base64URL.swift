internal import CBase64
internal import FoundationEssentials
internal import OpenSSLCrypto

/// Base64url without padding ([RFC 7515 §2](https://www.rfc-editor.org/rfc/rfc7515#section-2)).
///
/// Decoding is strict, so that each sequence of bytes has exactly one encoding: only the URL-safe
/// alphabet, no padding, no white space, unused bits zero
/// ([RFC 4648 §3.5](https://www.rfc-editor.org/rfc/rfc4648#section-3.5)).
///
/// The running time doesn't depend on the bytes, which can be a secret key's.
package enum Base64URL {
    package static func encode(_ bytes: [UInt8]) -> String {
        encode(bytes.span)
    }

    package static func encode(_ bytes: Span<UInt8>) -> String {
        String(utf8Capacity: encodedSize(bytes.count)) { output in encode(bytes, into: &output) }
    }

    package static func encode(_ bytes: Span<UInt8>, into text: inout [UInt8]) {
        // Appending nothing to an empty array would write to the storage that all of them share.
        guard !bytes.isEmpty else { return }
        text.append(addingCapacity: encodedSize(bytes.count)) { output in encode(bytes, into: &output) }
    }

    @_lifetime(output: copy output)
    package static func encode(_ bytes: Span<UInt8>, into output: inout OutputSpan<UInt8>) {
        guard !bytes.isEmpty else { return }
        let size = encodedSize(bytes.count)
        precondition(output.freeCapacity >= size)  // reason: a buffer without room is a programming error
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe output.withUnsafeMutableBufferPointer { buffer, count in
                unsafe cbase64_encode(bytes.baseAddress, bytes.count, buffer.baseAddress.map { unsafe $0 + count })
                count += size
            }
        }
    }

    /// The closure appends exactly `count` bytes to the end of the text's room, and each part of
    /// the text replaces only bytes that have been encoded, which avoids a second buffer.
    static func encode<Result, Failure: Error>(
        count: Int,
        into output: inout OutputSpan<UInt8>,
        _ body: (inout OutputSpan<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let size = encodedSize(count)
        precondition(output.freeCapacity >= size)  // reason: a buffer without room is a programming error
        return try unsafe output.withUnsafeMutableBufferPointer { buffer, initializedCount throws(Failure) in
            let text = unsafe UnsafeMutableBufferPointer(rebasing: buffer[initializedCount..<initializedCount + size])
            let end = unsafe UnsafeMutableBufferPointer(rebasing: text[(size - count)...])
            var bytes = unsafe OutputSpan(buffer: end, initializedCount: 0)
            let result = try body(&bytes)
            precondition(bytes.freeCapacity == 0)  // reason: another number of bytes is a programming error
            _ = unsafe bytes.finalize(for: end)
            if count > 0 { unsafe cbase64_encode(end.baseAddress, count, text.baseAddress) }
            initializedCount += size
            return result
        }
    }

    package static func encodedSize(_ count: Int) -> Int {
        count / 3 * 4 + (count % 3 * 4 + 2) / 3
    }

    package static func decode(_ text: String) throws(TokenError) -> [UInt8] {
        try decode(text.utf8.span)
    }

    package static func decode(_ text: Span<UInt8>) throws(TokenError) -> [UInt8] {
        try checkSize(text)
        return try [UInt8](capacity: decodedSize(text.count)) { output throws(TokenError) in
            try unsafe output.withUnsafeMutableBufferPointer { buffer, count throws(TokenError) in
                try unsafe decode(text, to: buffer)
                count = decodedSize(text.count)
            }
        }
    }

    static func data(_ text: Span<UInt8>) throws(TokenError) -> Data {
        try checkSize(text)
        var data = Data(count: decodedSize(text.count))
        var bytes = data.mutableSpan
        try unsafe bytes.withUnsafeMutableBufferPointer { buffer throws(TokenError) in
            try unsafe decode(text, to: buffer)
        }
        return data
    }

    static func decoding<Bytes>(
        _ part: String,
        _ decode: () throws(TokenError) -> Bytes
    ) throws(TokenError) -> Bytes {
        do throws(TokenError) {
            return try decode()
        } catch {
            throw TokenError(.malformedToken, "the \(part) isn't base64url: \(error.message)")
        }
    }

    static func decode(_ text: Span<UInt8>, _ part: String) throws(TokenError) -> [UInt8] {
        try decoding(part) { () throws(TokenError) in try decode(text) }
    }

    private static func checkSize(_ text: Span<UInt8>) throws(TokenError) {
        guard text.count % 4 != 1 else {
            throw TokenError(.malformedToken, "\(text.count) characters can't be base64url; one is missing or extra")
        }
    }

    private static func decode(
        _ text: Span<UInt8>,
        to buffer: UnsafeMutableBufferPointer<UInt8>
    ) throws(TokenError) {
        precondition(buffer.count >= decodedSize(text.count))  // reason: the callers allocate as much
        guard !text.isEmpty else { return }
        let result = unsafe text.withUnsafeBufferPointer { text in
            unsafe cbase64_decode(text.baseAddress, text.count, buffer.baseAddress)
        }
        switch result {
        case CBASE64_VALID: return
        case CBASE64_UNUSED_BITS:
            throw TokenError(.malformedToken, "the last base64url character has unused bits that aren't zero")
        default: throw foreignCharacter(in: text)
        }
    }

    private static func decodedSize(_ count: Int) -> Int { count / 4 * 3 + count % 4 * 3 / 4 }

    private static func foreignCharacter(in text: Span<UInt8>) -> TokenError {
        var index = 0
        while index < text.count, isSymbol(text[index]) { index += 1 }
        let hint =
            switch index < text.count ? text[index] : 0 {
            case UInt8(ascii: "="): "remove the padding"
            case UInt8(ascii: "+"), UInt8(ascii: "/"): "this is standard base64; use the URL-safe alphabet"
            default: "only A–Z, a–z, 0–9, - and _ are allowed"
            }
        return TokenError(.malformedToken, "character \(index + 1) isn't base64url: \(hint)")
    }

    private static func isSymbol(_ byte: UInt8) -> Bool {
        // The offsets in the letters and digits, and the differences to the other two symbols.
        let offsets = SIMD4(byte | 0x20, byte, byte, byte) &- SIMD4(0x61, 0x30, 0x2D, 0x5F)
        return any(offsets .< SIMD4(26, 10, 1, 1))
    }
}
