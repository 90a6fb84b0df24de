import Foundation
import FoundationNetworking
import Networking
import OAuth2
import Testing
import TokenGeneration

@Suite("OAuth 2 servers: devices", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct DeviceServerTests {
    @Test("A device gets tokens when its user approves, and an error when they deny", arguments: OAuth2Peer.allCases)
    func device(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Device authorization", peer) {
            if peer == .idpyoidc {
                let server = try await peer.server()
                #expect(server.deviceAuthorizationEndpoint == nil)
                #expect(try await !peer.mentions("device_authorization_endpoint"))
                let type = "urn:ietf:params:oauth:grant-type:device_code"
                let grant = ExtensionGrant(type: type, identifier: "device", isRepeatable: true) {
                    [("device_code", "a")]
                }
                #expect(try await peer.isRefusalOfGrant(peer.refusal(of: grant)))
                return .lacks
            }
            if peer == .django {
                var server = try await peer.server()
                server.deviceAuthorizationEndpoint = URL(string: try peer.base + "/device-authorization/")
                let oauth = OAuth2Client(
                    server: server,
                    clientAuthentication: .none(clientID: "device"),
                    client: peer.client,
                    timing: .init(attempts: 1)
                )
                let error = await #expect(throws: OAuth2Error.self) { try await oauth.authorizeDevice(scope: "read") }
                #expect(error?.status == 500)
                return .differs("responds to all devices with 500 under oauthlib 4; its metadata lacks the endpoint")
            }
            let oauth = try await peer.oauth()
            let begun = try await oauth.authorizeDevice(scope: peer == .glewlwyd ? "openid read" : "read")
            #expect(!begun.userCode.isEmpty)
            // This device polls too often, and its user approves after the slow_down.
            let device = DeviceAuthorization(
                deviceCode: begun.deviceCode,
                userCode: begun.userCode,
                verificationURI: begun.verificationURI,
                expiry: begun.expiry,
                interval: .seconds(1)
            )
            if peer == .authlib {
                _ = try await peer.post("/test/device", ["user_code": device.userCode, "hurries": "yes"])
            }
            let (events, continuation) = AsyncStream.makeStream(of: DeviceAuthorizationProgress.Event.self)
            async let user: Void = {
                for await event in events where event == .slowedDown { try await letIn(device, at: peer) }
            }()
            var seen: [DeviceAuthorizationProgress.Event] = []
            let result = await tokens(of: oauth, device) {
                seen.append($0)
                continuation.yield($0)
            }
            continuation.finish()
            try await user
            #expect(seen.first == .begun && seen.contains(.slowedDown))
            if peer == .glewlwyd { #expect(seen.contains(.pending)) }
            #expect(try await oauth.introspect(result.get().accessToken.value).isActive)
            guard peer == .authlib else { return .passed }
            let refused = try await oauth.authorizeDevice(scope: "read")
            _ = try await peer.post("/test/device", ["user_code": refused.userCode, "allowed": "no"])
            let error = await #expect(throws: OAuth2Error.self) { try await oauth.tokens(for: refused) }
            #expect(error?.code == .authorizationDenied)
            return .passed
        }
    }

    private func tokens(
        of oauth: OAuth2Client,
        _ device: DeviceAuthorization,
        events: (DeviceAuthorizationProgress.Event) -> Void
    ) async -> Result<IssuedTokens, any Error> {
        do {
            return .success(try await oauth.tokens(for: device) { events($0.event) })
        } catch {
            return .failure(error)
        }
    }

    /// Approves a device as the user.
    private func letIn(_ device: DeviceAuthorization, at peer: OAuth2Peer) async throws {
        guard peer == .glewlwyd else {
            _ = try await peer.post("/test/device", ["user_code": device.userCode, "allowed": "yes"])
            return
        }
        let text = "\(device.verificationURI.absoluteString)?code=\(device.userCode)&g_continue"
        var request = URLRequest(url: try #require(URL(string: text)))
        request.setValue(try await peer.glewlwydSession(), forHTTPHeaderField: "Cookie")
        let browser = NetworkClient(options: .init(timeout: .seconds(120), redirects: .never))
        let redirect = await #expect(throws: ServerError.self) { try await browser.makeRequest(request) }
        #expect(redirect?.headers["Location"]?.contains("deviceComplete") == true)
    }
}
