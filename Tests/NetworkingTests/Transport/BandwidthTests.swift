import Foundation
import FoundationNetworking
import MockNetworking
import Synchronization
import TestSupport
import Testing

@testable import Networking

@Suite("Limits of the bandwidth", .limitedConcurrency)
struct BandwidthTests {
    private static let rate = 16 << 10
    private static var content: String { String(repeating: "0123456789abcdef", count: 40 << 6) }

    /// The least time for the content: without its last part, which is at most one second's, and
    /// without the unused bandwidth that may be used later.
    private static let shortest = Duration.seconds(1) * (content.utf8.count - rate) / rate - .milliseconds(100)

    private func withSource(_ test: (TCPPeer) async throws -> Void) async throws {
        try await withPeer { connection in
            while true {
                try connection.readRequest()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(Self.content.utf8.count)\r\n\r\n")
                try connection.send(Self.content)
            }
        } _: {
            try await test($0)
        }
    }

    private func limits(download: Int? = nil, upload: Int? = nil) -> HTTPTransportLimits {
        var limits = HTTPTransportLimits.generous()
        (limits.maximumDownloadRate, limits.maximumUploadRate) = (download, upload)
        return limits
    }

    @Test("A download takes at least as long as its limit requires", arguments: [true, false])
    func download(isStreamed: Bool) async throws {
        try await withSource { peer in
            try await withCurl { transport in
                let request = HTTPTransportRequest(url: peer.url)
                let begin = ContinuousClock.now
                let body =
                    if isStreamed {
                        try await transport.open(request, limits: limits(download: Self.rate)).body
                            .collect(upTo: .max)
                    } else {
                        try await transport.send(request, limits: limits(download: Self.rate)).body
                    }
                #expect(ContinuousClock.now - begin >= Self.shortest)
                #expect(body == Data(Self.content.utf8))
            }
        }
    }

    @Test("An upload takes at least as long as its limit requires", arguments: [true, false])
    func upload(isStreamed: Bool) async throws {
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 204 No Content\r\n\r\n")
            try connection.waitForClose()
        } _: { peer in
            try await withCurl { transport in
                let data = Data(Self.content.utf8)
                let body: HTTPBody =
                    isStreamed
                    ? .stream(length: data.count) {
                        AsyncStream { continuation in
                            continuation.yield(data)
                            continuation.finish()
                        }
                    } : .data(data)
                let request = HTTPTransportRequest(method: .put, url: peer.url, body: body)
                let begin = ContinuousClock.now
                let response = try await transport.send(request, limits: limits(upload: Self.rate))
                #expect(ContinuousClock.now - begin >= Self.shortest)
                #expect(response.status == 204)
            }
            #expect(peer.requests.first?.hasSuffix("\r\n\r\n" + Self.content) == true)
        }
    }

    @Test("Waits for as long as the average requires, and makes up for at most a tenth of a second")
    func pace() throws {
        let begin = ContinuousClock.now
        var pace = try #require(CurlPace(1000))
        #expect(CurlPace(nil) == nil)
        #expect(pace.wait(at: begin) == nil)
        pace.spend(500, at: begin)
        #expect(pace.wait(at: begin) == begin + .milliseconds(500))
        #expect(pace.wait(at: begin + .milliseconds(499)) == begin + .milliseconds(500))
        #expect(pace.wait(at: begin + .milliseconds(500)) == nil)
        // A delay of less than a tenth of a second is made up for, but not a longer one.
        pace.spend(500, at: begin + .milliseconds(550))
        #expect(pace.wait(at: begin + .milliseconds(550)) == begin + .milliseconds(1000))
        pace.spend(500, at: begin + .seconds(60))
        #expect(pace.wait(at: begin + .seconds(60)) == begin + .milliseconds(60_400))
    }

    @Test("A limited request has its own connection, and doesn't pass its limit on to others")
    func separation() async throws {
        try await withSource { peer in
            try await withCurl { transport in
                _ = try await transport.get(peer.url)
                let request = HTTPTransportRequest(url: peer.url)
                let handleLimits = limits(download: 1 << 30)
                _ = try await transport.send(request, limits: handleLimits)
                #expect(peer.acceptedCount == 2)
                _ = try await transport.get(peer.url)
                #expect(peer.acceptedCount == 2)
            }
        }
    }

    @Test(
        "Rejects a limit that's too low, naming it",
        arguments: [("maximumDownloadRate", 0, nil), ("maximumUploadRate", nil, 1023), ("maximumDownloadRate", -1, 9)]
            as [(String, Int?, Int?)]
    )
    func tooLow(name: String, download: Int?, upload: Int?) async throws {
        try await withCurl { transport in
            let request = HTTPTransportRequest(url: URL(string: "http://127.0.0.1:9/")!)
            let limits = limits(download: download, upload: upload)
            let error = await failure { _ = try await transport.send(request, limits: limits) }
            #expect(error?.code == .invalidRequest)
            #expect(error?.message.contains(name) == true)
        }
    }

    @Test("URLSessionTransport rejects limits, which it can't enforce")
    func urlSession() async throws {
        let transport = URLSessionTransport()
        let request = HTTPTransportRequest(url: URL(string: "http://127.0.0.1:9/")!)
        let error = await failure { _ = try await transport.send(request, limits: limits(upload: 4096)) }
        #expect(error?.code == .invalidRequest)
        await transport.close()
    }

    @Test("Options pass the limits to the transport, for requests and transfers")
    func options() async throws {
        let transport = MockTransport { _ in .init(status: 200) }
        let client = NetworkClient(transport: transport)
        let url = try #require(URL(string: "http://a.example/"))
        let options = RequestOptions(maximumDownloadRate: 2000, maximumUploadRate: 3000)
        _ = try await client.response(for: URLRequest(url: url), options: options)
        _ = try await client.upload(.data(Data([1])), to: url, options: UploadOptions(request: options)).value
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        _ = try await client.download(url, to: file, options: DownloadOptions(request: options)).value
        #expect(transport.requests.map(\.limits.maximumDownloadRate) == [2000, 2000, 2000])
        #expect(transport.requests.map(\.limits.maximumUploadRate) == [3000, 3000, 3000])
    }
}
