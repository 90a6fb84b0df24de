import TestVectors
import Testing
import TokenGeneration

@Suite("Base64URL")
struct Base64URLTests {
    @Test(
        "Bytes and their only spelling convert both ways",
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
        "What is not the only spelling is refused",
        arguments: [
            "Z", "Zm9vZ", "Zg==", "Zm8=", "Zm9v=", "Zh", "Zm9", "Z+9v", "Z/9v", "Zm 9v", " Zg", "Zg ", "Zg\n",
            "Zm9v\r\n",
            "Zm9.", "Zm9v!!!!", "Zm\u{E9}v", "Zm9\u{FF10}", "\u{0}AAA",
        ]
    )
    func refused(text: String) {
        #expect(code { try Base64URL.decode(text) } == .malformedToken)
    }

    @Test("Every single byte outside the alphabet is refused in every place of a group")
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

    @Test("Random bytes of every length up to 200 come back")
    func roundTrip() throws {
        var numbers = Fixture.SeededNumbers(state: 1)
        for count in 0...200 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &numbers) }
            let text = Base64URL.encode(bytes)
            #expect(text.utf8.count == (count * 8 + 5) / 6)
            #expect(try Base64URL.decode(text) == bytes)
        }
    }

    @Test("The message has the place and a hint, not the text")
    func message() throws {
        let padded = try #require(error { try Base64URL.decode("c2VjcmV0LXZhbHVl====") })
        #expect(padded.message.contains("character 17") && padded.message.contains("padding"))
        let standard = try #require(error { try Base64URL.decode("ab+/") })
        #expect(standard.message.contains("character 3") && standard.message.contains("URL-safe"))
        #expect(!padded.description.contains("c2Vj"))
    }
}
