import Foundation
import FoundationNetworking
import HTTPSignatures
import MockNetworking
import Networking
import TestSupport
import Testing
import TokenGeneration

/// Signed messages through nginx, which ends TLS and HTTP/2 and changes the host and the path.
///
/// `Tests/Interop/nginx.conf` has the locations.
@Suite(
    "HTTP message signatures: nginx as a proxy",
    .enabled(if: Interop.isPrepared, Interop.hint),
    .limitedConcurrency
)
struct SignedProxyServerTests {
    /// The peer's server as clients of the proxy know it.
    private struct Route {
        let origin: String
        let port: Int

        init() throws {
            origin = try Interop.required("INTEROP_SIGNED")
            port = try #require(URL(string: Interop.required("INTEROP_SIGNATURES"))?.port)
        }

        func url(_ path: String) -> String { "\(origin)/to/\(port)\(path)" }

        /// Returns the code with which our verifier at the origin server rejects a request.
        func rejection(
            of record: SignaturePeer.Record,
            _ profile: SignatureProfile = .proxied,
            _ algorithm: JWSAlgorithm = .ed25519
        ) async throws -> HTTPSignatureError.Code? {
            try #require(record.target.hasPrefix("/inner/"))
            let target = "/to/\(port)" + record.target.dropFirst("/inner".count)
            return try await SignaturePeer.rejection(
                of: record.message(target: target, at: origin),
                body: record.body,
                profile,
                algorithm
            )
        }
    }

    private static func client(_ algorithm: JWSAlgorithm = .ed25519) -> SignedClient {
        SignedClient(algorithm: algorithm, profile: .proxied, responseProfile: .proxiedResponse)
    }

    @Test(
        "Both sides verify our requests over HTTP/2, and we the responses",
        .shows("P39"),
        arguments: SignaturePeer.algorithms
    )
    func ours(algorithm: JWSAlgorithm) async throws {
        let route = try Route()
        let url = try route.url("/orders%2F1//%7Eada/\(SignaturePeer.name(of: algorithm))?state=open&q=a%20b+c")
        for version in [CurlTransport.ProtocolVersion.negotiated, .http1] {
            var signed = Self.client(algorithm)
            signed.version = version
            try await signed.run { client in
                for method in ["GET", "POST"] {
                    let record = try await SignaturePeer.record(client, .order(url, method: method))
                    #expect(record.accepted, "\(method): \(record.reason)")
                    #expect(record.values("X-Protocol") == [version == .http1 ? "HTTP/1.1" : "HTTP/2.0"])
                    #expect(record.covered.prefix(4) == [#""@method""#, #""@authority""#, #""@path""#, #""@query""#])
                    #expect(try await route.rejection(of: record, .proxied, algorithm) == nil)
                }
            }
        }
        try InteropMatrix.recordSignatures("ours through nginx", algorithm)
    }

    @Test("Both sides reject our requests after any change before nginx", arguments: MessageChange.allCases)
    func oursChanged(change: MessageChange) async throws {
        let route = try Route()
        var signed = Self.client()
        signed.responseProfile = nil
        signed.change = { try change.apply(&$0) }
        let record = try await signed.run { client in
            try await SignaturePeer.record(client, .order(route.url("/orders/ed25519?state=open")))
        }
        #expect(record.values("X-Protocol") == ["HTTP/2.0"])
        #expect(!record.accepted && record.reason.hasPrefix("InvalidSignature"), "\(record.reason)")
        #expect(try await route.rejection(of: record) == change.code)
    }

    @Test("Our server verifies the peer's requests, and the peer our responses", arguments: SignaturePeer.algorithms)
    func theirs(algorithm: JWSAlgorithm) async throws {
        let origin = try Interop.required("INTEROP_SIGNED")
        var signed = SignedServer(algorithm: algorithm, profile: .proxied, responseProfile: .proxiedResponse)
        signed.externalOrigin = origin
        try await signed.run { server in
            let url = "\(origin)/to/\(server.port)/orders%2F1?state=open&q=a%20b+c"
            for method in ["GET", "POST"] {
                let answer = try await SignaturePeer.send(.proxied(url, algorithm, method: method))
                #expect(answer.status == 200 && answer.own.isEmpty && answer.reason.isEmpty, "\(method): \(answer)")
            }
            for change in MessageChange.allCases {
                var order = try SignaturePeer.Order.proxied(url, algorithm)
                order.change = change.rawValue
                let answer = try await SignaturePeer.send(order)
                #expect(String(decoding: answer.body, as: UTF8.self) == change.code.description)
            }
        }
        try InteropMatrix.recordSignatures("its through nginx", algorithm)
    }

    // MARK: What nginx changes

    @Test("Changes of framing, host and unsigned fields are harmless", arguments: [true, false])
    func harmlessChanges(isSecondVersion: Bool) async throws {
        let route = try Route()
        var profile = SignatureProfile.proxied
        profile.components += [.required("x-twice"), .required(ComponentIdentifier("x-list").binary)]
        var signed = Self.client()
        signed.profile = profile
        signed.version = isSecondVersion ? .negotiated : .http1
        signed.prepare = { request in
            for (name, value) in [
                ("X-Twice", "one"), ("X-Twice", "two,  three"), ("X-List", "a, b"), ("X-List", "c"),
                ("X-Forwarded-For", "192.0.2.1"), ("Cookie", "a=1; b=2"),
            ] { request.headers.append(name: name, value: value) }
            // Without a length: chunked in HTTP/1.1, and only frames in HTTP/2.
            request.body = .stream {
                AsyncStream { continuation in
                    for byte in MessageChange.content { continuation.yield(Data([byte])) }
                    continuation.finish()
                }
            }
        }
        let record = try await signed.run { client in
            try await SignaturePeer.record(client, .order(route.url("/orders/ed25519"), method: "GET").posted)
        }
        #expect(record.accepted, "\(record.reason)")
        #expect(try await route.rejection(of: record, profile) == nil)
        #expect(record.covered.contains(#""x-twice""#) && record.covered.contains(#""x-list";bs"#))
        #expect(record.values("X-Protocol") == [isSecondVersion ? "HTTP/2.0" : "HTTP/1.1"])
        #expect(record.body == MessageChange.content)
        // nginx has read the whole body, and sends its length.
        #expect(record.values("Content-Length") == ["\(MessageChange.content.count)"])
        #expect(record.values("Transfer-Encoding").isEmpty && record.values("Connection").isEmpty)
        #expect(record.values("Host") == ["127.0.0.1:\(route.port)"])
        #expect(record.values("X-Forwarded-Host") == [route.origin.replacing("https://", with: "")])
        #expect(record.values("X-Forwarded-For") == ["192.0.2.1, 127.0.0.1"])
        #expect(record.values("X-Twice") == ["one", "two,  three"])
    }

    @Test("Both sides reject a request if the server doesn't know the URL of the proxy")
    func unconfigured() async throws {
        let route = try Route()
        var signed = Self.client()
        signed.responseProfile = nil
        let record = try await signed.run { client in
            try await SignaturePeer.record(client, .order("\(route.origin)/plain/\(route.port)/orders/ed25519"))
        }
        #expect(!record.accepted && record.reason.hasPrefix("InvalidSignature"), "\(record.reason)")
        let host = try #require(record.values("Host").first)
        let rejection = try await SignaturePeer.rejection(
            of: record.message(target: record.target, at: "http://\(host)"),
            body: record.body,
            .proxied,
            .ed25519
        )
        #expect(rejection == .signatureInvalid)
    }

    @Test(
        "Both sides reject a path that the proxy has decoded",
        .shows("M12", "RFC 9421 §2.2"),
        arguments: [("plain", true), ("a%7Eb", false), ("a%2Fb", false), ("a//b", false), ("a/../b", false)]
    )
    func decodedPath(part: String, isUnchanged: Bool) async throws {
        let route = try Route()
        var signed = Self.client()
        if !isUnchanged { signed.responseProfile = nil }
        let record = try await signed.run { client in
            try await SignaturePeer.record(client, .order(route.url("/decoded/\(part)/ed25519")))
        }
        #expect(record.accepted == isUnchanged, "\(record.target): \(record.reason)")
        #expect(try await route.rejection(of: record) == (isUnchanged ? nil : .signatureInvalid))
    }

    @Test("Both clients reject a response that nginx has compressed")
    func compression() async throws {
        let route = try Route()
        var request = try URLRequest.order(route.url("/orders/ed25519"))
        try await Self.client().run { client in
            // Without the field, the client asks for “identity”.
            let record = try await SignaturePeer.record(client, request)
            #expect(record.accepted, "\(record.reason)")
            request.setValue("gzip", forHTTPHeaderField: "Accept-Encoding")
            await #expect(throws: HTTPSignatureError(.contentDecoded, "")) {
                try await SignaturePeer.record(client, request)
            }
        }
        var order = try SignaturePeer.Order.proxied(route.url("/orders/ed25519"), .ed25519)
        #expect(try await SignaturePeer.sendToItself(order).isEmpty)
        order.headers.append(["Accept-Encoding", "gzip"])
        #expect(try await SignaturePeer.sendToItself(order).contains("Content-Digest does not match"))
    }
}

extension SignaturePeer {
    /// Returns why the peer's client rejects the response of the peer's server, or an empty string.
    fileprivate static func sendToItself(_ order: Order) async throws -> String {
        let answer = try await send(order)
        try #require(answer.status == 200 && answer.own.isEmpty, "\(answer)")
        return answer.reason
    }
}

extension URLRequest {
    /// The same request as a POST, whose body is added later.
    fileprivate var posted: URLRequest {
        var request = self
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        return request
    }
}
