internal import OpenSSLCrypto

/// Base64url without padding ([RFC 7515 §2](https://www.rfc-editor.org/rfc/rfc7515#section-2)).
///
/// Decoding is strict, so that each sequence of bytes has exactly one encoding: only the URL-safe
/// alphabet, no padding, no white space, unused bits zero
/// ([RFC 4648 §3.5](https://www.rfc-editor.org/rfc/rfc4648#section-3.5)).
///
/// The code converts 16 characters at a time, with arithmetic instead of tables. Its running time
/// therefore doesn't depend on the bytes, which can be a secret key's.
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

    /// Returns the length of the encoded text for a number of bytes.
    package static func encodedSize(_ count: Int) -> Int {
        count / 3 * 4 + (count % 3 * 4 + 2) / 3
    }

    /// Encodes bytes and writes the text at an offset of a buffer with enough room.
    @_lifetime(target: copy target)
    package static func encode(_ bytes: Span<UInt8>, into target: inout MutableSpan<UInt8>, at start: Int) {
        var place = start
        var index = 0
        while index &+ 14 <= bytes.count {
            let bits = Words(bytes.bigEndianWord(at: index), bytes.bigEndianWord(at: index &+ 6))
            let words = symbols(for: spread(bits &>> 16))
            target.store(bigEndianWord: words[0], at: place)
            target.store(bigEndianWord: words[1], at: place &+ 8)
            index &+= 12
            place &+= 16
        }
        while index < bytes.count {
            let count = min(6, bytes.count - index)
            var group: UInt64 = 0
            for offset in 0..<count { group |= UInt64(bytes[index + offset]) << UInt64(40 - 8 * offset) }
            let word = symbols(for: spread(Words(group, 0)))[0]
            for offset in 0..<encodedSize(count) {
                target[place + offset] = UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * offset))
            }
            index += count
            place += 8
        }
    }

    /// Decodes text.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken`. The message has the position, not
    ///   the text.
    package static func decode(_ text: String) throws(TokenError) -> [UInt8] {
        try decode(text.utf8.span)
    }

    /// Decodes text that is given as ASCII bytes.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken`. The message has the position, not
    ///   the text.
    package static func decode(_ text: RawSpan) throws(TokenError) -> [UInt8] {
        try decode(Span<UInt8>(_bytes: text))
    }

    /// Decodes text that is given as ASCII bytes.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken`. The message has the position, not
    ///   the text.
    package static func decode(_ text: Span<UInt8>) throws(TokenError) -> [UInt8] {
        try checkSize(text.count)
        var output = [UInt8](zeros: decodedSize(text.count))
        var target = output.mutableSpan
        guard try decode(text, into: &target) else { throw foreignCharacter(in: text) }
        return output
    }

    /// Returns the number of bytes that a number of characters encodes.
    private static func decodedSize(_ count: Int) -> Int { count / 4 * 3 + count % 4 * 3 / 4 }

    private static func checkSize(_ count: Int) throws(TokenError) {
        guard count % 4 != 1 else {
            throw TokenError(.malformedToken, "\(count) characters can't be base64url; one is missing or extra")
        }
    }

    /// - Returns: `true` if all characters are in the alphabet.
    /// - Throws: ``TokenError`` if the unused bits aren't zero.
    @_lifetime(target: copy target)
    private static func decode(
        _ text: Span<UInt8>,
        into target: inout MutableSpan<UInt8>
    ) throws(TokenError) -> Bool {
        var isForeign = Words()
        var index = 0
        var place = 0
        // A store writes two bytes more than were decoded. The next one overwrites them.
        while index &+ 16 <= text.count, place &+ 14 <= target.count {
            let characters = Words(text.bigEndianWord(at: index), text.bigEndianWord(at: index &+ 8))
            let groups = packed(values(of: characters, &isForeign)) &<< 16
            target.store(bigEndianWord: groups[0], at: place)
            target.store(bigEndianWord: groups[1], at: place &+ 6)
            index &+= 16
            place &+= 12
        }
        var unused: UInt64 = 0
        while index < text.count {
            let count = min(8, text.count - index)
            var characters = missing
            for offset in 0..<count {
                let shift = UInt64(56 - 8 * offset)
                characters ^= (UInt64(text[index + offset]) ^ 0x41) << shift
            }
            let group = packed(values(of: Words(characters, missing), &isForeign))[0]
            for offset in 0..<count * 6 / 8 {
                target[place + offset] = UInt8(truncatingIfNeeded: group >> UInt64(40 - 8 * offset))
            }
            unused = group << UInt64(16 + count * 6 / 8 * 8)
            index += count
            place += 6
        }
        guard isForeign == Words() else { return false }
        guard unused == 0 else {
            throw TokenError(.malformedToken, "the last base64url character has unused bits that aren't zero")
        }
        return true
    }

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
        var isForeign = Words()
        _ = values(of: Words(missing &- 0x41 &+ UInt64(byte), missing), &isForeign)
        return isForeign == Words()
    }
}

/// Arithmetic on sixteen numbers of up to eight bits in two words.
extension Base64URL {
    private typealias Words = SIMD2<UInt64>

    /// The padding for missing characters: "A", whose bits are zero.
    private static let missing: UInt64 = 0x4141_4141_4141_4141

    /// Returns words with the same byte in each lane.
    @inline(__always)
    private static func each(_ octet: UInt64) -> Words { Words(repeating: octet &* 0x0101_0101_0101_0101) }

    /// Splits 48 bits in each word into eight six-bit numbers.
    @inline(__always)
    private static func spread(_ bits: Words) -> Words {
        func select(_ words: Words, _ mask: UInt64) -> Words { words & Words(repeating: mask) }
        var words = select(bits, 0xFF_FFFF) | select(bits, 0xFFFF_FF00_0000) &<< 8
        words = select(words, 0x0000_0FFF_0000_0FFF) | select(words, 0x00FF_F000_00FF_F000) &<< 4
        return select(words, 0x003F_003F_003F_003F) | select(words, 0x0FC0_0FC0_0FC0_0FC0) &<< 2
    }

    /// Joins eight six-bit numbers in each word to 48 bits.
    @inline(__always)
    private static func packed(_ numbers: Words) -> Words {
        func select(_ words: Words, _ mask: UInt64) -> Words { words & Words(repeating: mask) }
        var words = select(numbers, 0x003F_003F_003F_003F) | select(numbers, 0x3F00_3F00_3F00_3F00) &>> 2
        words = select(words, 0x0000_0FFF_0000_0FFF) | select(words, 0x0FFF_0000_0FFF_0000) &>> 4
        return select(words, 0xFF_FFFF) | select(words, 0x00FF_FFFF_0000_0000) &>> 8
    }

    /// Returns a number below 128 in each lane whose high bit is set.
    @inline(__always)
    private static func select(_ number: UInt64, where highBits: Words) -> Words {
        (highBits &- highBits &>> 7) & each(number)
    }

    /// Returns the characters for numbers below 64.
    @inline(__always)
    private static func symbols(for numbers: Words) -> Words {
        // Sets the high bit in each lane whose number is at least a limit. Sums don't exceed eight
        // bits.
        func atLeast(_ limit: UInt64) -> Words { (numbers &+ each(128 &- limit)) & each(0x80) }
        // The alphabet's ranges start at "A", "a", "0", "-" and "_". Each step is the difference to
        // the previous range.
        return numbers &+ each(65) &+ select(6, where: atLeast(26)) &- select(75, where: atLeast(52))
            &- select(13, where: atLeast(62)) &+ select(49, where: atLeast(63))
    }

    /// Returns the numbers for characters, and sets bits of `isForeign` where a character isn't in
    /// the alphabet.
    @inline(__always)
    private static func values(of characters: Words, _ isForeign: inout Words) -> Words {
        let ascii = characters & each(0x7F)
        // Sets the high bit in each lane whose character is in a range.
        func isIn(_ first: UInt64, _ last: UInt64) -> Words {
            (ascii &+ each(128 &- first)) & ~(ascii &+ each(127 &- last)) & each(0x80)
        }
        let upper = isIn(65, 90)
        let lower = isIn(97, 122)
        let digit = isIn(48, 57)
        let dash = isIn(45, 45)
        let underscore = isIn(95, 95)
        isForeign |= (characters & each(0x80)) | ((upper | lower | digit | dash | underscore) ^ each(0x80))
        return ascii &- select(65, where: upper) &- select(71, where: lower) &+ select(4, where: digit)
            &+ select(17, where: dash) &- select(32, where: underscore)
    }
}
