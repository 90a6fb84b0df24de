import Foundation
import MockNetworking
import Networking
import OAuth2
import SharedStores
import TokenGeneration
import WebSignIn

/// The application's configuration, from the environment.
struct Configuration {
    /// `PUBLIC_URL`: the application as browsers see it; the default is `http://localhost:PORT`.
    var publicURL: String
    /// `PORT`; the default is 8080.
    var port: Int
    /// `SESSION_KEY_FILE`: a file with the output of `openssl rand -base64 32`, the same on all
    /// hosts.
    ///
    /// The default is a key that ends with the process.
    var keys: RecordKeys
    /// `ISSUER`, `CLIENT_ID`, `CLIENT_SECRET_FILE`, `SCOPE` and `ID_TOKEN_ALGORITHM`.
    var provider: SignInProvider
    /// `ORDERS_URL`: the API that has the orders.
    var orders: URL
    /// The provider and the API that this process has if there's no `ISSUER`.
    var mock: Mock?

    struct Missing: Error, CustomStringConvertible {
        let name: String
        var description: String { "set the environment variable \(name)" }
    }

    init(environment: [String: String]) throws {
        func value(_ name: String) throws -> String {
            guard let value = environment[name], !value.isEmpty else { throw Missing(name: name) }
            return value
        }
        func secret(_ name: String) throws -> Secret {
            let text = try String(contentsOfFile: value(name), encoding: .utf8)
            return Secret(text.trimmingCharacters(in: .whitespacesAndNewlines))
        }
        port = environment["PORT"].flatMap { Int($0) } ?? 8080
        publicURL = environment["PUBLIC_URL"] ?? "http://localhost:\(port)"
        if environment["SESSION_KEY_FILE"] == nil {
            let random = Data((0..<32).map { _ in UInt8.random(in: 0...255) })
            keys = try RecordKeys(sealing: Secret(random.base64EncodedString()))
        } else {
            keys = try RecordKeys(sealing: secret("SESSION_KEY_FILE"))
        }
        guard environment["ISSUER"] != nil else {
            let mock = try Mock(publicURL: publicURL)
            (self.mock, provider, orders) = (mock, mock.signInProvider, mock.orders)
            return
        }
        guard let orders = URL(string: try value("ORDERS_URL")) else { throw Missing(name: "ORDERS_URL") }
        self.orders = orders
        provider = SignInProvider(
            "id",
            issuer: try value("ISSUER"),
            clientAuthentication: .clientSecretBasic(
                clientID: try value("CLIENT_ID"),
                secret: try secret("CLIENT_SECRET_FILE")
            ),
            scope: environment["SCOPE"] ?? "openid profile",
            idTokenAlgorithms: [environment["ID_TOKEN_ALGORITHM"].flatMap(JWSAlgorithm.init(rawValue:)) ?? .rs256],
            apis: .origins(of: [orders])
        )
    }
}

/// A provider that approves everything for the user `ada`, and an API with her orders.
struct Mock {
    let server: MockAuthorizationServer
    let api: LoopbackServer
    let signInProvider: SignInProvider

    var orders: URL { api.url(for: "/orders") }

    init(publicURL: String) throws {
        var client = MockAuthorizationServer.Client(
            id: "shop",
            authentication: .clientSecretBasic("s3cret"),
            redirectURIs: ["\(publicURL)/auth/id/callback"]
        )
        client.logoutRedirectURIs = ["\(publicURL)/auth/id/signed-out"]
        server = try .start(clients: [client])
        api = try LoopbackServer.start()
        api.on(
            .get,
            "/orders",
            server.protecting(scope: "orders.read") { _ in
                .json(
                    #"[{"id":1043,"item":"Analytical engine, brass"},{"id":1051,"item":"Punched cards, box of 500"}]"#
                )
            }
        )
        signInProvider = SignInProvider(
            "id",
            issuer: server.metadata.issuer,
            clientAuthentication: .clientSecretBasic(clientID: "shop", secret: Secret("s3cret")),
            scope: "openid orders.read",
            idTokenAlgorithms: [.es256],
            apis: [api.baseURL]
        )
    }

    func stop() async {
        await server.stop()
        await api.stop()
    }
}
