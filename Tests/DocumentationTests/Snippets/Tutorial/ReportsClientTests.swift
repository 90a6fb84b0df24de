import MockNetworking
import Networking
import Testing
import TokenGeneration

@Test("Reads a report with a token, and replaces a revoked token")
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
