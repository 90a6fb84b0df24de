import Foundation
import Hummingbird
import HummingbirdTesting
import Logging
import MockNetworking
import OAuth2
import Testing

@testable import reports_service

@Suite("reports-service")
struct ReportsServiceTests {
    private static let url = "https://reports.example"
    private let authorization: MockAuthorizationServer
    private let archive: LoopbackServer
    private let logs = LogMessages()

    init() throws {
        authorization = try MockAuthorizationServer.start(clients: [
            .init(id: "reports", secret: "s3cret", scopes: ["archive.read"])
        ])
        let protected = authorization.protecting(scope: "archive.read") { _ in .text("a report") }
        archive = try LoopbackServer.start { routes in routes.on(.get, "/reports/42", protected) }
    }

    /// Runs a test with the service on a port.
    private func withService(_ test: @Sendable (any TestClientProtocol) async throws -> Void) async throws {
        let configuration = Configuration(
            issuer: authorization.metadata.issuer,
            publicURL: Self.url,
            archive: archive.baseURL,
            clientID: "reports",
            clientSecret: Secret("s3cret"),
            port: 0
        )
        try await makeService(configuration, logger: logs.logger).test(.live, test)
        await archive.stop()
        await authorization.stop()
    }

    private func header(scope: String) throws -> HTTPFields {
        let token = try authorization.issueAccessToken(
            clientID: "dashboard",
            subject: "ada",
            scope: scope,
            audience: Self.url
        )
        return [.authorization: "Bearer \(token)"]
    }

    @Test("Reads a report from the archive with the service's own token")
    func report() async throws {
        let headers = try header(scope: "reports.read")
        try await withService { client in
            for _ in 1...2 {
                let response = try await client.execute(uri: "/reports/42", method: .get, headers: headers)
                #expect(response.status == .ok)
                #expect(String(buffer: response.body) == "a report")
                authorization.revokeAccessTokens()
            }
            #expect(authorization.tokenRequestCount == 2)
            #expect(!archive.requests.contains { $0.headers["Authorization"] == headers[.authorization] })
        }
    }

    @Test("Refuses a request without the right token, and logs the reason without the token")
    func refusals() async throws {
        let headers = try header(scope: "profile")
        try await withService { client in
            let none = try await client.execute(uri: "/reports/42", method: .get)
            #expect(none.status == .unauthorized)
            let metadata = "\(Self.url)/.well-known/oauth-protected-resource"
            #expect(none.headers[.wwwAuthenticate] == #"Bearer resource_metadata="\#(metadata)""#)
            let narrow = try await client.execute(uri: "/reports/42", method: .get, headers: headers)
            #expect(narrow.status == .forbidden)
            #expect(archive.requestCount == 0)
            #expect(logs.all.contains { $0.contains("noToken") })
            #expect(logs.all.contains { $0.contains("insufficientScope") })
            let token = try #require(headers[.authorization]?.split(separator: " ").last)
            #expect(!logs.all.contains { $0.contains(token) })
        }
    }

    @Test("Responds with 404 to a report that the archive doesn't have, and with 502 if the archive fails")
    func failures() async throws {
        let headers = try header(scope: "reports.read")
        archive.on(.get, "/reports/13") { _ in .status(400) }
        try await withService { client in
            for (id, status) in [("7", HTTPResponse.Status.notFound), ("13", .badGateway), ("x", .badRequest)] {
                let response = try await client.execute(uri: "/reports/\(id)", method: .get, headers: headers)
                #expect(response.status == status)
            }
            #expect(logs.all.contains { $0.contains("the archive failed") })
        }
    }

    @Test("Is healthy while it has a token, and not if it can't get one")
    func health() async throws {
        try await withService { client in
            let healthy = try await client.execute(uri: "/health", method: .get)
            await authorization.stop()
            let stillHealthy = try await client.execute(uri: "/health", method: .get)
            #expect([healthy.status, stillHealthy.status] == [.ok, .ok])
        }
        let other = try ReportsServiceTests()
        await other.authorization.stop()
        try await other.withService { client in
            let response = try await client.execute(uri: "/health", method: .get)
            #expect(response.status == .serviceUnavailable)
        }
    }

    @Test("Names the variable that is missing")
    func configuration() {
        let error = #expect(throws: Configuration.Missing.self) {
            try Configuration(environment: ["ISSUER": "https://id.example"])
        }
        #expect(error?.name == "PUBLIC_URL")
    }
}
