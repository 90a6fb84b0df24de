import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

/// The tutorial's statements about its client. The client's code is in the folder Tutorial.
@Suite("Tutorial: service client", .limitedConcurrency)
struct ServiceClientSnippets {
    @Test("Recovers from a 503, returns nil for a 404 and raises an alarm for a wrong key")
    func faults() async throws {
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

    @Test("Reports token events as they occur")
    func watching() async throws {
        let authorization = try MockAuthorizationServer.start(clients: [.init(id: "dashboard", secret: "s3cret")])
        let authenticator = OAuth2Authenticator(
            server: authorization.metadata,
            clientAuthentication: .clientSecretBasic(clientID: "dashboard", secret: Secret("s3cret")),
            grant: ClientCredentialsGrant(),
            resources: .everyHTTPSOrigin
        )
        let events = authenticator.events
        _ = try await authenticator.accessToken()
        var alarms: [String] = []
        let alert = { (text: String) in alarms.append(text) }
        try await authenticator.signOut()

        for await event in events {
            if case .dead(let code, _) = event { alert("sign in again: \(code)") }
            if case .storeFailed = event { alert("the token store can't save tokens") }
            if case .signedOut = event { break }
        }
        #expect(alarms.isEmpty)
        await authorization.stop()
    }
}
