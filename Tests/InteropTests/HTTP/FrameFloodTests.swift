import Foundation
import Networking
import Testing

/// An HTTP/2 server that sends useless frames endlessly (`Tests/Interop/frame_peer.py`).
@Suite("CurlTransport and frame floods", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct FrameFloodTests {
    @Test("Closes a connection with a frame flood, and continues on others")
    func floods() async throws {
        for kind in ["PING", "SETTINGS", "WINDOW_UPDATE", "PRIORITY", "unknown", "empty DATA"] {
            let transport = try CurlTransport(
                configuration: .init(proxy: .none, tls: TLSPeer.trust())
            )
            let flood = Task {
                let request = HTTPTransportRequest(url: try TLSPeer.url("FRAMES", "/"))
                return try await transport.send(request, limits: .init(deadline: .now + .seconds(60)))
            }
            for _ in 0..<20 {
                let request = HTTPTransportRequest(url: try TLSPeer.url("HTTPS2", "/connection"))
                #expect(try await transport.send(request, limits: .init()).status == 200)
            }
            let error = await #expect(throws: NetworkError.self) { try await flood.value }
            #expect(error?.code == .invalidResponse, "\(kind): \(String(describing: error))")
            await transport.close()
        }
    }
}
