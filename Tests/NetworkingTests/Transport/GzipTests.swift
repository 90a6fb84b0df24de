import Foundation
import TestPrograms
import Testing

@testable import Networking

@Suite("Gzip", .serialized)
struct GzipTests {
    @Test(
        "Codes bodies of any size so that the system's gzip decodes them",
        arguments: [1000, 65_535, 65_536, 300_000, 3_000_001]
    )
    func sizes(_ size: Int) throws {
        let body = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 / 7 &* $0 / 11 & 0x0F) })
        let coded = try #require(Gzip.coded(body))
        #expect(coded.count < size)
        let result = try ProgramResult.blocking("/usr/bin/gzip", ["-dc"], input: coded)
        #expect(Data(result.output) == body)
    }

    @Test("Contains no time, so that the same body is always coded the same")
    func time() throws {
        let coded = try #require(Gzip.coded(Data(count: 1000)))
        // RFC 1952 §2.3.1: the modification time.
        #expect(Array(coded.dropFirst(4).prefix(4)) == [0, 0, 0, 0])
    }

    @Test("Codes a part of other data")
    func slice() throws {
        let data = Data((0..<2000).map { UInt8(truncatingIfNeeded: $0 / 100) })
        #expect(Gzip.coded(data[500..<1500]) == Gzip.coded(Data(data[500..<1500])))
    }

    @Test("Returns nothing for data that doesn't become smaller", arguments: [0, 1, 2, 20, 10_000])
    func incompressible(_ size: Int) {
        var state: UInt64 = 1
        let noise = Data(
            (0..<size).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return UInt8(truncatingIfNeeded: state >> 33)
            }
        )
        #expect(Gzip.coded(noise) == nil)
    }
}
