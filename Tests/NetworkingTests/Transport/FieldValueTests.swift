import Foundation
import TestSupport
import Testing

@testable import Networking

@Suite("Control characters in responses' fields", .limitedConcurrency)
struct FieldValueTests {
    private static let controls: [UInt8] = (0..<0x20).filter { ![0x09, 0x0A, 0x0D].contains($0) } + [0x7F]

    private func read(_ line: [UInt8]) throws -> [HTTPHeaders.Field] {
        var reader = ResponseHeadReader(maximumSize: 1_000)
        for line in [Array("HTTP/1.1 200 OK\r\n".utf8), line + [13, 10], [13, 10]] { try reader.read(line: line.span) }
        return reader.headers
    }

    @Test("A control character in a value is rejected", .shows("H4"), arguments: controls)
    func rejected(_ control: UInt8) throws {
        for value in [[control], [0x61, control], [control, 0x61]] {
            #expect(throws: NetworkError(.invalidResponse, "")) { try read(Array("Name: ".utf8) + value) }
        }
    }

    @Test("A tab and bytes beyond ASCII are accepted")
    func accepted() throws {
        #expect(try read(Array("Name: a\tö".utf8)).map(\.value) == ["a\tö"])
    }

    @Test("A control character in a continuation line is rejected")
    func continuation() {
        var reader = ResponseHeadReader(maximumSize: 1_000)
        #expect(throws: NetworkError(.invalidResponse, "")) {
            for line in ["HTTP/1.1 200 OK\r\n", "Name: a\r\n", "\tb\u{1B}\r\n"] {
                try reader.read(line: Array(line.utf8).span)
            }
        }
    }

    @Test("A trailer field with a control character is ignored", arguments: controls)
    func trailers(_ control: UInt8) throws {
        var reader = ResponseHeadReader(maximumSize: 1_000)
        let lines = ["HTTP/1.1 200 OK\r\n", "\r\n"].map { Array($0.utf8) }
        let trailers = [Array("One: a".utf8) + [control, 0x62, 13, 10], Array("Two: b\r\n".utf8)]
        for line in lines + trailers { try reader.read(line: line.span) }
        #expect(reader.trailers.map(\.name) == ["Two"])
    }

    @Test("The transport rejects the response")
    func transport() async throws {
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nName: a\u{1B}[2Jb\r\nContent-Length: 0\r\n\r\n")
            try connection.waitForClose()
        } _: { peer in
            try await withCurl { transport in
                let error = await failure { _ = try await transport.get(peer.url) }
                #expect(error?.code == .invalidResponse)
            }
        }
    }
}
