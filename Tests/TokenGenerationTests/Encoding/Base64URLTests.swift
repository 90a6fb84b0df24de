import Foundation
import OpenSSLCrypto
import TestSupport
import TestVectors
import Testing

@testable import TokenGeneration

@Suite("Base64URL", .computing)
struct Base64URLTests {
    @Test(
        "Bytes and their only encoding convert both ways",
        .shows("RFC 7515 §2"),
        arguments: [
            ([], ""), ([0x66], "Zg"), ([0x66, 0x6F], "Zm8"), ([0x66, 0x6F, 0x6F], "Zm9v"),
            ([0x66, 0x6F, 0x6F, 0x62], "Zm9vYg"), ([0xFB, 0xFF, 0xFE], "-__-"), ([0x00], "AA"), ([0xFF], "_w"),
            // RFC 7515 Appendix C
            ([3, 236, 255, 224, 193], "A-z_4ME"),
        ] as [([UInt8], String)]
    )
    func table(bytes: [UInt8], text: String) throws {
        #expect(Base64URL.encode(bytes) == text)
        #expect(try Base64URL.decode(text) == bytes)
    }

    @Test(
        "Rejects noncanonical text",
        .shows("D1", "RFC 7515 §2", "RFC 8725bis §3.14"),
        arguments: [
            "Z", "Zm9vZ", "Zg==", "Zm8=", "Zm9v=", "Zh", "Zm9", "Z+9v", "Z/9v", "Zm 9v", " Zg", "Zg ", "Zg\n",
            "Zm9v\r\n", "Zm9.", "Zm9v!!!!", "Zm\u{E9}v", "Zm9\u{FF10}", "\u{0}AAA",
        ]
    )
    func refused(text: String) {
        #expect(code { try Base64URL.decode(text) } == .malformedToken)
    }

    @Test("Rejects every byte outside the alphabet at every position of a group")
    func alphabet() throws {
        let allowed = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        for byte in UInt8.min...UInt8.max {
            for place in 0..<4 {
                var text = Array("AAAA".utf8)
                text[place] = byte
                let isAccepted = (try? Base64URL.decode(text.span)) != nil
                #expect(isAccepted == allowed.contains(byte), "byte \(byte) at \(place)")
            }
        }
    }

    @Test(
        "Every size up to 300 is encoded as by Foundation, and decodes to the same bytes",
        .shows("RFC 4648 §3.5, §5"),
        arguments: 0...300
    )
    func everySize(count: Int) throws {
        var numbers = Fixture.SeededNumbers(state: UInt64(count + 1))
        let cases = [
            (0..<count).map { _ in UInt8.random(in: 0...255, using: &numbers) },
            [UInt8](repeating: 0x00, count: count),
            [UInt8](repeating: 0xFF, count: count),
        ]
        for bytes in cases {
            let text = Base64URL.encode(bytes)
            let expected = Data(bytes).base64EncodedString()
                .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
            #expect(text == expected)
            #expect(text.utf8.count == Base64URL.encodedSize(count))
            #expect(try Base64URL.decode(text) == bytes)
            #expect(try Array(Base64URL.data(text.utf8.span)) == bytes)
            var appended = Array("kept.".utf8)
            Base64URL.encode(bytes.span, into: &appended)
            #expect(String(decoding: appended, as: UTF8.self) == "kept." + expected)
            let inPlace = String(utf8Capacity: 5 + expected.utf8.count) { output in
                output.append("kept.".utf8.span.octets)
                Base64URL.encode(count: count, into: &output) { $0.append(bytes.span.octets) }
            }
            #expect(inPlace == "kept." + expected)
        }
    }

    @Test(
        "Every byte at every position decodes as in a second implementation, around the sizes of vectors",
        arguments: [2...8, 14...20, 30...36, 46...52, 62...68, 78...84, 94...100, 142...148]
    )
    func secondImplementation(counts: ClosedRange<Int>) throws {
        for count in counts {
            var numbers = Fixture.SeededNumbers(state: UInt64(count))
            var text = (0..<count).map { _ in Self.alphabet[Int.random(in: 0..<64, using: &numbers)] }
            for place in 0..<count {
                let original = text[place]
                for byte in UInt8.min...UInt8.max where (Int(byte) + place) % 16 == count % 16 {
                    text[place] = byte
                    let decoded = try? Base64URL.decode(text.span)
                    guard decoded == Self.simplyDecoded(text) else {
                        Issue.record("\(count) characters with \(byte) at \(place): \(text)")
                        return
                    }
                }
                text[place] = original
            }
        }
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    /// The value of each byte, or -1.
    private static let values = (UInt8.min...UInt8.max).map { alphabet.firstIndex(of: $0) ?? -1 }

    /// Decodes one character after the other, or returns `nil` for text that isn't canonical.
    private static func simplyDecoded(_ text: [UInt8]) -> [UInt8]? {
        var bytes: [UInt8] = []
        var (bits, bitCount) = (0, 0)
        for character in text {
            let value = values[Int(character)]
            guard value >= 0 else { return nil }
            (bits, bitCount) = (bits << 6 | value, bitCount + 6)
            guard bitCount >= 8 else { continue }
            bitCount -= 8
            bytes.append(UInt8(bits >> bitCount))
            bits &= 1 << bitCount - 1
        }
        return bitCount < 6 && bits == 0 ? bytes : nil
    }

    @Test("All pairs of bytes round-trip at every position of a word", arguments: 0..<8)
    func everyPair(place: Int) throws {
        var bytes = [UInt8](repeating: 0x5A, count: place + 9)
        for pair in UInt16.min...UInt16.max where pair % 7 == UInt16(place) % 7 || pair < 512 {
            bytes[place] = UInt8(pair >> 8)
            bytes[place + 1] = UInt8(pair & 0xFF)
            let text = Base64URL.encode(bytes)
            guard try Base64URL.decode(text) == bytes else {
                Issue.record("\(bytes) became \(text)")
                return
            }
        }
    }

    @Test("Finds a byte outside the alphabet at every position of every size", arguments: 2...150)
    func everyPlace(count: Int) throws {
        // The neighbors of each range of the alphabet, the other alphabet, padding, white space,
        // and bytes beyond ASCII.
        let foreign = Array("@[`{/:+=.,^ \n\0".utf8) + [0x7F, 0x80, 0xC1, 0xE1, 0xAD, 0xDF, 0xFF]
        for place in 0..<count where count % 4 != 1 {
            // Some of them are enough for a long text.
            for byte in foreign where count <= 34 || (Int(byte) + place) % 8 == count % 8 {
                var text = [UInt8](repeating: UInt8(ascii: "A"), count: count)
                text[place] = byte
                let refusal = try #require(error { try Base64URL.decode(text.span) }, "byte \(byte) at \(place)")
                #expect(refusal.code == .malformedToken)
                #expect(refusal.message.contains("character \(place + 1) "))
            }
        }
    }

    @Test("Accepts only last characters whose unused bits are zero", .shows("D1", "RFC 7515 §2"), arguments: 2...40)
    func unusedBits(count: Int) throws {
        for (value, symbol) in Self.alphabet.enumerated() {
            let text = [UInt8](repeating: UInt8(ascii: "_"), count: count - 1) + [symbol]
            let step = [1, 0, 16, 4][count % 4]
            let isCanonical = step > 0 && value.isMultiple(of: step)
            if isCanonical {
                let bytes = try Base64URL.decode(text.span)
                #expect(Array(Base64URL.encode(bytes).utf8) == text)
            } else {
                #expect(code { try Base64URL.decode(text.span) } == .malformedToken, "\(symbol) at the end of \(count)")
            }
        }
    }

    @Test("The message has the position and a hint, but not the text")
    func message() throws {
        let padded = try #require(error { try Base64URL.decode("c2VjcmV0LXZhbHVl====") })
        #expect(padded.message.contains("character 17") && padded.message.contains("padding"))
        let standard = try #require(error { try Base64URL.decode("ab+/") })
        #expect(standard.message.contains("character 3") && standard.message.contains("URL-safe"))
        #expect(!padded.description.contains("c2Vj"))
    }
}
