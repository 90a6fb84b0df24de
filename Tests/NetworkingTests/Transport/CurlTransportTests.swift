import Foundation
import Networking
import TestSupport
import Testing

@Suite("CurlTransport", .limitedConcurrency)
struct CurlTransportTests {
    @Test("Describes its engine")
    func engineDescription() async throws {
        let transport = try CurlTransport()
        #expect(transport.engineDescription.hasPrefix("libcurl/"))
        #expect(transport.engineDescription.contains("OpenSSL/"))
        await transport.close()
        await transport.close()
    }

    @Test("Sends `Expect: 100-continue` at the caller's request and waits for the interim response")
    func expectContinue() async throws {
        try await withPeer { connection in
            var head = ""
            while !head.hasSuffix("\r\n\r\n") { head += String(decoding: try connection.read(1), as: UTF8.self) }
            try connection.send(head.contains("Expect: 100-continue\r\n") ? "HTTP/1.1 100 Continue\r\n\r\n" : "")
            var body: [UInt8] = []
            while body.count < 5 { body += try connection.read(5 - body.count) }
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
            try connection.send(body)
            try connection.waitForClose()
        } _: { peer in
            try await withCurl { transport in
                let request = HTTPTransportRequest(
                    method: .put,
                    url: peer.url,
                    headers: ["Expect": "100-continue"],
                    body: .data(Data("hello".utf8))
                )
                let response = try await transport.send(request, limits: .generous())
                #expect(response.status == 200)
                #expect(response.body == Data("hello".utf8))
            }
        }
    }

    @Test("Resends a large body from the start after its kept connection died")
    func rewoundBody() async throws {
        let body = Data((0..<200_000).map { UInt8(truncatingIfNeeded: UInt32($0) % 26 + 97) })
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            guard connection.number > 0 else {
                try connection.readRequest()
                return connection.close()
            }
            try connection.waitForClose()
        } _: { peer in
            try await withCurl { transport in
                _ = try await transport.get(peer.url)
                let request = HTTPTransportRequest(method: .put, url: peer.url, body: .data(body))
                let response = try await transport.send(request, limits: .generous())
                #expect(response.status == 200)
            }
            let text = String(decoding: body, as: UTF8.self)
            let sent = peer.requests.filter { $0.hasPrefix("PUT") }
            #expect(sent.count == 2)
            #expect(sent.allSatisfy { $0.hasSuffix("\r\n\r\n" + text) })
        }
    }

    @Test("Sends a body that's a slice of other data")
    func slicedBody() async throws {
        for size in [10, 100_000] {
            let whole = Data(repeating: UInt8(ascii: "."), count: 7) + Data(repeating: UInt8(ascii: "x"), count: size)
            try await withPeer { connection in
                try connection.readRequest()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                try connection.waitForClose()
            } _: { peer in
                try await withCurl { transport in
                    let request = HTTPTransportRequest(method: .put, url: peer.url, body: .data(whole.dropFirst(7)))
                    _ = try await transport.send(request, limits: .generous())
                }
                #expect(peer.requests.first?.hasSuffix("\r\n\r\n" + String(repeating: "x", count: size)) == true)
            }
        }
    }
}
