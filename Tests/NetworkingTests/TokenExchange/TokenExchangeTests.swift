import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

@Suite("makeAuthorizedRequest", .limitedConcurrency, .tags(.concurrency))
struct TokenExchangeTests {
    private final class Provider: AuthenticationProvider {
        let token: Mutex<Result<String, any Error>>

        init(_ token: String) {
            self.token = Mutex(.success(token))
        }

        var bearerToken: String {
            get async throws { try token.withLock { try $0.get() } }
        }
    }

    private static let answer = #"{"access_token":"testAccessToken","token_type":"Bearer","expires_in":180}"#
    private let time = ManualTime()
    private let provider = Provider("testBearerToken")
    private var exchangeRequest: URLRequest {
        var request = URLRequest(url: URL(string: "http://as.example/sts/token?tenant=a")!)
        request.setValue("kept", forHTTPHeaderField: "X-Attestation")
        return request
    }
    private let request = URLRequest(url: URL(string: "http://api.example/resource")!)

    private func client(_ transport: MockTransport, _ interceptors: [any Interceptor] = []) -> NetworkClient {
        NetworkClient(
            transport: transport,
            interceptors: interceptors,
            options: .init(timeSource: time.timeSource, authenticationProvider: provider)
        )
    }

    private func call(_ client: NetworkClient, scope: String = "read") async throws -> Data {
        try await client.makeAuthorizedRequest(exchangeRequest: exchangeRequest, scope: scope, request: request)
    }

    @Test("Sends a form with four fields in order, strictly encoded")
    func wire() async throws {
        provider.token.withLock { $0 = .success("a+b/c=d&e") }
        let transport = MockTransport(.json(Self.answer), .text("ok"), time: time.timeSource)
        _ = try await call(client(transport), scope: "one two+three")
        let exchange = transport.requests[0]
        #expect(exchange.method == .post)
        #expect(exchange.url == exchangeRequest.url)
        #expect(exchange.headers["Content-Type"] == "application/x-www-form-urlencoded")
        #expect(exchange.headers["X-Attestation"] == "kept")
        #expect(exchange.headers["Authorization"] == nil)
        #expect(
            String(decoding: exchange.body, as: UTF8.self).split(separator: "&") == [
                "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange", "scope=one+two%2Bthree",
                "subject_token=a%2Bb%2Fc%3Dd%26e",
                "subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token",
            ]
        )
    }

    @Test("Sends the exchanged token, and returns the response body")
    func exchanging() async throws {
        let transport = MockTransport(.json(Self.answer), .text("resource"), time: time.timeSource)
        #expect(try await call(client(transport)) == Data("resource".utf8))
        #expect(transport.requests.count == 2)
        #expect(transport.requests[1].url == request.url)
        #expect(transport.requests[1].headers.values(for: "Authorization") == ["Bearer testAccessToken"])
        #expect(transport.requests[1].headers["User-Agent"] == UserAgent().description)
    }

    @Test("Replaces an existing Authorization")
    func replacing() async throws {
        let transport = MockTransport(.json(Self.answer), .text(""), time: time.timeSource)
        var request = request
        request.setValue("Basic abc", forHTTPHeaderField: "Authorization")
        _ = try await client(transport).makeAuthorizedRequest(
            exchangeRequest: exchangeRequest,
            scope: "read",
            request: request
        )
        #expect(transport.requests[1].headers.values(for: "Authorization") == ["Bearer testAccessToken"])
    }

    @Test("A failed token exchange is a ServerError that names its endpoint, and the request isn't sent")
    func exchangeFails() async throws {
        let transport = MockTransport(.status(404), time: time.timeSource)
        let error = await expectStatus(404) { try await call(client(transport)) }
        #expect(error?.endpoint == "token")
        #expect(transport.requests.count == 1)
    }

    @Test("A failed request is a ServerError that names its endpoint", arguments: [401, 404, 500])
    func requestFails(_ status: Int) async throws {
        let transport = MockTransport(.json(Self.answer), .status(status), time: time.timeSource)
        let error = await expectStatus(status) { try await call(client(transport)) }
        #expect(error?.endpoint == "resource")
        #expect(transport.requests.count == 2)
    }

    @Test(
        "An invalid token response has its own error code, and the request isn't sent",
        arguments: [
            "", "{}", "[]", "<html>", #"{"access_token":"a","token_type":"Bearer"}"#,
            #"{"access_token":"a","expires_in":1}"#, #"{"token_type":"Bearer","expires_in":1}"#,
            #"{"access_token":1,"token_type":"Bearer","expires_in":1}"#,
            #"{"access_token":"","token_type":"Bearer","expires_in":1}"#,
            #"{"access_token":"a\r\nX: y","token_type":"Bearer","expires_in":1}"#,
            #"{"access_token":"a","token_type":"Bearer","expires_in":"soon"}"#,
            #"{"access_token":"a","token_type":"DPoP","expires_in":1}"#,
            #"{"access_token":"a","token_type":"N_A","expires_in":1}"#,
        ]
    )
    func undecodable(_ answer: String) async throws {
        let transport = MockTransport(.text(answer), time: time.timeSource)
        await expectFailure(.unableToDecodeServiceTokenResponse) { try await call(client(transport)) }
        #expect(transport.requests.count == 1)
    }

    @Test("Accepts numbers and strings as lifetimes", arguments: ["180", "180.5", #""180""#, "1e300", "-1"])
    func lifetimes(_ seconds: String) async throws {
        let answer = #"{"access_token":"a","token_type":"bearer","expires_in":\#(seconds)}"#
        let transport = MockTransport(.json(answer), .text("ok"), time: time.timeSource)
        #expect(try await call(client(transport)) == Data("ok".utf8))
    }

    @Test("Sends nothing without a provider")
    func noProvider() async throws {
        let transport = MockTransport(.text(""), time: time.timeSource)
        await expectFailure(.authenticationProviderNotPresent) { try await call(NetworkClient(transport: transport)) }
        #expect(transport.requests.isEmpty)
    }

    @Test("A provider's error is the cause, and nothing is sent")
    func providerFails() async throws {
        struct SignedOut: Error {}
        provider.token.withLock { $0 = .failure(SignedOut()) }
        let transport = MockTransport(.text(""), time: time.timeSource)
        let error = await expectFailure(.requestNotMade) { try await call(client(transport)) }
        #expect(error?.cause is SignedOut)
        #expect(transport.requests.isEmpty)
    }

    @Test("Caches a token for its endpoint, scope and subject until shortly before it expires")
    func keeping() async throws {
        let transport = MockTransport(time: time.timeSource) { request in
            request.url.host == "as.example"
                ? HTTPTransportResponse(status: 200, body: Data(Self.answer.utf8)) : HTTPTransportResponse(status: 200)
        }
        let client = client(transport)
        var exchanges: Int { transport.requests.count { $0.url.host == "as.example" } }
        _ = try await call(client)
        _ = try await call(client)
        #expect(exchanges == 1)
        _ = try await call(client, scope: "write")
        #expect(exchanges == 2)
        provider.token.withLock { $0 = .success("another subject") }
        _ = try await call(client)
        #expect(exchanges == 3)
        // 180 s, minus a tenth.
        time.advance(by: .seconds(161))
        _ = try await call(client)
        #expect(exchanges == 3)
        time.advance(by: .seconds(1))
        _ = try await call(client)
        #expect(exchanges == 4)
    }

    @Test("Concurrent callers share one token exchange")
    func sharing() async throws {
        let gate = ResponseGate()
        let transport = MockTransport(time: time.timeSource) { request in
            guard request.url.host == "as.example" else { return HTTPTransportResponse(status: 200) }
            try await gate.wait()
            return HTTPTransportResponse(status: 200, body: Data(Self.answer.utf8))
        }
        let client = client(transport)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { _ = try await call(client) } }
            try await gate.waitForWaiters(count: 1)
            gate.open()
            try await group.waitForAll()
        }
        #expect(transport.requests.count == 51)
    }

    @Test("Doesn't cache a failed token exchange")
    func recovering() async throws {
        let client = client(MockTransport(.status(503), .json(Self.answer), .text("ok"), time: time.timeSource))
        await #expect(throws: ServerError.self) { try await call(client) }
        #expect(try await call(client) == Data("ok".utf8))
    }

    @Test("Exchanges a cached token again, once, if the server rejects it")
    func refused() async throws {
        let transport = MockTransport(
            .json(Self.answer),
            .text("first"),
            .status(401),
            .json(Self.answer.replacingOccurrences(of: "testAccessToken", with: "newer")),
            .text("second"),
            time: time.timeSource
        )
        let client = client(transport)
        _ = try await call(client)
        #expect(try await call(client) == Data("second".utf8))
        #expect(transport.requests[4].headers["Authorization"] == "Bearer newer")
        transport.append(.status(401), .json(Self.answer), .status(401))
        await expectStatus(401) { try await call(client) }
        #expect(transport.remainingStepCount == 0)
    }

    @Test("The client's interceptors see the request with its token, but not the token exchange")
    func interceptors() async throws {
        let log = EventLog()
        let transport = MockTransport(.json(Self.answer), .text("ok"), time: time.timeSource)
        let watching = Changing.request { log.append($0.headers["Authorization"] ?? "none") }
        _ = try await call(client(transport, [watching]))
        #expect(log.all == ["Bearer testAccessToken"])
    }
}
