import Foundation
import TestSupport
import Testing

@testable import Networking

/// HTTP/2 bodies without a length that an error of the connection cuts.
@Suite("HTTP/2 bodies that end with their connection", .limitedConcurrency)
struct CutStreamTests {
    /// An end of a connection in the middle of a body.
    enum Ending: CaseIterable {
        case close, reset, goAway, goAwayWithError, dataOnConnection, headersOnConnection, largeFrame, pingSize
        case settingsSize, settingsOnStream, settingsValue, windowOverflow, windowIncrement, continuation, pushPromise
        case resetSize, idleReset, headerBlock, priorityOnConnection

        /// The frames after the first part of the body.
        var frames: [HTTP2Frame] {
            let frame = { HTTP2Frame($0, flags: $1, stream: $2, $3) }
            return switch self {
            case .close, .reset: []
            case .goAway: [.goAway(lastStream: 1)]
            case .goAwayWithError: [frame(7, 0, 0, [0, 0, 0, 1, 0, 0, 0, 2])]
            case .dataOnConnection: [frame(0, 0, 0, [1])]
            case .headersOnConnection: [frame(1, 4, 0, [0x88])]
            case .largeFrame: [frame(0, 0, 1, [UInt8](repeating: 0, count: 1 << 17))]
            case .pingSize: [frame(6, 0, 0, [1])]
            case .settingsSize: [frame(4, 0, 0, [1])]
            case .settingsOnStream: [frame(4, 0, 1, [])]
            case .settingsValue: [frame(4, 0, 0, [0, 4, 0xFF, 0xFF, 0xFF, 0xFF])]
            case .windowOverflow: [frame(8, 0, 0, [0x7F, 0xFF, 0xFF, 0xFF])]
            case .windowIncrement: [frame(8, 0, 0, [0, 0, 0, 0])]
            case .continuation: [frame(9, 4, 1, [0x88])]
            case .pushPromise: [frame(5, 4, 1, [0, 0, 0, 2, 0x88])]
            case .resetSize: [frame(3, 0, 1, [1])]
            case .idleReset: [frame(3, 0, 9, [0, 0, 0, 0])]
            case .headerBlock: [frame(1, 5, 1, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])]
            case .priorityOnConnection: [frame(2, 0, 0, [0, 0, 0, 0, 0])]
            }
        }

        func happen(on connection: TCPPeer.Connection) throws {
            try connection.send([.head(200)])
            try connection.sendApart([.data("first part ")])
            try connection.send(frames)
            if self == .reset { connection.reset() } else { connection.close() }
        }
    }

    private var configuration: CurlTransport.Configuration {
        var configuration = CurlTransport.Configuration(proxy: .none)
        configuration.protocolVersion = .http2PriorKnowledge
        return configuration
    }

    private func withServer(
        _ respond: @escaping @Sendable (TCPPeer.Connection) throws -> Void,
        _ test: (CurlTransport, URL) async throws -> Void
    ) async throws {
        try await withPeer { connection in
            try connection.beginHTTP2()
            try connection.readFrames(to: \.endsStream)
            try respond(connection)
        } _: { peer in
            try await withCurl(configuration) { try await test($0, peer.url) }
        }
    }

    @Test("The body fails", arguments: Ending.allCases, [false, true])
    func body(_ ending: Ending, isStreamed: Bool) async throws {
        try await withServer(ending.happen) { transport, url in
            let error = await failure {
                guard isStreamed else { return _ = try await transport.get(url) }
                let response = try await transport.open(HTTPRequest(url: url), limits: .generous())
                _ = try await response.body.collect(upTo: 1 << 20)
            }
            #expect([.connectionLost, .invalidResponse].contains(error?.code), "\(String(describing: error))")
        }
    }

    @Test("A download doesn't create the file", .shows("H17"), arguments: Ending.allCases)
    func download(_ ending: Ending) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "cut-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await withServer(ending.happen) { transport, url in
            let file = folder.appending(path: "file")
            let client = NetworkClient(transport: transport)
            let error = await failure { _ = try await client.download(url, to: file).value }
            #expect([.connectionLost, .invalidResponse].contains(error?.code), "\(String(describing: error))")
            #expect(!FileManager.default.fileExists(atPath: file.path))
        }
    }

    @Test("A body that ended before its connection succeeds", arguments: [true, false])
    func complete(hasLength: Bool) async throws {
        try await withServer { connection in
            try connection.send([.head(200, length: hasLength ? 5 : nil), .data("hello", ends: true)])
            // The client answers the frame when it has read the body.
            try connection.sendApart([.settings])
            connection.close()
        } _: { transport, url in
            let body = try await transport.get(url).body
            #expect(body == Data("hello".utf8))
        }
    }
}
