import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestTurns
import Testing
import TokenGeneration

// The code of the tutorial “Build a service client”, in the order of its steps.

struct Settings: Sendable {
    let api: URL
    let server: AuthorizationServer
    let clientID: String
    let keyPEM: String
}

struct Report: Codable, Sendable {
    let id: Int
    let title: String
}

struct ReportsAPI {
    let baseURL: URL

    func report(_ id: Int) -> Endpoint { Endpoint(baseURL: baseURL, path: "/reports/\(id)") }

    func reports(by author: String?) -> Endpoint {
        Endpoint(baseURL: baseURL, path: "/reports", query: ["author": author])
    }

    struct Endpoint: HTTPEndpoint {
        let baseURL: URL
        let path: URLPath
        var query: URLQuery = [:]
    }
}

struct ReportsClient: Sendable {
    let authenticator: OAuth2Authenticator
    private let client: NetworkClient
    private let api: URL

    init(_ settings: Settings, log: @escaping LoggingInterceptor.Sink) throws {
        let key = try SigningKey(pem: settings.keyPEM)
        let signingService = try ES256SigningService(key: key, keyID: key.verificationKey.thumbprint)
        authenticator = OAuth2Authenticator(
            server: settings.server,
            clientAuthentication: .privateKeyJWT(clientID: settings.clientID, signingService: signingService),
            grant: ClientCredentialsGrant(scope: "reports.read"),
            resources: [settings.api]
        )
        client = NetworkClient(interceptors: [
            authenticator,
            Retry.Policy.backoff(.exponential(.milliseconds(100), until: .maxRetries(3))),
            LoggingInterceptor(sink: log),
        ])
        api = settings.api
    }
}

extension ReportsClient {
    func report(_ id: Int) async throws -> Report? {
        do {
            return try await client.request(ReportsAPI(baseURL: api).report(id))
        } catch let error as ServerError where error.errorCode == 404 {
            return nil
        }
    }

    func reports(by author: String? = nil) async throws -> [Report] {
        try await client.request(ReportsAPI(baseURL: api).reports(by: author))
    }
}

extension ReportsClient {
    /// What to tell whoever is on call; `nil` if it will pass by itself.
    static func alarm(for error: any Error) -> String? {
        switch error {
        case let error as ServerError:
            return error.errorCode >= 500 ? nil : "the API answered \(error.errorCode)"
        case let error as NetworkError where error.code == .requestNotMade:
            guard let cause = error.cause as? OAuth2Error, !cause.isRetryable else { return nil }
            return "no token: \(cause.code)"
        case let error as NetworkError where error.code == .tls:
            return "no trust: \(error.tlsFailure.map { "\($0)" } ?? "")"
        default:
            return nil
        }
    }
}

/// The tests that the tutorial writes.
@Suite("Tutorial: a service client", .timeLimit(.minutes(10)), .turns)
struct ServiceClientSnippets {
    @Test("A report is read with a token, and a revoked token is replaced")
    func report() async throws {
        let key = try SigningKey.generate(.es256)
        let authorization = try MockAuthorizationServer.start(clients: [
            .init(id: "dashboard", key: key.verificationKey, scopes: ["reports.read"])
        ])
        let api = try LoopbackServer.start { routes in
            routes.on(.get, "/reports/42", authorization.protecting { _ in .json(#"{"id":42,"title":"Tides"}"#) })
        }
        let settings = Settings(
            api: api.baseURL,
            server: authorization.metadata,
            clientID: "dashboard",
            keyPEM: try key.pem()
        )
        let reports = try ReportsClient(settings, log: { _ in })

        #expect(try await reports.report(42)?.title == "Tides")
        authorization.revokeAccessTokens()
        #expect(try await reports.report(42)?.title == "Tides")
        #expect(authorization.tokenRequestCount == 2)

        await api.stop()
        await authorization.stop()
    }

    @Test("A bad day of the API is survived, a missing report is none, and a wrong key is an alarm")
    func troubles() async throws {
        let key = try SigningKey.generate(.es256)
        let authorization = try MockAuthorizationServer.start(clients: [
            .init(id: "dashboard", key: key.verificationKey)
        ])
        let api = try LoopbackServer.start { routes in
            routes.on(.get, "/reports", .status(503), .json("[]"))
            routes.on(.get, "/reports/1", .status(404))
        }
        func client(_ key: SigningKey) throws -> ReportsClient {
            try ReportsClient(
                Settings(
                    api: api.baseURL,
                    server: authorization.metadata,
                    clientID: "dashboard",
                    keyPEM: try key.pem()
                ),
                log: { _ in }
            )
        }
        #expect(try await client(key).reports(by: "Ada").isEmpty)
        #expect(api.requests.first?.target == "/reports?author=Ada")
        #expect(try await client(key).report(1) == nil)

        let error = await #expect(throws: (any Error).self) { try await client(SigningKey.generate(.es256)).reports() }
        #expect(error.flatMap(ReportsClient.alarm) == "no token: invalidClient")
        await api.stop()
        await authorization.stop()
    }

    @Test("What happens to tokens is told as it happens")
    func watching() async throws {
        let authorization = try MockAuthorizationServer.start(clients: [.init(id: "dashboard", secret: "s3cret")])
        let authenticator = OAuth2Authenticator(
            server: authorization.metadata,
            clientAuthentication: .clientSecretBasic(clientID: "dashboard", secret: Secret("s3cret")),
            grant: ClientCredentialsGrant()
        )
        let events = authenticator.events
        _ = try await authenticator.accessToken()
        var alarms: [String] = []
        let alert = { (text: String) in alarms.append(text) }
        try await authenticator.signOut()

        for await event in events {
            if case .dead(let code, _) = event { alert("somebody has to sign in: \(code)") }
            if case .storeFailed = event { alert("the token store does not take tokens") }
            if case .signedOut = event { break }
        }
        #expect(alarms.isEmpty)
        await authorization.stop()
    }
}
