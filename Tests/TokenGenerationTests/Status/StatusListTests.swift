import Foundation
import OpenSSLCrypto
import TestSupport
import TestVectors
import Testing
import TokenGeneration

@Suite("Status lists", .computing)
struct StatusListTests {
    private struct Lists: Decodable {
        struct Sample: Decodable {
            let id: String
            let bits: Int
            let size: Int
            let statuses: [[Int]]
            let lst: String
        }

        let lists: [Sample]
    }

    private static func samples() throws -> [Lists.Sample] {
        try Vector.decode("token-status-list", as: Lists.self).lists
    }

    @Test(
        "Reads and sets every status of the draft's lists, and compresses them to the same text",
        .shows("J27", "Status List §4.1, C")
    )
    func vectors() throws {
        for sample in try Self.samples() {
            let json: JSONObject = ["bits": .number(JSONNumber(sample.bits)), "lst": .string(sample.lst)]
            let list = try StatusList(json: json)
            #expect(list.bits.rawValue == sample.bits)
            #expect(list.count == sample.size, "\(sample.id)")
            let stated = Dictionary(uniqueKeysWithValues: sample.statuses.map { ($0[0], UInt8($0[1])) })
            let wrong = (0..<sample.size).first { list[$0]?.rawValue != stated[$0, default: 0] }
            #expect(wrong == nil, "\(sample.id)")
            var filled = try StatusList(count: sample.size, bits: list.bits)
            for status in sample.statuses {
                try filled.set(TokenStatus(rawValue: UInt8(status[1])), at: status[0])
            }
            #expect(filled == list, "\(sample.id)")
            // zlib's output isn't specified, but hasn't changed in decades.
            let text = try list.json()
            #expect(text == json, "\(sample.id)")
        }
    }

    @Test(
        "Changes one status and leaves its neighbors",
        .shows("Status List §4.1, C"),
        arguments: StatusList.Bits.allCases
    )
    func neighbors(bits: StatusList.Bits) throws {
        let highest = TokenStatus(rawValue: UInt8(1 << bits.rawValue - 1))
        for filling in [TokenStatus.valid, highest] {
            var list = try StatusList(count: 32, bits: bits, filledWith: filling)
            let other = filling == .valid ? highest : .valid
            for index in 0..<32 {
                try list.set(other, at: index)
                #expect((0..<32).allSatisfy { list[$0] == ($0 == index ? other : filling) })
                try list.set(filling, at: index)
            }
        }
    }

    @Test("Rounds the count up to whole bytes, and has no status beyond", .shows("U1"))
    func bounds() throws {
        let list = try StatusList(count: 9, bits: .two, filledWith: .suspended)
        #expect(list.count == 12)
        #expect(list[11] == .suspended)
        for index in [12, -1, .min, .max] { #expect(list[index] == nil) }
    }

    @Test("Refuses counts, indices and statuses that a list can't have")
    func refused() throws {
        for count in [0, -1, .min, .max, (1 << 31) + 1] {
            #expect(code { try StatusList(count: count) } == .unencodableContent)
        }
        #expect(code { try StatusList(count: 8, filledWith: .suspended) } == .unencodableContent)
        var list = try StatusList(count: 8)
        for index in [8, -1, .min, .max] {
            #expect(code { try list.set(.invalid, at: index) } == .unencodableContent)
        }
        #expect(code { try list.set(.suspended, at: 0) } == .unencodableContent)
        let untouched = try StatusList(count: 8)
        #expect(list == untouched)
    }

    @Test(
        "Refuses a list with other bits",
        .shows("U2", "Status List §4.2"),
        arguments: [0, 3, 5, 16, -1, nil, "1", true, 1.5, ["1"]] as [JSONValue?]
    )
    func bits(value: JSONValue?) {
        var json: JSONObject = ["lst": "eNrbuRgAAhcBXQ"]
        json["bits"] = value
        #expect(code { try StatusList(json: json) } == .malformedClaim)
    }

    @Test("Refuses a list that isn't base64url of one complete zlib stream", .shows("U4", "Status List §4.2"))
    func malformed() throws {
        let good = try Base64URL.decode("eNrbuRgAAhcBXQ")
        var wrongSum = good
        wrongSum[good.count - 1] ^= 1
        let streams: [[UInt8]] = [
            [], [0x78], good + [0], good + good, wrongSum,
            // Raw DEFLATE and gzip.
            Array(good.dropFirst(2).dropLast(4)), [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            // A preset dictionary.
            [0x78, 0xF9, 0, 0, 0, 1, 3, 0, 0, 0, 0, 1],
            // No byte at all, and so no status.
            [0x78, 0xDA, 3, 0, 0, 0, 0, 1],
        ]
        for stream in streams {
            let text = Base64URL.encode(stream)
            #expect(code { try StatusList(json: ["bits": 1, "lst": .string(text)]) } == .malformedClaim)
        }
        for count in 0..<good.count {
            let text = Base64URL.encode(Array(good[..<count]))
            #expect(code { try StatusList(json: ["bits": 1, "lst": .string(text)]) } == .malformedClaim)
        }
        for value: JSONValue? in [nil, 1, .null, "eNrbuRgAAhcBXQ==", "eNrbuRgAAhcBX+", "eNrbuRgAAhcBXR"] {
            var json: JSONObject = ["bits": 1]
            json["lst"] = value
            #expect(code { try StatusList(json: json) } == .malformedClaim)
        }
        let json: JSONObject = ["bits": 1, "lst": "eNrbuRgAAhcBXQ", "aggregation_uri": 1]
        #expect(code { try StatusList(json: json) } == .malformedClaim)
    }

    @Test("Stops decompressing a list at the maximum size", .shows("U3", "Status List §4.2", "RFC 8725bis §3.15"))
    func bomb() throws {
        // 5 MiB of zeros in 5 KB.
        let bomb = try StatusList(count: 5 << 23).json()
        #expect(bomb.serialized().utf8.count < 8_000)
        #expect(code { try StatusList(json: bomb) } == .tooLarge)
        let list = try StatusList(json: bomb, maximumSize: 5 << 20)
        #expect(list.count == 5 << 23)
        #expect(code { try StatusList(json: bomb, maximumSize: (5 << 20) - 1) } == .tooLarge)
        #expect(code { try StatusList(json: bomb, maximumSize: 0) } == .tooLarge)
        #expect(code { try StatusList(json: bomb, maximumSize: .min) } == .tooLarge)
    }

    @Test("Any single changed bit gives an error or the same statuses", .shows("U4"))
    func mutations() throws {
        let good = try Base64URL.decode(Self.samples()[2].lst)
        let original = try StatusList(json: ["bits": 1, "lst": .string(Self.samples()[2].lst)])
        for bit in 0..<good.count * 8 {
            var changed = good
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            let json: JSONObject = ["bits": 1, "lst": .string(Base64URL.encode(changed))]
            // Some distances lead to the same zeros. The checksum notices other statuses.
            let result = Result { try StatusList(json: json) }
            switch result {
            case .success(let list): #expect(list == original, "bit \(bit)")
            case .failure(let error): #expect((error as? TokenError)?.code == .malformedClaim, "bit \(bit)")
            }
        }
    }

    @Test("Describes registered statuses by name, and others by number", .shows("Status List §7.1"))
    func names() {
        let names = [0, 1, 2, 3, 12, 255].map { TokenStatus(rawValue: $0).description }
        #expect(names == ["valid", "invalid", "suspended", "0x03", "0x0C", "0xFF"])
    }
}
