import Foundation
import TestSupport
import Testing

@testable import Networking

/// Content codings that expand to more than one peer may cost the others.
@Suite("Limits on content codings", .limitedConcurrency)
struct CodedBodyLimitTests {
    /// A brotli stream of 16 bytes whose content, 8 MiB, is the start of a brotli stream without
    /// output: empty metadata blocks
    /// ([RFC 7932 §9.2](https://www.rfc-editor.org/rfc/rfc7932#section-9.2)).
    private static let bomb: [UInt8] = [
        0xCB, 0xFF, 0xFF, 0x3F, 0xF8, 0xA5, 0x0C, 0x18, 0xE2, 0xB2, 0x40, 0x00, 0xF7, 0xFE, 0xAF, 0x01,
    ]
    /// Brotli streams of bytes `a`: 16 MiB with a window of 16 MiB, 16 MiB with one of 4 MiB, and
    /// 1 MiB with one of 16 MiB, which is never filled.
    private static let streams: [(octets: [UInt8], size: Int?)] = [
        ([0xCF, 0xFF, 0xFF, 0x7F, 0xF8, 0x25, 0xC2, 0xE2, 0xB1, 0x40, 0x20, 0xF7, 0xFE, 0x7F], nil),
        (
            [
                0xCB, 0xFF, 0xFF, 0x3F, 0xF8, 0x25, 0xC2, 0xE2, 0xB1, 0x40, 0x20, 0xF7, 0xFE, 0x8F, 0xFF, 0xFF, 0x7F,
                0xF0, 0x4B, 0x00, 0xC4, 0x61, 0x11, 0x80, 0xEE, 0xFD, 0xDF,
            ], 16 << 20
        ),
        ([0x5F, 0xFF, 0xFF, 0x8F, 0x5F, 0x22, 0x2C, 0x1E, 0x0B, 0x04, 0x72, 0xEF, 0x1F, 0x00], 1 << 20),
    ]

    @Test("Decodes brotli of any size with a window of up to 4 MiB", arguments: streams)
    func window(octets: [UInt8], size: Int?) throws {
        let decoder = try ContentDecoder(["br"])
        var count = 0
        func decode() throws {
            _ = try unsafe octets.withUnsafeBufferPointer { octets in
                try unsafe decoder.decode(octets) { part in
                    count += part.count
                    return true
                }
            }
        }
        guard let size else {
            #expect(throws: ContentDecoder.Defect.window) { try decode() }
            return
        }
        try decode()
        #expect(count == size && decoder.isWhole)
    }

    private static func response(_ codings: String, _ body: [UInt8]) -> [UInt8] {
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: \(codings)\r\nContent-Length: \(body.count)\r\n\r\n"
        return Array(head.utf8) + body
    }

    /// Decodes bytes, and returns the sizes of the parts that one coding passed to the other.
    private func innerSizes(
        _ decoder: ContentDecoder,
        _ octets: [UInt8],
        goesOn: (Int) -> Bool = { _ in true }
    ) throws -> [Int] {
        var sizes: [Int] = []
        _ = try unsafe octets.withUnsafeBufferPointer { octets in
            try unsafe decoder.decode(octets) { count in
                sizes.append(count)
                return goesOn(count)
            } take: { _ in
                true
            }
        }
        return sizes
    }

    @Test("Stops when a coding other than the first expands to much more than was received", .shows("H5"))
    func innerExpansion() throws {
        let decoder = try ContentDecoder(["br", "br"])
        #expect(throws: ContentDecoder.Defect.expanding) { _ = try innerSizes(decoder, Self.bomb) }
    }

    @Test("Leaves the loop between two codings when the turn is over, and continues later")
    func turns() throws {
        let decoder = try ContentDecoder(["br", "br"])
        for _ in 0..<2 {
            let sizes = try innerSizes(decoder, Self.bomb) { _ in false }
            #expect(sizes.count == 1)
        }
        #expect(decoder.inputCount == Self.bomb.count)
    }

    @Test("Decodes a body that was coded twice, whatever the turns")
    func twice() throws {
        let text = (0..<20_000).map { "\($0 * 7919 % 10_007) " }.joined()
        let coded = GzipText.coded(text)
        let stored = Self.stored(coded)
        let decoder = try ContentDecoder(["gzip", "deflate"])
        var (result, isTaken, calls) = ([UInt8](), false, 0)
        while !isTaken {
            isTaken = try unsafe stored.withUnsafeBufferPointer { octets in
                try unsafe decoder.decode(octets) { _ in
                    calls += 1
                    return calls.isMultiple(of: 2)
                } take: { part in
                    unsafe result += Array(part)
                    return true
                }
            }
        }
        #expect(String(decoding: result, as: UTF8.self) == text)
        #expect(decoder.isWhole)
    }

    /// Returns uncompressed deflate data in blocks
    /// ([RFC 1951 §3.2.4](https://www.rfc-editor.org/rfc/rfc1951#section-3.2.4)).
    private static func stored(_ octets: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var rest = octets[...]
        repeat {
            let block = rest.prefix(60_000)
            rest = rest.dropFirst(60_000)
            let count = UInt16(block.count)
            result += [rest.isEmpty ? 1 : 0, UInt8(count & 0xFF), UInt8(count >> 8)]
            result += [UInt8(~count & 0xFF), UInt8(~count >> 8)] + block
        } while !rest.isEmpty
        return result
    }

    @Test("Accepts at most two codings", arguments: [["deflate", "br", "br"], ["gzip", "gzip", "gzip", "gzip"]])
    func count(codings: [String]) {
        #expect(throws: ContentDecoder.Defect.unknownCoding) { _ = try ContentDecoder(codings) }
    }

    @Test(
        "Rejects expanding codings, and serves other requests",
        .shows("H5"),
        arguments: [
            ("br, br", bomb, NetworkError.Code.bodyTooLarge), ("deflate, br, br", bomb, .invalidResponse),
        ],
        [false, true]
    )
    func neighbor(_ hostile: (codings: String, body: [UInt8], code: NetworkError.Code), isStreamed: Bool) async throws {
        try await withPeer { connection in
            while true {
                let isHostile = try connection.readRequest().hasPrefix("GET /hostile")
                let ok = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8)
                try connection.send(isHostile ? Self.response(hostile.codings, hostile.body) : ok)
            }
        } _: { peer in
            try await withCurl { transport in
                for _ in 0..<3 {
                    let error = await failure {
                        let request = HTTPRequest(url: peer.url("/hostile"))
                        guard isStreamed else { return _ = try await transport.send(request, limits: .generous()) }
                        _ = try await transport.open(request, limits: .generous()).body.collect(upTo: 1 << 20)
                    }
                    #expect(error?.code == hostile.code)
                    let body = try await transport.get(peer.url("/short")).body
                    #expect(body == Data("ok".utf8))
                }
            }
        }
    }

    @Test("A turn of decoding over HTTP/2 is longer, but ends")
    func sharedTurns() {
        var turn = CurlTurn()
        let sizes = Array(repeating: CurlTurn.maximumSize, count: 17)
        let taken = sizes.map { turn.takes($0, in: 1, length: 16) }
        #expect(taken == Array(repeating: true, count: 16) + [false])
    }
}
