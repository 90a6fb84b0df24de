import OpenSSLCrypto
import TestSupport
import Testing

@Suite("Words of bytes", .computing) struct WordTests {
    @Test("Reads and writes eight big-endian bytes at any offset")
    func words() {
        let octets = (0..<24).map { UInt8($0 * 11 & 0xFF) }
        for offset in 0...16 {
            let expected = octets[offset..<offset + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let word = octets.span.bigEndianWord(at: offset)
            #expect(word == expected)
            var target = [UInt8](repeating: 0, count: 24)
            var span = target.mutableSpan
            span.store(bigEndianWord: expected, at: offset)
            #expect(Array(target[offset..<offset + 8]) == Array(octets[offset..<offset + 8]))
            #expect(target.enumerated().allSatisfy { (offset..<offset + 8).contains($0) || $1 == 0 })
        }
    }

    @Test("Compares all bytes of two spans", arguments: 0...40)
    func equality(count: Int) {
        let octets = (0..<count).map { UInt8($0) }
        #expect(areEqual(octets, Array(octets)))
        for place in 0..<count {
            var other = octets
            other[place] ^= 0x80
            #expect(!areEqual(octets, other))
        }
        #expect(!areEqual(octets, octets + [0]))
    }

    // The macro doesn't support spans.
    private func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.span.isEqual(to: right.span)
    }
}
