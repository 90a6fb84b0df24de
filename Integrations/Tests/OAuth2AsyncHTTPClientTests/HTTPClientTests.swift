import AsyncHTTPClient
import Foundation
import MockNetworking
import NIOCore
import NIOHTTP1
import Networking
import OAuth2
import OAuth2AsyncHTTPClient
import Testing

@Suite("async-http-client: tokens")
struct HTTPClientTests {
    /// Runs a test with an authorization server and an API on loopback.
    private func withServers(
        dpop: DPoPKey? = nil,
        requiresNonces: Bool = false,
        _ test: (MockAuthorizationServer, LoopbackServer, OAuth2Authenticator) async throws -> Void
    ) async throws {
        var configuration = MockAuthorizationServer.Configuration()
        configuration.requiresNonces = requiresNonces
        let authorization = try MockAuthorizationServer.start(
            configuration: configuration,
            clients: [.init(id: "reports", secret: "s3cret")]
        )
        do {
            try await withLoopbackServer { api in
                api.on(.get, "/reports", authorization.protecting { _ in .text("a report") })
                api.on(.post, "/reports", authorization.protecting { .text(String(decoding: $0.body, as: UTF8.self)) })
                let authenticator = OAuth2Authenticator(
                    client: OAuth2Client(
                        server: authorization.metadata,
                        clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret("s3cret")),
                        dpop: dpop
                    ),
                    grant: ClientCredentialsGrant(),
                    resources: [api.baseURL]
                )
                try await test(authorization, api, authenticator)
            }
        } catch {
            await authorization.stop()
            throw error
        }
        await authorization.stop()
    }

    private func text(_ response: HTTPClientResponse) async throws -> String {
        String(buffer: try await response.body.collect(upTo: 1 << 16))
    }

    @Test("Sends the token, and refreshes it once for all requests after a revocation")
    func refresh() async throws {
        try await withServers { authorization, api, authenticator in
            let url = api.url(for: "/reports").absoluteString
            for _ in 1...2 {
                try await withThrowingTaskGroup(of: String.self) { group in
                    for _ in 1...10 {
                        group.addTask {
                            try await text(
                                HTTPClient.shared.execute(authenticatedBy: authenticator) {
                                    HTTPClientRequest(url: url)
                                }
                            )
                        }
                    }
                    for try await text in group { #expect(text == "a report") }
                }
                authorization.revokeAccessTokens()
            }
            #expect(authorization.tokenRequestCount == 2)
        }
    }

    @Test("Sends a token to the URL of the first attempt only")
    func otherURL() async throws {
        try await withServers { authorization, api, authenticator in
            _ = try await authenticator.accessToken()
            authorization.revokeAccessTokens()
            try await withLoopbackServer { other in
                other.on(.get, "/reports", .text("stolen"))
                var urls = [api, other].map { $0.url(for: "/reports").absoluteString }
                await #expect(throws: NetworkError(.invalidRequest, "")) {
                    _ = try await HTTPClient.shared.execute(authenticatedBy: authenticator) {
                        HTTPClientRequest(url: urls.removeFirst())
                    }
                }
                #expect(other.requests.isEmpty)
            }
        }
    }

    @Test("Sends a streamed body again, because each attempt makes its own")
    func body() async throws {
        try await withServers { authorization, api, authenticator in
            let url = api.url(for: "/reports").absoluteString
            _ = try await authenticator.accessToken()
            authorization.revokeAccessTokens()
            let response = try await HTTPClient.shared.execute(authenticatedBy: authenticator) {
                var request = HTTPClientRequest(url: url)
                request.method = .POST
                let parts = AsyncStream { continuation in
                    for part in ["a ", "new ", "report"] { continuation.yield(ByteBuffer(string: part)) }
                    continuation.finish()
                }
                request.body = .stream(parts, length: .unknown)
                return request
            }
            #expect(try await text(response) == "a new report")
            #expect(api.requestCount == 2)
        }
    }

    @Test("Makes a proof for each attempt, with the server's nonce")
    func proofs() async throws {
        try await withServers(dpop: .generated(), requiresNonces: true) { authorization, api, authenticator in
            let url = api.url(for: "/reports").absoluteString
            for _ in 1...2 {
                let response = try await HTTPClient.shared.execute(authenticatedBy: authenticator) {
                    HTTPClientRequest(url: url)
                }
                #expect(response.status == .ok)
            }
            #expect(api.requestCount == 3)
            #expect(Set(api.requests.compactMap { $0.headers["DPoP"] }).count == 3)
        }
    }

    @Test("Gives another origin no token, also after a redirect")
    func otherOrigins() async throws {
        try await withServers { authorization, api, authenticator in
            try await withLoopbackServer { other in
                other.on(.get, "/", .status(401))
                let target = other.url(for: "/").absoluteString
                api.on(.get, "/moved", .status(302, headers: ["Location": target]))
                for url in [target, api.url(for: "/moved").absoluteString] {
                    let response = try await HTTPClient.shared.execute(authenticatedBy: authenticator) {
                        HTTPClientRequest(url: url)
                    }
                    #expect(response.status == .unauthorized)
                }
                #expect(other.requests.map { $0.headers["Authorization"] } == [nil, nil])
                #expect(authorization.tokenRequestCount == 1)
            }
        }
    }

    @Test("Ends with the reason if the server rejects every token")
    func alwaysRejected() async throws {
        try await withServers { authorization, api, authenticator in
            api.on(.get, "/never", .status(401), .status(401), .status(401))
            let url = api.url(for: "/never").absoluteString
            await #expect(throws: OAuth2Error(.freshTokenRejected, "")) {
                _ = try await HTTPClient.shared.execute(authenticatedBy: authenticator) { HTTPClientRequest(url: url) }
            }
            #expect(api.requestCount <= 2)
        }
    }

    @Test("Rejects a malformed URL")
    func malformed() async throws {
        try await withServers { _, _, authenticator in
            await #expect(throws: NetworkError(.invalidRequest, "")) {
                _ = try await HTTPClient.shared.execute(authenticatedBy: authenticator) { HTTPClientRequest(url: "") }
            }
        }
    }
}
