import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TokenGeneration

/// A service that reads an API with client credentials, with models, retries, a log and metrics.
///
/// To adapt it, copy ``ReportsService`` and use your own URLs, client ID and key.
struct BackendService: Example {
    static let name = "backend-service"
    static let summary = "client credentials with a key, models, retries and a log"

    static func run() async throws {
        let key = try SigningKey.generate(.es256)
        let authorization = try MockAuthorizationServer.start(clients: [
            .init(id: "reports-service", key: key.verificationKey, scopes: ["reports.read"])
        ])
        let api = try LoopbackServer.start { routes in
            routes.on(
                .get,
                "/reports/42",
                authorization.protecting(scope: "reports.read") { _ in
                    .json(#"{"id":42,"title":"Tides"}"#)
                }
            )
            routes.on(.get, "/reports/7", .status(503), .json(#"{"id":7,"title":"Winds"}"#))
            routes.on(.get, "/reports/1", .json(#"{"title":"no such report"}"#, status: 404))
        }

        let service = try ReportsService(
            api: api.baseURL,
            server: authorization.metadata,
            clientID: "reports-service",
            key: key
        )
        guard let tides = try await service.report(42), let winds = try await service.report(7) else {
            throw Surprise("no reports")
        }
        print("1. \(tides)")
        print("2. \(winds), though the server was unavailable at first")
        try Surprise.unless(try await service.report(1) == nil, "report 1 exists")
        print("3. report 1 doesn't exist, which isn't an error")
        let counters = service.authenticator.counters
        try Surprise.unless(counters.tokenRequests == 1, "\(counters.tokenRequests) token requests")
        print("4. \(api.requestCount) API requests, \(counters.tokenRequests) token request")

        await api.stop()
        await authorization.stop()
    }
}

/// A client for the reports API.
struct ReportsService: Sendable {
    let authenticator: OAuth2Authenticator
    private let client: NetworkClient
    private let api: URL

    init(api: URL, server: AuthorizationServer, clientID: String, key: SigningKey) throws {
        self.api = api
        authenticator = OAuth2Authenticator(
            client: OAuth2Client(
                server: server,
                clientAuthentication: .privateKeyJWT(
                    clientID: clientID,
                    signingService: try ES256SigningService(key: key, keyID: key.verificationKey.thumbprint)
                )
            ),
            grant: ClientCredentialsGrant(scope: "reports.read"),
            resources: [api]
        )
        client = NetworkClient(
            interceptors: [
                authenticator,
                Retry.Policy.backoff(.exponential(.milliseconds(50), until: .maxRetries(3))),
            ],
            options: .init(observers: [RequestLogger()])
        )
    }

    func report(_ id: Int) async throws -> Report? {
        do {
            return try await client.fetch(ReportEndpoint(baseURL: api, id: id)) as Report
        } catch let error as ServerError where error.errorCode == 404 {
            return nil
        }
    }

    struct Report: Decodable, CustomStringConvertible {
        let id: Int
        let title: String

        var description: String { "report \(id): \(title)" }
    }

    private struct ReportEndpoint: HTTPEndpoint {
        let baseURL: URL
        let id: Int

        var path: URLPath { "/reports/\(id)" }
    }
}
