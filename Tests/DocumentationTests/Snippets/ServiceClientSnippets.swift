import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import Synchronization
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
        let alarms = Mutex<[String]>([])
        let observer = TokenAlarm { text in alarms.withLock { $0.append(text) } }
        let authenticator = OAuth2Authenticator(
            server: authorization.metadata,
            clientAuthentication: .clientSecretBasic(clientID: "dashboard", secret: Secret("s3cret")),
            grant: ClientCredentialsGrant(),
            resources: .everyHTTPSOrigin,
            client: NetworkClient(options: .init(observers: [observer]))
        )
        _ = try await authenticator.accessToken()
        #expect(alarms.withLock { $0.isEmpty })
        observer.observe(OAuth2Event.storeFailed)
        #expect(alarms.withLock { $0 } == ["the token store can't save tokens"])
        await authorization.stop()
    }
}

final class TokenAlarm: ClientObserver {
    let alert: @Sendable (String) -> Void

    init(_ alert: @escaping @Sendable (String) -> Void) { self.alert = alert }

    func observe(_ event: any ObservedEvent) {
        switch event as? OAuth2Event {
        case .dead(let code, _): alert("sign in again: \(code)")
        case .storeFailed: alert("the token store can't save tokens")
        default: break
        }
    }
}
