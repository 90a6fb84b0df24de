import Foundation
import FoundationNetworking
import HTTPSignatures
import MockNetworking
import Networking
import TestSupport
import Testing
import TokenGeneration

/// Requests over plain connections, signed by one side and verified by the other.
@Suite(
    "HTTP message signatures: requests",
    .enabled(if: Interop.isPrepared, Interop.hint),
    .limitedConcurrency
)
struct SignedRequestServerTests {
    @Test("http-message-signatures verifies our requests", .shows("P39"), arguments: SignaturePeer.algorithms)
    func ours(algorithm: JWSAlgorithm) async throws {
        let origin = try Interop.required("INTEROP_SIGNATURES")
        let path = try "/orders%2F1/\(SignaturePeer.name(of: algorithm))?state=open&q=a%20b+c"
        for (method, digest) in [("GET", HTTPDigest.Algorithm.sha256), ("POST", .sha256), ("PUT", .sha512)] {
            var profile = SignatureProfile.standard
            profile.digestAlgorithm = digest
            profile.sendsAlgorithm = digest == .sha512
            profile.lifetime = .seconds(60)
            let record = try await SignedClient(algorithm: algorithm, profile: profile).run { client in
                try await SignaturePeer.record(client, .order(origin + path, method: method))
            }
            #expect(record.accepted, "\(method): \(record.reason)")
            #expect(record.method == method && record.target == path)
            #expect(record.body == (method == "GET" ? Data() : MessageChange.content))
            let content = [#""content-digest""#, #""content-type""#, #""content-length""#]
            #expect(
                record.covered
                    == [#""@method""#, #""@target-uri""#] + (method == "GET" ? [] : content) + [#""authorization""#]
            )
            let digests = record.values("Content-Digest").map { $0.prefix(8) }
            #expect(digests == (method == "GET" ? [] : ["\(digest.rawValue)="]))
            #expect(record.values("Signature-Input").first?.contains(";alg=") == profile.sendsAlgorithm)
            let rejection = try await SignaturePeer.rejection(
                of: record.message(target: path, at: origin),
                body: record.body,
                .standard,
                algorithm
            )
            #expect(rejection == nil)
        }
        try InteropMatrix.recordSignatures("our requests", algorithm)
    }

    @Test("Both sides reject our requests after any change", arguments: MessageChange.allCases)
    func oursChanged(change: MessageChange) async throws {
        let origin = try Interop.required("INTEROP_SIGNATURES")
        for algorithm in SignaturePeer.algorithms {
            var signed = SignedClient(algorithm: algorithm, responseProfile: nil)
            signed.change = { try change.apply(&$0) }
            let record = try await signed.run { client in
                try await SignaturePeer.record(
                    client,
                    .order(origin + "/orders/\(SignaturePeer.name(of: algorithm))?state=open")
                )
            }
            #expect(!record.accepted && record.reason.hasPrefix("InvalidSignature"), "\(record.reason)")
            let rejection = try await SignaturePeer.rejection(
                of: record.message(target: record.target, at: origin),
                body: record.body,
                .standard,
                algorithm
            )
            #expect(rejection == change.code)
        }
    }

    @Test("Both sides reject the signature of another algorithm's key")
    func otherKey() async throws {
        let origin = try Interop.required("INTEROP_SIGNATURES")
        let record = try await SignedClient(algorithm: .ed25519, responseProfile: nil).run { client in
            try await SignaturePeer.record(client, .order(origin + "/orders/ecdsa-p256-sha256"))
        }
        #expect(!record.accepted)
        let rejection = try await SignaturePeer.rejection(
            of: record.message(target: record.target, at: origin),
            body: record.body,
            .standard,
            .es256
        )
        #expect(rejection == .unknownKey)
    }

    // MARK: The peer's requests

    @Test(
        "Our server verifies requests of http-message-signatures",
        .shows("RFC 9421 §3.3, §6.2"),
        arguments: SignaturePeer.algorithms
    )
    func theirs(algorithm: JWSAlgorithm) async throws {
        try await SignedServer(algorithm: algorithm).run { server in
            for method in ["GET", "POST"] {
                let url = server.url(for: "/orders%2F1?state=open&q=a%20b+c").absoluteString
                let answer = try await SignaturePeer.send(.standard(url, algorithm, method: method))
                #expect(answer.own.isEmpty && answer.reason.isEmpty, "\(method): \(answer)")
                #expect(answer.status == 200)
                let keyID = try SignaturePeer.key(algorithm, of: .client).keyID
                #expect(String(decoding: answer.body, as: UTF8.self) == keyID)
            }
        }
        try InteropMatrix.recordSignatures("its requests", algorithm)
    }

    @Test("Both sides reject requests of http-message-signatures after any change", arguments: MessageChange.allCases)
    func theirsChanged(change: MessageChange) async throws {
        for algorithm in SignaturePeer.algorithms {
            try await SignedServer(algorithm: algorithm).run { server in
                var order = try SignaturePeer.Order.standard(
                    server.url(for: "/orders?state=open").absoluteString,
                    algorithm
                )
                order.change = change.rawValue
                let answer = try await SignaturePeer.send(order)
                #expect(answer.own.hasPrefix("InvalidSignature"), "\(answer.own)")
                #expect(answer.status == HTTPSignatureError(change.code, "").status)
                #expect(String(decoding: answer.body, as: UTF8.self) == change.code.description)
                // The response to a changed request is signed for the request that arrived.
                #expect(answer.reason.isEmpty, "\(answer.reason)")
            }
        }
    }

    @Test(
        "Our server rejects requests of http-message-signatures that cover too little",
        arguments: ["@method", "@target-uri", "authorization", "content-type", "content-length"]
    )
    func coverage(component: String) async throws {
        try await SignedServer(algorithm: .ed25519).run { server in
            var order = try SignaturePeer.Order.standard(server.url(for: "/orders").absoluteString, .ed25519)
            order.components.removeAll { $0 == component }
            let answer = try await SignaturePeer.send(order)
            // The peer's verifier leaves the coverage to the application.
            #expect(answer.own.isEmpty, "\(answer.own)")
            #expect(answer.status == 401)
            #expect(String(decoding: answer.body, as: UTF8.self) == "insufficientCoverage")
        }
    }
}

extension SignaturePeer.Order {
    /// Returns a request that meets the standard profile.
    static func standard(_ url: String, _ algorithm: JWSAlgorithm, method: String = "POST") throws -> Self {
        try order(url, algorithm, method, covering: ["@method", "@target-uri"])
    }

    /// Returns a request that meets the profile for proxies.
    static func proxied(_ url: String, _ algorithm: JWSAlgorithm, method: String = "POST") throws -> Self {
        try order(url, algorithm, method, covering: ["@method", "@authority", "@path", "@query"])
    }

    private static func order(
        _ url: String,
        _ algorithm: JWSAlgorithm,
        _ method: String,
        covering parts: [String]
    ) throws -> Self {
        var order = Self(url: url, method: method, algorithm: try SignaturePeer.name(of: algorithm))
        order.headers = [["Authorization", "Bearer mF_9.B5f-4.1JqM"]]
        order.components = parts + ["authorization"]
        guard method != "GET" else { return order }
        order.body = MessageChange.content
        order.headers += [["Content-Type", "application/json"], ["Content-Length", "\(order.body.count)"]]
        // The peer adds Content-Digest for the body.
        order.components += ["content-type", "content-length"]
        return order
    }
}

/// Responses over plain connections, whose signatures cover their requests.
@Suite(
    "HTTP message signatures: responses",
    .enabled(if: Interop.isPrepared, Interop.hint),
    .limitedConcurrency
)
struct SignedResponseServerTests {
    @Test(
        "Our client verifies responses of http-message-signatures",
        .shows("RFC 9421 §2.4"),
        arguments: SignaturePeer.algorithms
    )
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
        .shows("M17"),
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
