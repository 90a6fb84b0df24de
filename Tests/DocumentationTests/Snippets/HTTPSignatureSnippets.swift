import Foundation
import FoundationNetworking
import HTTPSignatures
import MockNetworking
import Networking
import TestSupport
import Testing
import TokenGeneration

/// The samples of “Signing messages”, run with a loopback server.
@Suite("HTTP signature samples", .limitedConcurrency)
struct HTTPSignatureSnippets {
    struct Guard: Sendable {
        let verifier: MessageVerifier

        init(key: VerificationKey) throws {
            verifier = try MessageVerifier(
                profile: .standard,
                keys: SignatureKeys(key),
                replayCache: InMemoryReplayCache()
            )
        }

        /// Returns the ID of the key that signed a request, or the refusal.
        func sender(
            of message: HTTPMessage,
            body: Data
        ) async -> Result<String?, HTTPSignatureError> {
            do {
                return .success(try await verifier.verify(message, body: body).keyID)
            } catch {
                return .failure(error)
            }
        }
    }

    @Test("Accepts signed requests and rejects others")
    func orders() async throws {
        let key = try SigningKey.generate(.ed25519).identified(by: "shop")
        try await withLoopbackServer { server async throws in
            let gatekeeper = try Guard(key: key.verificationKey)
            let origin = server.baseURL.absoluteString
            server.on(.post, "/orders") { request in
                let message = HTTPMessage(
                    method: request.method,
                    target: request.target,
                    at: origin,
                    headers: request.headers
                )
                switch await gatekeeper.sender(of: message, body: request.body) {
                case .success(let sender): return .text(sender ?? "")
                case .failure(let error): return .status(error.status, headers: error.headers)
                }
            }
            var request = URLRequest(url: server.url(for: "/orders"))
            request.httpMethod = "POST"
            request.httpBody = Data(#"{"item":1}"#.utf8)
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")

            let signer = try MessageSigner(key: key, profile: .standard)
            let client = NetworkClient(interceptors: [RequestSigner(signer)])
            #expect(try await client.makeRequest(request) == Data("shop".utf8))

            let refusal = await #expect(throws: ServerError.self) {
                _ = try await NetworkClient().makeRequest(request)
            }
            #expect(refusal?.errorCode == 401)
            #expect(refusal?.headers["Accept-Signature"] != nil)
        }
    }
}
