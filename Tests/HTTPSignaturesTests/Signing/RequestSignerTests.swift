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

/// Signed requests over real connections, verified over the bytes that arrive.
@Suite(.limitedConcurrency, .tags(.concurrency))
struct RequestSignerTests {
    private static var body: Data { SignatureFixture.body }

    private struct Setting {
        let server: SigningServer
        let verifier: MessageVerifier
        let fixture: SignatureFixture

        func client(
            _ interceptors: [any Interceptor] = [],
            origins: ResourceRule? = nil,
            options: NetworkClient.Options = .init()
        ) throws -> NetworkClient {
            let signer = RequestSigner(try MessageSigner(key: fixture.key, profile: fixture.profile), origins: origins)
            return NetworkClient(interceptors: interceptors + [signer], options: options)
        }

        func request(_ path: String, _ method: String = "GET", body: Data? = nil) -> URLRequest {
            var request = URLRequest(url: server.server.url(for: path))
            request.httpMethod = method
            request.httpBody = body
            if body != nil { request.setValue("application/json", forHTTPHeaderField: "Content-Type") }
            return request
        }
    }

    private func withServer(
        _ profile: SignatureProfile = .standard,
        perform test: (Setting) async throws -> Void
    ) async throws {
        let fixture = try SignatureFixture(profile)
        let verifier = try MessageVerifier(profile: profile, keys: fixture.keys, replayCache: InMemoryReplayCache())
        try await withLoopbackServer { loopback in
            let server = SigningServer(loopback)
            server.on("/*", verifier) { _, _ in .text("ok") }
            try await test(Setting(server: server, verifier: verifier, fixture: fixture))
        }
    }

    @Test(
        "signs what arrives for every form of URL",
        .shows("M12"),
        arguments: [
            "", "/", "?", "/?", "/a", "/a?", "/a?b=c+d&e=%20%2B%2f&f=%2F", "/%7Ea/%2f%2F/x%2e%2E", "/a//b/./c/../d",
            "/a;b=c,d:e@f!$&'()*",
            "/x?a[]=1&b={c}|d^`", "/caf%C3%A9", "/a?x=https://u:p@h/?q", "/a#fragment", "/a?b#c?d",
            "/-._~?-._~/?:@!$&'()*+,;=",
        ]
    )
    func targets(_ path: String) async throws {
        try await withServer { setting in
            let text = setting.server.server.baseURL.absoluteString + path
            let url = try #require(URL(string: text))
            _ = try await setting.client().makeRequest(URLRequest(url: url))
            let record = try #require(setting.server.requests.first)
            #expect(record.code == nil, "\(record.request.target)")
        }
    }

    @Test("signs for the host that is sent", arguments: ["LOCALHOST", "localhost", "127.0.0.1"])
    func hosts(_ host: String) async throws {
        try await withServer { setting in
            let port = setting.server.server.port
            let url = try #require(URL(string: "HTTP://\(host):\(port)/x"))
            setting.server.server.onAnyMethod("/x") { request in
                let message = HTTPMessage(
                    method: request.method,
                    target: request.target,
                    at: "http://" + (request.headers["Host"] ?? ""),
                    headers: request.headers
                )
                _ = try await setting.verifier.verify(message, body: request.body)
                return .text("ok")
            }
            _ = try await setting.client().makeRequest(URLRequest(url: url))
            // A Host field of the caller's replaces the URL's.
            var request = URLRequest(url: setting.server.server.url(for: "/x"))
            request.setValue("Virtual.example:8080", forHTTPHeaderField: "Host")
            _ = try await setting.client().makeRequest(request)
            #expect(setting.server.server.requests.last?.headers["Host"] == "Virtual.example:8080")
        }
    }

    @Test("signs every kind of body", .shows("P39", "RFC 9421 §3.1"), arguments: 0..<6)
    func bodies(_ kind: Int) async throws {
        try await withServer { setting in
            let file = FileManager.default.temporaryDirectory.appending(path: "signed-\(UUID().uuidString)")
            let large = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0) })
            try large.write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            let stream = { @Sendable in
                AsyncStream<Data> {
                    $0.yield(large); $0.yield(Self.body); $0.finish()
                }
            }
            let bodies: [(HTTPBody, Data)] = [
                (.none, Data()), (.data(Data()), Data()), (.data(large), large), (try .file(file), large),
                (.stream(stream), large + Self.body),
                (.stream(length: large.count + Self.body.count, stream), large + Self.body),
            ]
            let (body, content) = bodies[kind]
            _ = try await setting.client().makeRequest(
                setting.request("/", "POST"),
                options: RequestOptions(body: body)
            )
            let record = try #require(setting.server.requests.first)
            #expect(record.code == nil)
            #expect(record.request.body == content)
            #expect((record.request.headers["Content-Digest"] != nil) == !content.isEmpty)
            let isLengthKnown = kind != 4 && !content.isEmpty
            #expect(record.input.contains("\"content-length\"") == isLengthKnown)
        }
    }

    @Test("signs the compressed bytes of a body")
    func compression() async throws {
        try await withServer { setting in
            let json = Data((#"{"a": ""# + String(repeating: "x", count: 10_000) + #""}"#).utf8)
            let options = RequestOptions(requestCompression: .gzip(minimumSize: 1000))
            _ = try await setting.client().makeRequest(setting.request("/", "POST", body: json), options: options)
            let record = try #require(setting.server.requests.first)
            #expect(record.code == nil)
            #expect(record.request.headers["Content-Encoding"] == "gzip")
            #expect(record.request.body.count < 1000)
        }
    }

    @Test("a body that can be read once needs its digest, and nothing is sent without", .shows("M15"))
    func bodyReadOnce() async throws {
        try await withServer { setting in
            let once = {
                HTTPBody.once(
                    AsyncStream<Data> {
                        $0.yield(Self.body); $0.finish()
                    }
                )
            }
            let error = await #expect(throws: NetworkError(.requestNotMade, "")) {
                let options = RequestOptions(body: once())
                _ = try await setting.client().makeRequest(setting.request("/", "POST"), options: options)
            }
            #expect((error?.cause as? HTTPSignatureError)?.code == .bodyNotReadable)
            #expect(error?.isUnprocessed == true)
            #expect(setting.server.server.requestCount == 0)
            var request = setting.request("/", "POST")
            request.setValue(try HTTPDigest(of: Self.body).fieldValue, forHTTPHeaderField: "Content-Digest")
            _ = try await setting.client().makeRequest(request, options: RequestOptions(body: once()))
            #expect(setting.server.requests.map(\.code) == [nil])
            // A wrong digest is noticed before the body is complete.
            request.setValue(try HTTPDigest(of: Data()).fieldValue, forHTTPHeaderField: "Content-Digest")
            await #expect(throws: NetworkError.self) {
                _ = try await setting.client().makeRequest(request, options: RequestOptions(body: once()))
            }
            #expect(setting.server.requests.count == 1)
        }
    }

    @Test("a stream that changes between its two readings isn't sent completely", .shows("M15"))
    func changingStream() async throws {
        try await withServer { setting in
            let counter = Counter()
            let body = HTTPBody.stream {
                AsyncStream<Data> {
                    $0.yield(Data("\(counter.next())".utf8)); $0.finish()
                }
            }
            await #expect(throws: NetworkError.self) {
                _ = try await setting.client().makeRequest(
                    setting.request("/", "POST"),
                    options: RequestOptions(body: body)
                )
            }
            #expect(setting.server.requests.isEmpty)
        }
    }

    @Test("a file that can't be read is an error, and nothing is sent", .shows("M15"))
    func missingFile() async throws {
        try await withServer { setting in
            let file = FileManager.default.temporaryDirectory.appending(path: "gone-\(UUID().uuidString)")
            try Self.body.write(to: file)
            let body = try HTTPBody.file(file)
            try FileManager.default.removeItem(at: file)
            await #expect(throws: NetworkError.self) {
                _ = try await setting.client().makeRequest(
                    setting.request("/", "POST"),
                    options: RequestOptions(body: body)
                )
            }
            #expect(setting.server.server.requestCount == 0)
        }
    }

    @Test("every attempt has a new time, nonce and signature", .shows("P40"))
    func retries() async throws {
        try await withServer { setting in
            let counter = Counter()
            setting.server.on("/flaky", setting.verifier) { _, _ in counter.next() < 3 ? .status(503) : .text("ok") }
            let time = ManualTime()
            var signer = try MessageSigner(key: setting.fixture.key, profile: .standard)
            signer.currentDate = { Date().addingTimeInterval(Double(counter.value)) }
            var options = NetworkClient.Options(timeSource: time.timeSource)
            options.retryBudget = nil
            let client = NetworkClient(
                interceptors: [Retry.Policy.maxRetries(3), RequestSigner(signer)],
                options: options
            )
            var request = setting.request("/flaky", "PUT", body: Self.body)
            request.setValue("key-1", forHTTPHeaderField: "Idempotency-Key")
            _ = try await client.makeRequest(request)
            let records = setting.server.requests
            #expect(records.map(\.code) == [nil, nil, nil])
            #expect(Set(records.map(\.input)).count == 3)
            #expect(Set(records.compactMap { $0.request.headers["Signature"] }).count == 3)
            let messages = try records.map { try $0.result.get().signature.parameters }
            #expect(Set(messages.map(\.nonce)).count == 3)
            #expect(Set(messages.map(\.created)).count == 3)
            #expect(records.allSatisfy { $0.request.headers["Idempotency-Key"] == "key-1" })
        }
    }

    @Test("a redirect within the origin is signed for its target", .shows("P40"), arguments: [301, 302, 303, 307, 308])
    func redirects(_ status: Int) async throws {
        try await withServer { setting in
            setting.server.on("/from", setting.verifier) { _, _ in .status(status, headers: ["Location": "/to?x=1"]) }
            _ = try await setting.client().makeRequest(setting.request("/from", "POST", body: Self.body))
            let records = setting.server.requests
            #expect(records.map(\.code) == [nil, nil])
            let verified = try records[1].result.get()
            #expect(verified[.targetURI] == setting.server.server.url(for: "/to?x=1").absoluteString)
            let keepsBody = status >= 307
            #expect(verified[.method] == (keepsBody ? "POST" : "GET"))
            #expect(records[1].request.body == (keepsBody ? Self.body : Data()))
            #expect((verified["content-digest"] != nil) == keepsBody)
            #expect((records[1].request.headers["Content-Digest"] != nil) == keepsBody)
            #expect(try SignatureFields(records[1].request.headers).count == 1)
            #expect(records[0].input != records[1].input)
        }
    }

    @Test("a redirect to another origin gets no signature, unless it's named", .shows("M14", "P40"))
    func otherOrigins() async throws {
        try await withServer { setting in
            try await withLoopbackServer { other in
                other.onAnyMethod("/to") { _ in .text("ok") }
                let target = other.url(for: "/to").absoluteString
                setting.server.on("/from", setting.verifier) { _, _ in .status(307, headers: ["Location": target]) }
                let request = setting.request("/from", "POST", body: Self.body)
                _ = try await setting.client().makeRequest(request)
                let unsigned = try #require(other.requests.last)
                for name in ["Signature", "Signature-Input", "Signature-Agent", "Content-Digest"] {
                    #expect(unsigned.headers[name] == nil)
                }
                #expect(unsigned.body == Self.body)
                let origins: ResourceRule = [setting.server.server.baseURL, other.baseURL]
                _ = try await setting.client(origins: origins).makeRequest(request)
                let signed = try #require(other.requests.last)
                let message = HTTPMessage(
                    method: .post,
                    target: "/to",
                    at: other.baseURL.absoluteString,
                    headers: signed.headers
                )
                _ = try await setting.verifier.verify(message, body: signed.body)
            }
        }
    }

    @Test("an origin that isn't named isn't signed, and an empty list is a mistake", .shows("M14"))
    func origins() async throws {
        try await withServer { setting in
            let elsewhere = try #require(URL(string: "https://elsewhere.example"))
            await #expect(throws: ServerError.self) {
                _ = try await setting.client(origins: [elsewhere]).makeRequest(setting.request("/"))
            }
            #expect(setting.server.requests.map(\.code) == [.noSignature])
            let error = await #expect(throws: NetworkError(.requestNotMade, "")) {
                _ = try await setting.client(origins: []).makeRequest(setting.request("/"))
            }
            #expect((error?.cause as? HTTPSignatureError)?.code == .invalidProfile)
            #expect(setting.server.requests.count == 1)
        }
    }

    @Test(
        "signs internationalized names, addresses and default ports as they are sent",
        arguments: [
            ("https://bücher.example", "xn--bcher-kva.example"), ("https://[2001:DB8::1]:443/a", "[2001:db8::1]"),
            ("http://[::1]:80", "[::1]"), ("https://api.example:443", "api.example"),
            ("http://api.example:8080/", "api.example:8080"),
        ]
    )
    func authorities(_ text: String, _ authority: String) async throws {
        let fixture = try SignatureFixture(.proxied)
        let transport = MockTransport(.status(200))
        let signer = RequestSigner(try fixture.signer())
        let client = NetworkClient(transport: transport, interceptors: [signer])
        _ = try await client.makeRequest(URLRequest(url: try #require(URL(string: text))))
        let request = try #require(transport.requests.first)
        let scheme = try #require(request.url.scheme)
        let url = "\(scheme)://\(authority)\(request.url.path.isEmpty ? "/" : request.url.path)"
        let message = HTTPMessage(method: .get, url: url, headers: request.headers)
        let verified = try await fixture.verifier().verify(message, body: Data())
        #expect(verified[.authority] == authority)
    }

    @Test("a request of a resource without authentication isn't signed, and other streams are")
    func otherCalls() async throws {
        try await withServer { setting in
            let response = try await setting.client().stream(setting.request("/stream"))
            #expect(try await response.stream.collect(upTo: 100) == Data("ok".utf8))
            #expect(setting.server.requests.map(\.code) == [nil])
        }
    }

    // MARK: Accept-Signature

    @Test("answers a 401 with Accept-Signature once, with the server's nonce", .shows("RFC 9421 §5"))
    func challenge() async throws {
        try await withServer { setting in
            var verifier = setting.verifier
            verifier.nonces = try SignatureNonces()
            setting.server.on("/strict", verifier) { _, _ in .text("ok") }
            let data = try await setting.client().makeRequest(setting.request("/strict", "POST", body: Self.body))
            #expect(String(decoding: data, as: UTF8.self) == "ok")
            #expect(setting.server.requests.map(\.code) == [.nonceMismatch, nil])
        }
    }

    @Test("doesn't answer a second time", .shows("M16"))
    func repeatedChallenge() async throws {
        try await withServer { setting in
            let demand = #"sig9=("@method" "@target-uri");created;nonce="n""#
            setting.server.server.onAnyMethod("/never") { _ in .status(401, headers: ["Accept-Signature": demand]) }
            await #expect(throws: ServerError.self) {
                _ = try await setting.client().makeRequest(setting.request("/never"))
            }
            let inputs = setting.server.server.requests(for: "/never").map { $0.headers["Signature-Input"] ?? "" }
            #expect(inputs.count == 2)
            #expect(inputs[0].hasPrefix("sig1="))
            #expect(inputs[1].hasPrefix(#"sig9=("@method" "@target-uri");"#))
            #expect(inputs[1].hasSuffix(#";nonce="n""#))
        }
    }

    @Test("a later retry doesn't repeat the server's nonce")
    func challengeThenFailure() async throws {
        try await withServer { setting in
            let demand = #"sig9=("@method" "@target-uri");created;nonce="n""#
            setting.server.server.on(
                .get,
                "/x",
                .status(401, headers: ["Accept-Signature": demand]),
                .status(503),
                .text("ok")
            )
            let client = try setting.client([Retry.Policy.maxRetries(3)])
            _ = try await client.makeRequest(setting.request("/x"))
            let inputs = setting.server.server.requests(for: "/x").map { $0.headers["Signature-Input"] ?? "" }
            #expect(inputs.map { $0.contains(#"nonce="n""#) } == [false, true, false])
        }
    }

    @Test(
        "doesn't sign what a server asks for beyond the profile",
        .shows("M16"),
        arguments: [
            #"sig1=("@method" "@target-uri" "cookie");created"#, #"sig1=("@method");created"#, "sig1=();created",
            #"sig1=("@method" "@target-uri");created;tag="web-bot-auth""#, "nonsense=", "",
        ]
    )
    func refusedChallenge(_ demand: String) async throws {
        try await withServer { setting in
            setting.server.server.onAnyMethod("/greedy") { _ in .status(401, headers: ["Accept-Signature": demand]) }
            await #expect(throws: ServerError.self) {
                _ = try await setting.client().makeRequest(setting.request("/greedy"))
            }
            #expect(setting.server.server.requests(for: "/greedy").count == 1)
        }
    }

    // MARK: OAuth

    @Test("covers the access token and the DPoP proof of an authenticator, also after a challenge")
    func oauth() async throws {
        let authorization = try MockAuthorizationServer.start(clients: [.init(id: "app", secret: "s3cret")])
        try await withServer { setting in
            var verifier = setting.verifier
            verifier.nonces = try SignatureNonces()
            setting.server.on("/api", verifier) { _, _ in .text("ok") }
            let authenticator = OAuth2Authenticator(
                client: OAuth2Client(
                    server: authorization.metadata,
                    clientAuthentication: .clientSecretBasic(clientID: "app", secret: Secret("s3cret")),
                    dpop: .generated()
                ),
                grant: ClientCredentialsGrant(),
                resources: [setting.server.server.baseURL]
            )
            let client = try setting.client([authenticator])
            _ = try await client.makeRequest(setting.request("/api", "POST", body: Self.body))
            let records = setting.server.requests
            #expect(records.map(\.code) == [.nonceMismatch, nil])
            let verified = try records[1].result.get()
            #expect(verified["authorization"]?.hasPrefix("DPoP ") == true)
            #expect(verified["dpop"] == records[1].request.headers["DPoP"])
            // The proof is new, and the token the same: the 401 was about the signature.
            #expect(records[0].request.headers["DPoP"] != records[1].request.headers["DPoP"])
            #expect(records[0].request.headers["Authorization"] == records[1].request.headers["Authorization"])
            #expect(authenticator.counters.tokenRequests == 1)
            #expect(authenticator.counters.retries == 0)
        }
        await authorization.stop()
    }
}

/// A number that counts calls.
final class Counter: Sendable {
    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }
    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}
