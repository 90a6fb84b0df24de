import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestSupport
import Testing
import TokenGeneration

@testable import HTTPSignatures

/// Signed responses over real connections.
@Suite(.limitedConcurrency)
struct ResponseVerifierTests {
    private static let content = Data("the content".utf8)

    private struct Setting: Sendable {
        let server: LoopbackServer
        let signer: MessageSigner
        let client: NetworkClient
        let verified: Verified

        /// Returns a signed response to a request.
        func sign(
            _ response: LoopbackResponse,
            to request: LoopbackRequest,
            content: Data = ResponseVerifierTests.content,
            url: String? = nil
        ) async throws -> LoopbackResponse {
            let sent = HTTPMessage(
                method: request.method,
                target: url ?? request.target,
                at: server.baseURL.absoluteString,
                headers: request.headers
            )
            let message = HTTPMessage(status: response.status, headers: response.headers, request: sent)
            var response = response
            for field in try await signer.sign(message, body: content.isEmpty ? .none : .data(content))
            where field.name != "Content-Length" {
                response.headers[field.name] = field.value
            }
            return response
        }
    }

    final class Verified: Sendable {
        private let messages = Mutex<[VerifiedMessage]>([])
        var all: [VerifiedMessage] { messages.withLock { $0 } }
        func append(_ message: VerifiedMessage) { messages.withLock { $0.append(message) } }
    }

    private func withServer(
        transport: (any HTTPTransport)? = nil,
        origins: ResourceRule? = nil,
        perform test: (Setting) async throws -> Void
    ) async throws {
        let fixture = try SignatureFixture(.standardResponse)
        let verified = Verified()
        let interceptor = ResponseVerifier(
            try MessageVerifier(profile: .standardResponse, keys: fixture.keys, replayCache: nil),
            origins: origins
        ) { verified.append($0) }
        let signer = RequestSigner(try MessageSigner(key: fixture.key, profile: .standard))
        let client = NetworkClient(
            transport: try transport ?? CurlTransport(),
            interceptors: [interceptor, signer]
        )
        try await withLoopbackServer { server in
            let signer = try MessageSigner(key: fixture.other, profile: .standardResponse)
            try await test(Setting(server: server, signer: signer, client: client, verified: verified))
        }
    }

    /// Sends a request, and checks the code that the response fails with.
    private func check(_ setting: Setting, _ path: String, fails expected: HTTPSignatureError.Code?) async throws {
        var found: HTTPSignatureError.Code?
        do {
            _ = try await setting.client.makeRequest(URLRequest(url: setting.server.url(for: path)))
        } catch {
            found = try #require(error as? HTTPSignatureError, "\(error)").code
        }
        #expect(found == expected, "\(path)")
    }

    @Test("verifies a response with the request as it was sent, including its digest", .shows("P39", "RFC 9421 §2.4"))
    func success() async throws {
        try await withServer { setting in
            setting.server.on(.post, "/x") { request in
                #expect(request.headers["Accept-Encoding"] == "identity")
                return try await setting.sign(.text("the content"), to: request)
            }
            var request = URLRequest(url: setting.server.url(for: "/x?y#z"))
            request.httpMethod = "POST"
            request.httpBody = SignatureFixture.body
            #expect(try await setting.client.makeRequest(request) == Self.content)
            let verified = try #require(setting.verified.all.first)
            #expect(verified.keyID == "other")
            #expect(verified[.targetURI.ofRequest] == setting.server.url(for: "/x?y").absoluteString)
            #expect(verified[ComponentIdentifier("content-digest").ofRequest] != nil)
        }
    }

    @Test("rejects unsigned, damaged, moved and replaced responses", .shows("M17"))
    func rejection() async throws {
        try await withServer { setting in
            setting.server.on(.get, "/unsigned") { _ in .text("the content") }
            setting.server.on(.get, "/changed") { try await setting.sign(.text("other content"), to: $0) }
            setting.server.on(.get, "/status") { request in
                var response = try await setting.sign(.text("the content"), to: request)
                response.status = 203
                return response
            }
            setting.server.on(.get, "/moved") { try await setting.sign(.text("the content"), to: $0, url: "/other") }
            setting.server.on(.get, "/uncovered") {
                try await setting.sign(.text("the content"), to: $0, content: Data())
            }
            setting.server.on(.get, "/error") { try await setting.sign(.text("the content", status: 500), to: $0) }
            try await check(setting, "/unsigned", fails: .noSignature)
            try await check(setting, "/changed", fails: .digestMismatch)
            try await check(setting, "/status", fails: .signatureInvalid)
            try await check(setting, "/moved", fails: .signatureInvalid)
            try await check(setting, "/uncovered", fails: .insufficientCoverage)
            #expect(setting.verified.all.isEmpty)
            // A signed failure is a failure, with a verified body.
            await #expect(throws: ServerError.self) {
                _ = try await setting.client.makeRequest(URLRequest(url: setting.server.url(for: "/error")))
            }
            #expect(setting.verified.all.count == 1)
        }
    }

    @Test("an unsigned redirect isn't followed, and its target must be covered", .shows("M17"))
    func redirects() async throws {
        try await withServer { setting in
            setting.server.on(.get, "/to") { try await setting.sign(.text("the content"), to: $0) }
            setting.server.on(.get, "/unsigned") { _ in .status(302, headers: ["Location": "/to"]) }
            setting.server.on(.get, "/changed") { request in
                var response = try await setting.sign(
                    .status(302, headers: ["Location": "/x"]),
                    to: request,
                    content: Data()
                )
                response.headers["Location"] = "/to"
                return response
            }
            setting.server.on(.get, "/signed") { request in
                try await setting.sign(.status(302, headers: ["Location": "/to"]), to: request, content: Data())
            }
            try await check(setting, "/unsigned", fails: .noSignature)
            try await check(setting, "/changed", fails: .signatureInvalid)
            #expect(setting.server.requests(for: "/to").isEmpty)
            try await check(setting, "/signed", fails: nil)
            let verified = setting.verified.all
            #expect(verified.map { $0[.status] } == ["302", "200"])
            #expect(verified.last?[.targetURI.ofRequest] == setting.server.url(for: "/to").absoluteString)
        }
    }

    @Test("verifies responses without content", arguments: ["HEAD", "DELETE"])
    func withoutContent(_ method: String) async throws {
        try await withServer { setting in
            setting.server.onAnyMethod("/x") { request in
                try await setting.sign(.status(request.method == .head ? 200 : 204), to: request, content: Data())
            }
            var request = URLRequest(url: setting.server.url(for: "/x"))
            request.httpMethod = method
            _ = try await setting.client.makeRequest(request)
            #expect(setting.verified.all.count == 1)
        }
    }

    /// The gzip form of “the content”.
    private static var coded: Data {
        Data(base64Encoded: "H4sIAAAAAAACAyvJSFVIzs8rSc0rAQBznWdrCwAAAA==") ?? Data()
    }

    @Test("can't verify content that the transport decoded, and verifies it undecoded")
    func contentCoding() async throws {
        let gzip: @Sendable (Setting) -> Void = { setting in
            setting.server.on(.get, "/gzip") { request in
                let response = LoopbackResponse(headers: ["Content-Encoding": "gzip"], body: Self.coded)
                return try await setting.sign(response, to: request, content: Self.coded)
            }
        }
        try await withServer { setting in
            gzip(setting)
            try await check(setting, "/gzip", fails: .contentDecoded)
            let request = URLRequest(url: setting.server.url(for: "/gzip"))
            await #expect(throws: HTTPSignatureError(.contentDecoded, "")) {
                _ = try await setting.client.stream(request)
            }
            #expect(HTTPSignatureError(.contentDecoded, "").status == 500)
        }
        var configuration = CurlTransport.Configuration()
        configuration.decodesContent = false
        try await withServer(transport: try CurlTransport(configuration: configuration)) { setting in
            gzip(setting)
            let response = try await setting.client.response(for: URLRequest(url: setting.server.url(for: "/gzip")))
            #expect(response.body == Self.coded)
            #expect(response.headers["Content-Encoding"] == "gzip")
        }
    }

    @Test("keeps the caller's Accept-Encoding")
    func acceptEncoding() async throws {
        try await withServer { setting in
            setting.server.on(.get, "/x") { try await setting.sign(.text("the content"), to: $0) }
            var request = URLRequest(url: setting.server.url(for: "/x"))
            request.setValue("br", forHTTPHeaderField: "Accept-Encoding")
            _ = try await setting.client.makeRequest(request)
            #expect(setting.server.requests.last?.headers["Accept-Encoding"] == "br")
        }
    }

    @Test("a streamed body throws at its end if it isn't the signed one", .shows("M17"))
    func streaming() async throws {
        try await withServer { setting in
            let content = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0) })
            for (path, sent) in [("/good", content), ("/bad", content.dropLast() + [0])] {
                setting.server.on(.get, path) { request in
                    let parts = [Data(sent.prefix(100_000)), Data(sent.dropFirst(100_000))]
                    return try await setting.sign(.chunked(parts), to: request, content: content)
                }
            }
            let good = try await setting.client.stream(URLRequest(url: setting.server.url(for: "/good")))
            #expect(try await good.stream.collect(upTo: 1 << 20) == content)
            let bad = try await setting.client.stream(URLRequest(url: setting.server.url(for: "/bad")))
            var received = 0
            let error = await #expect(throws: NetworkError(.digestMismatch, "")) {
                for try await part in bad.stream { received += part.count }
            }
            #expect((error?.cause as? HTTPSignatureError)?.code == .digestMismatch)
            #expect(received == content.count)
        }
    }

    @Test("responses of other origins are left alone")
    func origins() async throws {
        let elsewhere = try #require(URL(string: "https://elsewhere.example"))
        try await withServer(origins: [elsewhere]) { setting in
            setting.server.on(.get, "/x") { _ in .text("unsigned") }
            try await check(setting, "/x", fails: nil)
            #expect(setting.server.requests.last?.headers["Accept-Encoding"] != "identity")
        }
        try await withServer(origins: []) { setting in
            let error = await #expect(throws: NetworkError(.requestNotMade, "")) {
                _ = try await setting.client.makeRequest(URLRequest(url: setting.server.url(for: "/x")))
            }
            #expect((error?.cause as? HTTPSignatureError)?.code == .invalidProfile)
        }
    }

    @Test("works with URLSession, which combines fields, but can't cover their lines")
    func urlSession() async throws {
        try await withServer(transport: URLSessionTransport(configuration: .ephemeral)) { setting in
            setting.server.on(.get, "/x") { try await setting.sign(.text("the content"), to: $0) }
            try await check(setting, "/x", fails: nil)
            var profile = SignatureProfile.standardResponse
            profile.components.append(.ifPresent(ComponentIdentifier("set-cookie").binary))
            let key = try SignatureFixture(profile).other
            let signer = try MessageSigner(key: key, profile: profile)
            let lines = Setting(
                server: setting.server,
                signer: signer,
                client: setting.client,
                verified: setting.verified
            )
            setting.server.on(.get, "/lines") { request in
                var response = LoopbackResponse.text("the content")
                response.headers.append(name: "Set-Cookie", value: "a=1")
                response.headers.append(name: "Set-Cookie", value: "b=2")
                return try await lines.sign(response, to: request)
            }
            try await check(setting, "/lines", fails: .invalidComponent)
        }
    }
}
