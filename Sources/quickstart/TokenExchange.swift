import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2

/// The approach of GOV.UK One Login: each call exchanges the user's token for a narrower one (RFC
/// 8693).
struct TokenExchange: Example {
    static let name = "token-exchange"
    static let summary = "the user's token, exchanged for a narrower one per service"

    static func run() async throws {
        let authorization = try MockAuthorizationServer.start(clients: [.init(id: "wallet", secret: "s3cret")])
        let api = try LoopbackServer.start { routes in
            routes.on(
                .get,
                "/licence",
                authorization.protecting(scope: "licence.read") { _ in .text("valid until 2031") }
            )
            routes.on(.get, "/address", authorization.protecting(scope: "address.read") { _ in .text("1 Quay Street") })
        }
        let user = CachedTokenSource(
            client: OAuth2Client(
                server: authorization.metadata,
                clientAuthentication: .clientSecretBasic(clientID: "wallet", secret: Secret("s3cret"))
            ),
            grant: ClientCredentialsGrant()
        )
        let provider = TokenExchangeProvider { try await user.token().value }
        let client = NetworkClient(options: .init(authenticationProvider: provider))
        func call(_ path: String, scope: String) async throws -> String {
            let answer = try await client.makeAuthorizedRequest(
                exchangeRequest: URLRequest(url: authorization.metadata.tokenEndpoint),
                scope: scope,
                request: URLRequest(url: api.url(for: path))
            )
            return String(decoding: answer, as: UTF8.self)
        }

        print("1. licence: \(try await call("/licence", scope: "licence.read"))")
        print("2. address: \(try await call("/address", scope: "address.read"))")
        let requests = authorization.tokenRequestCount
        try Surprise.unless(requests == 3, "\(requests) token requests")
        print("3. \(requests) token requests: one for the user, and one exchange per scope")
        _ = try await call("/licence", scope: "licence.read")
        try Surprise.unless(authorization.tokenRequestCount == requests, "a cached token was exchanged again")
        print("4. the exchanged token is cached, so the next call needs no exchange")
        do {
            _ = try await call("/licence", scope: "address.read")
            throw Surprise("a token with another scope was accepted")
        } catch let error as ServerError {
            try Surprise.unless(error.errorCode == 403, "\(error.errorCode)")
            print("5. a token for the address doesn't give access to the licence: \(error.errorCode)")
        }

        await api.stop()
        await authorization.stop()
    }
}
