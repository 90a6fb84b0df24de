import Foundation
import Networking
import OAuth2
import TokenGeneration

struct Settings: Sendable {
    let api: URL
    let server: AuthorizationServer
    let clientID: String
    let keyPEM: String
}

struct ReportsClient: Sendable {
    let authenticator: OAuth2Authenticator
    private let client: NetworkClient
    private let api: URL

    init(_ settings: Settings, log: @escaping @Sendable (String) -> Void) throws {
        let key = try SigningKey(pem: settings.keyPEM)
        authenticator = OAuth2Authenticator(
            client: OAuth2Client(
                server: settings.server,
                clientAuthentication: .privateKeyJWT(
                    clientID: settings.clientID,
                    signingService: key.identified(by: key.verificationKey.thumbprint)
                )
            ),
            grant: ClientCredentialsGrant(scope: "reports.read"),
            resources: [settings.api]
        )
        client = NetworkClient(
            interceptors: [
                authenticator,
                Retry.Policy.backoff(.exponential(.milliseconds(100), until: .maxRetries(3))),
            ],
            options: .init(observers: [RequestLogger(sink: log)])
        )
        api = settings.api
    }
}
