import Foundation
import Testing

@testable import Networking

@Suite("ContentDecoder")
struct ContentDecoderTests {
    /// The text `hello` in a coding.
    struct Sample: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let codings: [String]
        let octets: [UInt8]
    }

    private static let gzip: [UInt8] = [
        0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 2, 3, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 7, 0, 0x86, 0xA6, 0x10, 0x36, 5, 0, 0, 0,
    ]

    static let samples = [
        Sample(testDescription: "gzip", codings: ["gzip"], octets: gzip),
        Sample(testDescription: "x-gzip", codings: ["X-GZIP"], octets: gzip),
        Sample(
            testDescription: "deflate in zlib's format",
            codings: ["deflate"],
            octets: [0x78, 0x9C, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 7, 0, 6, 0x2C, 2, 0x15]
        ),
        Sample(testDescription: "bare deflate", codings: ["Deflate"], octets: [0xCB, 0x48, 0xCD, 0xC9, 0xC9, 7, 0]),
        Sample(testDescription: "br", codings: ["br"], octets: [0x0B, 2, 0x80] + Array("hello".utf8) + [3]),
        Sample(
            testDescription: "zstd",
            codings: ["zstd"],
            octets: [0x28, 0xB5, 0x2F, 0xFD, 0x20, 5, 0x29, 0, 0] + Array("hello".utf8)
        ),
    ]

    /// Decodes bytes that arrive in parts, with a reader that refuses every other call.
    private func decode(_ codings: [String], _ parts: [[UInt8]]) throws -> (text: String, isWhole: Bool) {
        let decoder = try ContentDecoder(codings)
        var (text, refuses) = ([UInt8](), true)
        for part in parts {
            var isTaken = false
            while !isTaken {
                isTaken = try unsafe part.withUnsafeBufferPointer { part in
                    try unsafe decoder.decode(part) { decoded in
                        refuses.toggle()
                        if !refuses { unsafe text += Array(decoded) }
                        return !refuses
                    }
                }
            }
        }
        #expect(decoder.inputCount == parts.reduce(0) { $0 + $1.count })
        return (String(decoding: text, as: UTF8.self), decoder.isWhole)
    }

    @Test("Decodes in one part, in two parts split anywhere, and byte by byte", arguments: samples)
    func decoding(sample: Sample) throws {
        let octets = sample.octets
        for cut in 0...octets.count {
            let result = try decode(sample.codings, [Array(octets[..<cut]), Array(octets[cut...])])
            #expect(result == ("hello", true), "cut at \(cut)")
        }
        #expect(try decode(sample.codings, octets.map { [$0] }) == ("hello", true))
    }

    @Test("Detects a body truncated anywhere, and accepts an empty one", arguments: samples)
    func cutting(sample: Sample) throws {
        #expect(try decode(sample.codings, [[]]) == ("", true))
        for count in 1..<sample.octets.count {
            let result = try decode(sample.codings, [Array(sample.octets[..<count])])
            #expect(!result.isWhole, "\(count) of \(sample.octets.count)")
            #expect("hello".hasPrefix(result.text))
        }
    }

    @Test("Rejects garbage in the middle and after the end", arguments: samples)
    func garbage(sample: Sample) throws {
        #expect(throws: ContentDecoder.Defect.malformed) {
            _ = try decode(sample.codings, [sample.octets + [0xFF, 0xFF]])
        }
        #expect(throws: ContentDecoder.Defect.malformed) {
            _ = try decode(sample.codings, [[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]])
        }
    }

    @Test("Decodes several gzip members and zstd frames in sequence", arguments: [0, 5])
    func sequences(index: Int) throws {
        let sample = Self.samples[index]
        #expect(try decode(sample.codings, [sample.octets + sample.octets]) == ("hellohello", true))
        #expect(try decode(sample.codings, [sample.octets, sample.octets.dropLast(3)]).isWhole == false)
    }

    @Test("Removes codings in reverse order and checks the end of each")
    func stacks() throws {
        let coded = GzipText.coded(String(repeating: "hello ", count: 50_000))
        let twice = Self.stored(coded)
        let result = try decode(
            ["gzip", "deflate"],
            stride(from: 0, to: twice.count, by: 100).map {
                Array(twice[$0..<min($0 + 100, twice.count)])
            }
        )
        #expect(result.text.count == 300_000)
        #expect(result.isWhole)
        let inner = Self.stored(Array(coded.dropLast(5)))
        #expect(try decode(["gzip", "deflate"], [inner]).isWhole == false)
    }

    /// Returns uncompressed deflate data without a zlib header
    /// ([RFC 1951 §3.2.4](https://www.rfc-editor.org/rfc/rfc1951#section-3.2.4)).
    private static func stored(_ octets: [UInt8]) -> [UInt8] {
        let count = UInt16(octets.count)
        let lengths = [UInt8(count & 0xFF), UInt8(count >> 8), UInt8(~count & 0xFF), UInt8(~count >> 8)]
        return [1] + lengths + octets
    }

    @Test(
        "Rejects unknown codings, an empty list and too many codings",
        arguments: [["rot13"], [], Array(repeating: "gzip", count: 6)]
    )
    func unknown(codings: [String]) {
        #expect(throws: ContentDecoder.Defect.unknownCoding) { _ = try ContentDecoder(codings) }
    }

    @Test("Offers all codings that libcurl's libraries support")
    func offer() {
        #expect(ContentDecoder.acceptedCodings == "deflate, gzip, br, zstd")
    }
}
