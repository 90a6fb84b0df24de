// What users write without reading a page. `.ci/samples` compiles this file as users' code: the
// compiler accepts each line, or refuses it, or
// warns, with the advice in the comment before it.

import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import ResourceServer
import TokenGeneration

// MARK: Clients

func clients(_ authenticator: OAuth2Authenticator, _ url: URL) {
    _ = NetworkClient(interceptors: [authenticator], options: .init(timeout: .seconds(5)))
    // refused: argument 'interceptors' must precede argument 'options'
    _ = NetworkClient(options: .init(), interceptors: [authenticator])
    // refused: argument 'baseURL' must precede argument 'interceptors'
    _ = NetworkClient(interceptors: [authenticator], baseURL: url)
    _ = NetworkClient(baseURL: URL(string: "https://api.example"))
}

// MARK: Versions and user agents

func versions(_ text: String) {
    _ = Version(1, 2, 3)
    _ = Version("1.2.3")
    _ = Version(text)
    _ = Version(string: text)
    // refused: The numbers have no labels: Version(1, 2, 3).
    _ = Version(major: 1, minor: 2, patch: 3)
    // refused: 'patch' has been renamed to 'increment'
    _ = Version.one.patch
}

func userAgents(_ text: String) {
    _ = UserAgent(applicationName: "reports", applicationVersion: "1.2.3")
    _ = UserAgent(applicationName: "reports", applicationVersion: Version(1, 2, 3))
    // refused: renamed to 'init(applicationName:applicationVersion:)'
    _ = UserAgent(name: "reports", version: "1.2.3")
    // refused: renamed to 'init(applicationName:applicationVersion:)'
    _ = UserAgent(product: "reports", version: "1.2.3")
    // refused: Use UserAgent(applicationName:applicationVersion:)
    _ = UserAgent(text)
    // refused: Use UserAgent(applicationName:applicationVersion:)
    _ = UserAgent("reports/1.2.3")
    // refused: Use UserAgent(applicationName:applicationVersion:)
    _ = NetworkClient.Options(userAgent: "reports/1.2.3")
    var options = NetworkClient.Options()
    options.userAgent = "reports/1.2.3"
    _ = NetworkClient(options: options)
}

// MARK: Tokens

func sources(_ secret: Secret, _ token: AccessToken) {
    _ = StaticTokenSource(token)
    _ = StaticTokenSource(secret)
    _ = StaticTokenSource(Secret("token"))
    // refused: A token is a secret: StaticTokenSource(Secret(text)).
    _ = StaticTokenSource("token")
}

func signatures(_ key: SigningKey, _ data: Data, _ bytes: [UInt8], _ text: String) async throws {
    _ = try key.sign(["iss": "reports"])
    _ = try key.sign(["iat": Date()])
    _ = try key.sign(["iss": "reports", "exp": 1_700_000_000] as JSONObject)
    _ = try key.sign(data: data)
    // refused: Data isn't claims. Use sign(data:) or JWSGenerator.
    _ = try key.sign(data)
    // refused: Bytes aren't claims. Use sign(data:) or JWSGenerator.
    _ = try key.sign(bytes)
    // refused: A text isn't claims. Use JWSGenerator, or JWTGenerator for JSON.
    _ = try key.sign(text)
    // warned: Data isn't claims. Use sign(data:) or JWSGenerator.
    _ = try await key.token(for: data)
}

func synchronousSignatures(_ key: SigningKey, _ data: Data, _ text: String) throws {
    // warned: Data isn't claims. Use sign(data:) or JWSGenerator.
    _ = try key.sign(data)
    // warned: A text isn't claims. Use JWSGenerator, or JWTGenerator for JSON.
    _ = try key.sign(text)
}

func signIn(_ authenticator: OAuth2Authenticator) async throws {
    if try await authenticator.needsSignIn { try await authenticator.signIn(with: Secret("refresh token")) }
}

// MARK: Transfers and streams

func transfers(_ client: NetworkClient, _ url: URL, _ file: URL) async throws {
    _ = try await client.download(url, to: file, permissions: 0o644).value
}

func events(_ client: NetworkClient, _ url: URL) async throws {
    let events = client.events(for: url, onResponse: { headers in print(headers["Mcp-Session-Id"] ?? "none") })
    for try await event in events { print(event.data) }
}

// MARK: Tests

func servers() throws {
    _ = try LoopbackServer.start { routes in
        routes.on(.get, "/next", .text(routes.baseURL.absoluteString))
    }
}

// MARK: Token stores

struct Store: TokenStore {
    func load(_ key: String) async throws -> VersionedTokenRecord? { nil }

    func compareAndSwap(
        _ key: String,
        expectedVersion: TokenRecordVersion?,
        record: TokenRecord
    ) async throws -> TokenRecordVersion? {
        nil
    }

    func remove(_ key: String, ifVersion version: TokenRecordVersion) async throws -> Bool { true }

    func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: nonisolated(nonsending) @Sendable () async throws -> Result
    ) async throws -> Result {
        try await body()
    }
}

// refused: _ body: nonisolated(nonsending) @Sendable () async throws -> Result
struct ConcurrentStore: TokenStore {
    func load(_ key: String) async throws -> VersionedTokenRecord? { nil }

    func compareAndSwap(
        _ key: String,
        expectedVersion: TokenRecordVersion?,
        record: TokenRecord
    ) async throws -> TokenRecordVersion? {
        nil
    }

    func remove(_ key: String, ifVersion version: TokenRecordVersion) async throws -> Bool { true }

    func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await body()
    }
}
