import Foundation
import FoundationNetworking
import HTTPSignatures
import MockNetworking
import Networking
import TestSupport
import Testing
import TokenGeneration

/// Responses over plain connections, whose signatures cover their requests.
@Suite(
    "HTTP message signatures: responses",
    .enabled(if: Interop.isPrepared, Interop.hint),
    .limitedConcurrency
)
struct SignedResponseServerTests {
    @Test("Our client verifies responses of http-message-signatures", arguments: SignaturePeer.algorithms)
    func theirs(algorithm: JWSAlgorithm) async throws {
        let url = try Interop.required("INTEROP_SIGNATURES") + "/orders/\(SignaturePeer.name(of: algorithm))?state=open"
        try await SignedClient(algorithm: algorithm).run { client in
            for method in ["GET", "POST"] {
                let record = try await SignaturePeer.record(client, .order(url, method: method))
                #expect(record.accepted, "\(method): \(record.reason)")
            }
        }
        // A client with other keys rejects the same responses.
        let other: JWSAlgorithm = algorithm == .es256 ? .ed25519 : .es256
        try await SignedClient(algorithm: other).run { client in
            await #expect(throws: HTTPSignatureError(.unknownKey, "")) {
                try await SignaturePeer.record(client, .order(url))
            }
        }
        try InteropMatrix.recordSignatures("its responses", algorithm)
    }

    @Test(
        "Our client rejects responses of http-message-signatures after any change",
        arguments: SignedServer.Change.allCases
    )
    func theirsChanged(change: SignedServer.Change) async throws {
        for algorithm in SignaturePeer.algorithms {
            let url = try Interop.required("INTEROP_SIGNATURES") + "/orders/\(SignaturePeer.name(of: algorithm))"
            var request = try URLRequest.order(url)
            request.setValue(change.rawValue, forHTTPHeaderField: "X-Change")
            try await SignedClient(algorithm: algorithm).run { client in
                await #expect(throws: HTTPSignatureError(change.code, "")) {
                    try await SignaturePeer.record(client, request)
                }
            }
        }
    }

    @Test("http-message-signatures verifies our responses", arguments: SignaturePeer.algorithms)
    func ours(algorithm: JWSAlgorithm) async throws {
        try await SignedServer(algorithm: algorithm).run { server in
            for method in ["GET", "POST"] {
                let url = server.url(for: "/orders?state=open").absoluteString
                let answer = try await SignaturePeer.send(.standard(url, algorithm, method: method))
                #expect(answer.status == 200 && answer.reason.isEmpty, "\(method): \(answer)")
            }
        }
        try InteropMatrix.recordSignatures("our responses", algorithm)
    }

    @Test("Both sides reject our responses after any change", arguments: SignedServer.Change.allCases)
    func oursChanged(change: SignedServer.Change) async throws {
        for algorithm in SignaturePeer.algorithms {
            try await SignedServer(algorithm: algorithm, change: change).run { server in
                let url = server.url(for: "/orders?state=open").absoluteString
                let answer = try await SignaturePeer.send(.standard(url, algorithm))
                #expect(answer.own.isEmpty)
                #expect(answer.reason.hasPrefix("InvalidSignature"), "\(answer.reason)")
                try await SignedClient(algorithm: algorithm).run { client in
                    await #expect(throws: HTTPSignatureError(change.code, "")) {
                        try await client.makeRequest(.order(url))
                    }
                }
            }
        }
    }
}
