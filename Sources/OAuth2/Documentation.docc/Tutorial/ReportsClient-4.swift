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

extension ReportsClient {
    func report(_ id: Int) async throws -> Report? {
        do {
            return try await client.fetch(ReportsAPI(baseURL: api).report(id))
        } catch let error as ServerError where error.errorCode == 404 {
            return nil
        }
    }

    func reports(by author: String? = nil) async throws -> [Report] {
        try await client.fetch(ReportsAPI(baseURL: api).reports(by: author))
    }
}

extension ReportsClient {
    /// The alert for an error; `nil` if the error is temporary.
    static func alarm(for error: any Error) -> String? {
        switch error {
        case let error as ServerError:
            return error.errorCode >= 500
                ? nil : "the API answered \(error.errorCode)"
        case let error as NetworkError where error.code == .requestNotMade:
            guard let cause = error.cause as? OAuth2Error, !cause.isRetryable
            else { return nil }
            return "no token: \(cause.code)"
        case let error as NetworkError where error.code == .tls:
            return "no trust: \(error.tlsFailure.map { "\($0)" } ?? "")"
        default:
            return nil
        }
    }
}
