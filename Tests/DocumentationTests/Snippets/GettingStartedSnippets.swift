import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import ResourceServer
import TestSupport
import Testing
import TokenGeneration

/// The programs of Docs/GettingStarted.md. `SnippetTests` compares them with the page, and
/// `Tests/Platforms/newcomer` builds them as packages of their own.
@Suite("Getting started", .limitedConcurrency)
struct GettingStartedSnippets {
    @Test("Signs a token and verifies it")
    func signing() throws {
        let key = try SigningKey.generate(.es256)
        var claims = RegisteredClaims(
            issuer: "orders",
            audience: ["https://api.example"]
        )
        claims.setTimes(lifetime: .seconds(300))
        let token = try key.sign(claims)
        print(token)

        let policy = ValidationPolicy(
            issuer: "orders",
            audience: "https://api.example"
        )
        let verifier = JWTVerifier(key: key.verificationKey, policy: policy)
        print(try verifier.verify(token).claims)
    }

    @Test("Protects a route and calls it with client credentials")
    func calling() async throws {
        let authorization = try MockAuthorizationServer.start(clients: [
            .init(id: "shop", secret: "s3cret", scopes: ["orders.read"])
        ])
        let issuer = authorization.metadata.issuer
        let verifier = AccessTokenVerifier(
            discovery: AuthorizationServerDiscovery(issuer: issuer),
            audience: issuer
        )
        let api = try LoopbackServer.start { routes in
            routes.on(.get, "/orders") { request in
                let head = ProtectedRequest(
                    method: request.method,
                    url: request.path,
                    headers: request.headers
                )
                do throws(AccessRefusal) {
                    let token = try await verifier.verify(
                        head,
                        requires: AccessRequirement(scope: ["orders.read"])
                    )
                    return .text("orders of \(token.clientID ?? "a user")")
                } catch {
                    return .status(error.status, headers: error.headers)
                }
            }
        }

        let orders = URLRequest(url: api.url(for: "/orders"))
        do {
            _ = try await NetworkClient().makeRequest(orders)
        } catch let error as ServerError {
            print(error.errorCode, error.httpResponse?.headers["WWW-Authenticate"] ?? "")
        }
        let refusal = await #expect(throws: ServerError.self) { try await NetworkClient().makeRequest(orders) }
        #expect(refusal?.errorCode == 401)
        #expect(refusal?.httpResponse?.headers["WWW-Authenticate"] == #"Bearer scope="orders.read""#)

        let authenticator = OAuth2Authenticator(
            discovery: AuthorizationServerDiscovery(issuer: issuer),
            clientAuthentication: .clientSecretBasic(
                clientID: "shop",
                secret: Secret("s3cret")
            ),
            grant: ClientCredentialsGrant(scope: "orders.read"),
            resources: [api.baseURL]
        )
        let client = NetworkClient(interceptors: [authenticator])
        let response = try await client.makeRequest(orders)
        print(String(decoding: response, as: UTF8.self))
        #expect(String(decoding: response, as: UTF8.self) == "orders of shop")
        await api.stop()
        await authorization.stop()
    }
}
