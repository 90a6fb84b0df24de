import Foundation
import MockNetworking
import Networking
import Synchronization
import TokenGeneration

@testable import HTTPSignatures

/// A loopback server that verifies the signatures of the requests it receives.
final class SigningServer: Sendable {
    struct Record: Sendable {
        let request: LoopbackRequest
        let result: Result<VerifiedMessage, HTTPSignatureError>

        var code: HTTPSignatureError.Code? {
            if case .failure(let error) = result { error.code } else { nil }
        }
        var input: String { request.headers["Signature-Input"] ?? "" }
    }

    let server: LoopbackServer
    private let records = Mutex<[Record]>([])

    init(_ server: LoopbackServer) {
        self.server = server
    }

    var requests: [Record] { records.withLock { $0 } }

    /// Verifies a request over the bytes that arrived.
    func verify(
        _ request: LoopbackRequest,
        _ verifier: MessageVerifier
    ) async -> Result<VerifiedMessage, HTTPSignatureError> {
        let message = HTTPMessage(
            method: request.method,
            target: request.target,
            at: server.baseURL.absoluteString,
            headers: request.headers,
            trailers: request.trailers
        )
        let result: Result<VerifiedMessage, HTTPSignatureError>
        do throws(HTTPSignatureError) {
            result = .success(try await verifier.verify(message, body: request.body))
        } catch {
            result = .failure(error)
        }
        records.withLock { $0.append(Record(request: request, result: result)) }
        return result
    }

    /// Adds a route that answers verified requests with a closure, and others as the error says.
    func on(
        _ path: String,
        _ verifier: MessageVerifier,
        _ respond: @escaping @Sendable (LoopbackRequest, VerifiedMessage) async throws -> LoopbackResponse
    ) {
        server.onAnyMethod(path) { [self] request in
            switch await verify(request, verifier) {
            case .success(let verified): return try await respond(request, verified)
            case .failure(let error): return .status(error.status, headers: error.headers)
            }
        }
    }
}
