import Foundation
import MockNetworking
import Networking
import OAuth2
import Testing
import TokenGeneration

/// A tested server with a stopped clock, and its clients' requests.
struct AuthorizationPeer {
    struct Answer {
        let status: Int
        let headers: HTTPHeaders
        let body: JSONObject

        var error: String? { body["error"]?.string }
        var description: String? { body["error_description"]?.string }
        var accessToken: String { body["access_token"]?.string ?? "" }
        var refreshToken: String? { body["refresh_token"]?.string }
    }

    static let secret = "s3cret:/+ "
    /// The redirect URI of the public clients `app` and `other`.
    static let place = "https://app.example/callback?tenant=1"

    let time = ManualTime()
    let key: SigningKey
    let server: MockAuthorizationServer
    private let transport: CurlTransport

    /// Runs a test with a server that has the clients `keyed`, with a key, and `secretive`, with a
    /// secret, both with the scopes `read` and `write`.
    static func with(
        rotates: Bool = true,
        _ configure: (inout MockAuthorizationServer.Configuration) -> Void = { _ in },
        _ body: (AuthorizationPeer) async throws -> Void
    ) async throws {
        let peer = try AuthorizationPeer(rotates: rotates, configure)
        let result = await Result.catching { try await body(peer) }
        await peer.transport.close()
        await peer.server.stop()
        try result.get()
    }

    private init(rotates: Bool, _ configure: (inout MockAuthorizationServer.Configuration) -> Void) throws {
        key = try SigningKey.generate(.es256)
        var configuration = MockAuthorizationServer.Configuration(
            tokenLifetime: .seconds(300),
            rotatesRefreshTokens: rotates,
            time: time.timeSource
        )
        configure(&configuration)
        server = try MockAuthorizationServer.start(
            configuration: configuration,
            clients: [
                .init(id: "keyed", key: key.verificationKey, scopes: ["read", "write"]),
                .init(id: "secretive", secret: Self.secret, scopes: ["read", "write"]),
                .init(id: "free", secret: "free"),
                .init(
                    id: "app",
                    authentication: .none,
                    redirectURIs: [Self.place, "http://127.0.0.1/cli"],
                    scopes: ["read", "openid"]
                ),
                .init(id: "other", authentication: .none, redirectURIs: [Self.place]),
            ]
        )
        transport = try CurlTransport(configuration: .init(proxy: .none))
    }

    // MARK: Requests

    func post(
        _ form: [(name: String, value: String)],
        to path: String = "/token",
        headers: HTTPHeaders = [:]
    ) async throws -> Answer {
        let body = FormURLEncoded.encode(form)
        return try await post(body: body, to: path, headers: headers, contentType: FormURLEncoded.contentType)
    }

    func post(
        body: String,
        to path: String = "/token",
        method: HTTPMethod = .post,
        headers: HTTPHeaders = [:],
        contentType: String
    ) async throws -> Answer {
        var headers = headers
        headers["Content-Type"] = contentType
        let request = HTTPRequest(
            method: method,
            url: server.server.url(for: path),
            headers: headers,
            body: .data(Data(body.utf8))
        )
        let response = try await transport.send(request, limits: .init(deadline: .now + .seconds(120)))
        let object = response.body.isEmpty ? [:] : try JSONObject(parsing: response.body)
        return Answer(status: response.status, headers: response.headers, body: object)
    }

    func get(_ url: URL, headers: HTTPHeaders = [:]) async throws -> HTTPTransportResponse {
        let request = HTTPRequest(url: url, headers: headers)
        return try await transport.send(request, limits: .init(deadline: .now + .seconds(120)))
    }

    /// Sends a token request of the client with the secret.
    func tokens(_ form: (name: String, value: String)..., secret: String = Self.secret) async throws -> Answer {
        try await post(form, headers: basic(secret: secret))
    }

    func basic(_ id: String = "secretive", secret: String = Self.secret) -> HTTPHeaders {
        let pair = "\(FormURLEncoded.encode(id)):\(FormURLEncoded.encode(secret))"
        return ["Authorization": "Basic \(Data(pair.utf8).base64EncodedString())"]
    }

    // MARK: Assertions

    /// Returns the claims of a valid assertion.
    func claims(_ changes: JSONObject = [:], without names: String...) -> JSONObject {
        let now = Int(time.date.timeIntervalSince1970)
        var claims: JSONObject = [
            "iss": "keyed", "sub": "keyed", "aud": .string(server.metadata.issuer), "jti": .string(UUID().uuidString),
            "iat": .number(JSONNumber(now)), "exp": .number(JSONNumber(now + 60)),
        ]
        for member in changes { claims[member.name] = member.value }
        for name in names { claims[name] = nil }
        return claims
    }

    func assertion(_ claims: JSONObject, key: SigningKey? = nil) throws -> String {
        try JWTGenerator(payload: claims, signingService: ES256SigningService(key: key ?? self.key)).token()
    }

    func tokens(assertion: String, _ more: (name: String, value: String)...) async throws -> Answer {
        let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
        return try await post(
            [
                ("grant_type", "client_credentials"), ("client_assertion_type", type),
                ("client_assertion", assertion),
            ] + more
        )
    }
}

extension Result where Failure == any Error {
    fileprivate static func catching(_ body: () async throws -> Success) async -> Self {
        do { return .success(try await body()) } catch { return .failure(error) }
    }
}

extension AuthorizationPeer {
    @TaskLocal private static var peer: AuthorizationPeer?

    /// The peer of the running test, whose suite has the trait `authorizationPeer`.
    static var current: AuthorizationPeer {
        guard let peer else { preconditionFailure("the suite lacks the trait .authorizationPeer") }
        return peer
    }

    /// Starts a server for each test of a suite.
    struct PeerTrait: SuiteTrait, TestTrait, TestScoping {
        var isRecursive: Bool { true }

        func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? { testCase == nil ? nil : self }

        @concurrent
        func provideScope(
            for test: Test,
            testCase: Test.Case?,
            performing function: @Sendable @concurrent () async throws -> Void
        ) async throws {
            try await AuthorizationPeer.with { peer in
                try await AuthorizationPeer.$peer.withValue(peer) { try await function() }
            }
        }
    }
}

extension Trait where Self == AuthorizationPeer.PeerTrait {
    /// Gives each test the peer `AuthorizationPeer.current`.
    static var authorizationPeer: Self { Self() }
}
