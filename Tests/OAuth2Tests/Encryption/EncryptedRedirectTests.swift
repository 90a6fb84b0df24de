import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing
import TokenGeneration

@testable import OAuth2

/// Encrypted authorization responses that a program on the user's machine receives.
@Suite("Encrypted authorization responses on a loopback address", .limitedConcurrency)
struct EncryptedRedirectTests {
    @Test("Receives only the encrypted response to the request", .shows("G13"))
    func receiver() async throws {
        try await ServerFixture.with { fixture in
            let peer = try EncryptedPeer(fixture, .authorizationResponse, .rsaOAEP256, .a256GCM)
            var reader = SignedResponseVerifier(keys: .fixed(fixture.server.keys), algorithms: [.es256])
            reader.decrypter = try peer.decrypter()
            let verifier = reader
            let receiver = try LoopbackRedirectReceiver(patience: .seconds(300))
            let uri = receiver.redirectURI
            let request = try peer.client.authorizationRequest(redirectURI: uri, responseMode: .jwt)
            let other = try peer.client.authorizationRequest(redirectURI: uri, responseMode: .jwt)
            async let redirect = receiver.redirect(for: request, verifiedBy: verifier)
            let faults: [MockAuthorizationServer.EncryptionFault?] = [nil, .unencrypted, .wrongKey, nil]
            for (asked, fault) in zip([other, request, request, request], faults) {
                if let fault { fixture.server.misbehave(at: .authorization, .encryption(fault)) }
                let url = try await fixture.server.visit(asked.url(at: peer.client.server), client: fixture.network)
                let status = try? await fixture.network.response(for: URLRequest(url: url)).status
                #expect((status == 200) == (asked.state == request.state && fault == nil))
            }
            let grant = try await request.grant(from: redirect, of: peer.client.server, verifiedBy: verifier)
            _ = try await peer.client.tokens(for: grant)
        }
    }
}
