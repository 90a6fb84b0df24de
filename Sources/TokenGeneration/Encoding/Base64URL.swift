internal import OpenSSLCrypto

/// Base64url without padding ([RFC 7515 §2](https://www.rfc-editor.org/rfc/rfc7515#section-2)).
///
/// Decoding is strict, so that one sequence of bytes has exactly one spelling: only the URL-safe alphabet, no padding,
/// no white space, unused bits zero ([RFC 4648 §3.5](https://www.rfc-editor.org/rfc/rfc4648#section-3.5)).
///
/// Eight characters are worked out at a time, by arithmetic: no table is read, so that the time does not depend on the bytes
/// either, which may be a secret key's.
package enum Base64URL {
    /// Encodes bytes.
    package static func encode(_ bytes: RawSpan) -> String {
        encode(Span<UInt8>(_bytes: bytes))
    }

    /// Encodes bytes.
    package static func encode(_ bytes: [UInt8]) -> String {
        encode(bytes.span)
    }

    /// Encodes bytes.
    package static func encode(_ bytes: Span<UInt8>) -> String {
        var output: [UInt8] = []
        encode(bytes, into: &output)
        return String(decoding: output, as: UTF8.self)
    }

    /// Encodes bytes and appends the text to a buffer.
    package static func encode(_ bytes: Span<UInt8>, into output: inout [UInt8]) {
        let start = output.count
        output.append(contentsOf: repeatElement(0, count: encodedSize(bytes.count)))
        var target = output.mutableSpan
        encode(bytes, into: &target, at: start)
    }

    /// How many characters the text of a number of bytes has.
    package static func encodedSize(_ count: Int) -> Int {
        count / 3 * 4 + (count % 3 * 4 + 2) / 3
    }

    /// Encodes bytes and writes the text to a place that has room for it.
    @_lifetime(target: copy target)
    package static func encode(_ bytes: Span<UInt8>, into target: inout MutableSpan<UInt8>, at start: Int) {
        var place = start
        var index = 0
        while index &+ 8 <= bytes.count {
            let word = symbols(for: spread(bytes.bigEndianWord(at: index) >> 16))
            target.store(bigEndianWord: word, at: place)
            index &+= 6
            place &+= 8
        }
        while index < bytes.count {
            let count = min(6, bytes.count - index)
            var group: UInt64 = 0
            for offset in 0..<count { group |= UInt64(bytes[index + offset]) << UInt64(40 - 8 * offset) }
            let word = symbols(for: spread(group))
            for offset in 0..<encodedSize(count) {
                target[place + offset] = UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * offset))
            }
            index += count
            place += 8
        }
    }

    /// Decodes text.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken`; its message has the place, not the text.
    package static func decode(_ text: String) throws(TokenError) -> [UInt8] {
        try decode(text.utf8.span)
    }

    /// Decodes text that is given as ASCII bytes.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken`; its message has the place, not the text.
    package static func decode(_ text: RawSpan) throws(TokenError) -> [UInt8] {
        try decode(Span<UInt8>(_bytes: text))
    }

    /// Decodes text that is given as ASCII bytes.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken`; its message has the place, not the text.
    package static func decode(_ text: Span<UInt8>) throws(TokenError) -> [UInt8] {
        guard text.count % 4 != 1 else {
            throw TokenError(.malformedToken, "\(text.count) characters can't be base64url: one is missing or too many")
        }
        var output = [UInt8](repeating: 0, count: text.count / 4 * 3 + text.count % 4 * 3 / 4)
        guard try decode(text, into: &output) else { throw foreignCharacter(in: text) }
        return output
    }

    /// - Returns: Whether all characters are of the alphabet.
    /// - Throws: ``TokenError`` if the unused bits are not zero.
    private static func decode(_ text: Span<UInt8>, into output: inout [UInt8]) throws(TokenError) -> Bool {
        var target = output.mutableSpan
        var isForeign: UInt64 = 0
        var index = 0
        var place = 0
        // A store writes two bytes more than were decoded, which the next one overwrites.
        while index &+ 8 <= text.count, place &+ 8 <= target.count {
            let group = values(of: text.bigEndianWord(at: index), &isForeign)
            target.store(bigEndianWord: packed(group) << 16, at: place)
            index &+= 8
            place &+= 6
        }
        var unused: UInt64 = 0
        while index < text.count {
            let count = min(8, text.count - index)
            // What is missing is as if it were "A", whose bits are zero.
            var characters: UInt64 = 0x4141_4141_4141_4141
            for offset in 0..<count {
                let shift = UInt64(56 - 8 * offset)
                characters ^= (UInt64(text[index + offset]) ^ 0x41) << shift
            }
            let group = packed(values(of: characters, &isForeign))
            for offset in 0..<count * 6 / 8 {
                target[place + offset] = UInt8(truncatingIfNeeded: group >> UInt64(40 - 8 * offset))
            }
            unused = group << UInt64(16 + count * 6 / 8 * 8)
            index += count
            place += 6
        }
        guard isForeign == 0 else { return false }
        guard unused == 0 else {
            throw TokenError(.malformedToken, "the last base64url character has bits set that must be zero")
        }
        return true
    }

    private static func foreignCharacter(in text: Span<UInt8>) -> TokenError {
        var index = 0
        while index < text.count, isSymbol(text[index]) { index += 1 }
        let hint =
            switch index < text.count ? text[index] : 0 {
            case UInt8(ascii: "="): "remove the padding"
            case UInt8(ascii: "+"), UInt8(ascii: "/"): "this is standard base64, use its URL-safe alphabet"
            default: "only A–Z, a–z, 0–9, - and _ are allowed"
            }
        return TokenError(.malformedToken, "character \(index + 1) is not base64url: \(hint)")
    }

    private static func isSymbol(_ byte: UInt8) -> Bool {
        var isForeign: UInt64 = 0
        _ = values(of: 0x4141_4141_4141_4100 | UInt64(byte), &isForeign)
        return isForeign == 0
    }
}

/// Eight numbers of up to eight bits in one word, worked on at once.
extension Base64URL {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// 48 bits as eight numbers of six.
    @inline(__always)
    private static func spread(_ bits: UInt64) -> UInt64 {
        var word = bits & 0xFF_FFFF | (bits & 0xFFFF_FF00_0000) << 8
        word = word & 0x0000_0FFF_0000_0FFF | (word & 0x00FF_F000_00FF_F000) << 4
        return word & 0x003F_003F_003F_003F | (word & 0x0FC0_0FC0_0FC0_0FC0) << 2
    }

    /// Eight numbers of six bits as 48 bits.
    @inline(__always)
    private static func packed(_ numbers: UInt64) -> UInt64 {
        var word = numbers & 0x003F_003F_003F_003F | (numbers & 0x3F00_3F00_3F00_3F00) >> 2
        word = word & 0x0000_0FFF_0000_0FFF | (word & 0x0FFF_0000_0FFF_0000) >> 4
        return word & 0xFF_FFFF | (word & 0x00FF_FFFF_0000_0000) >> 8
    }

    /// The characters of eight numbers below 64.
    @inline(__always)
    private static func symbols(for numbers: UInt64) -> UInt64 {
        // 1 in each place whose number is at least a limit. No sum goes over its place's eight bits.
        func atLeast(_ limit: UInt64) -> UInt64 { ((numbers &+ ones &* (128 &- limit)) & highBits) >> 7 }
        // The alphabet's runs start at "A", "a", "0", "-" and "_"; each step is the difference to the run before.
        return numbers &+ ones &* 65 &+ atLeast(26) &* 6 &- atLeast(52) &* 75 &- atLeast(62) &* 13
            &+ atLeast(63) &* 49
    }

    /// The numbers that eight characters stand for; `isForeign` gets bits where one stands for none.
    @inline(__always)
    private static func values(of characters: UInt64, _ isForeign: inout UInt64) -> UInt64 {
        let ascii = characters & ~highBits
        // 1 in each place whose character is in a range.
        func isIn(_ first: UInt64, _ last: UInt64) -> UInt64 {
            ((ascii &+ ones &* (128 &- first)) & ~(ascii &+ ones &* (127 &- last)) & highBits) >> 7
        }
        let upper = isIn(65, 90)
        let lower = isIn(97, 122)
        let digit = isIn(48, 57)
        let dash = isIn(45, 45)
        let underscore = isIn(95, 95)
        isForeign |= (characters & highBits) | ((upper | lower | digit | dash | underscore) ^ ones)
        return ascii &- upper &* 65 &- lower &* 71 &+ digit &* 4 &+ dash &* 17 &- underscore &* 32
    }
}
