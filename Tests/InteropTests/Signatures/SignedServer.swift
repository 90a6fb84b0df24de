import Foundation
import HTTPSignatures
import MockNetworking
import Networking
import OAuth2
import Testing
import TokenGeneration

/// A server of the library that verifies requests and signs its responses.
struct SignedServer: Sendable {
    /// A change of a signed response that the signature must detect.
    enum Change: String, CaseIterable, Sendable {
        case status, field, body, request

        var code: HTTPSignatureError.Code { self == .body ? .digestMismatch : .signatureInvalid }
    }

    var algorithm: JWSAlgorithm
    var profile = SignatureProfile.standard
    var responseProfile = SignatureProfile.standardResponse
    /// The origin that clients use instead of the server's own, with the path of the server in it.
    var externalOrigin: String?
    var change: Change?

    /// Runs a test with the server. Its response has the code of the rejection or, with 200, the
    /// key's ID.
    @discardableResult
    func run<Result>(_ test: (LoopbackServer) async throws -> Result) async throws -> Result {
        let verifier = try MessageVerifier(
            profile: profile,
            keys: SignatureKeys(SignaturePeer.key(algorithm, of: .client).verificationKey),
            replayCache: InMemoryReplayCache()
        )
        let signer = try MessageSigner(key: SignaturePeer.key(algorithm, of: .server), profile: responseProfile)
        return try await withLoopbackServer { server in
            let own = server.baseURL.absoluteString
            server.fallback { [externalOrigin, change, port = server.port] request in
                let isInner = externalOrigin != nil && request.target.hasPrefix("/inner/")
                let message = HTTPMessage(
                    method: request.method,
                    target: isInner ? "/to/\(port)" + request.target.dropFirst("/inner".count) : request.target,
                    at: isInner ? externalOrigin ?? own : own,
                    headers: request.headers
                )
                let (status, text): (Int, String)
                do throws(HTTPSignatureError) {
                    (status, text) = (200, try await verifier.verify(message, body: request.body).keyID ?? "")
                } catch {
                    (status, text) = (error.status, error.code.description)
                }
                return try await Self.response(status, Data(text.utf8), to: message, signer, change)
            }
            return try await test(server)
        }
    }

    private static func response(
        _ status: Int,
        _ content: Data,
        to request: HTTPMessage,
        _ signer: MessageSigner,
        _ change: Change?
    ) async throws -> LoopbackResponse {
        var response = LoopbackResponse(status: status, headers: ["Content-Type": "text/plain"], body: content)
        var answered = request
        if change == .request { answered.headers["Content-Digest"] = try HTTPDigest(of: Data("other".utf8)).fieldValue }
        let message = HTTPMessage(status: status, headers: response.headers, request: answered)
        for field in try await signer.sign(message, body: .data(content)) {
            response.headers[field.name] = field.value
        }
        switch change {
        case .status: response.status = 203
        case .field: response.headers["Content-Type"] = "text/html"
        case .body:
            response = LoopbackResponse(status: status, headers: response.headers, body: Data(content.reversed()))
        case .request, nil: break
        }
        return response
    }
}
