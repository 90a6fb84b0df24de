import Foundation
import FoundationNetworking
import Hummingbird
import HummingbirdResourceServer
import Logging
import Networking
import OAuth2
import OAuth2ServiceLifecycle
import ResourceServer

/// Makes the service: an API with protected routes that calls another API with its own tokens.
func makeService(_ configuration: Configuration, logger: Logger) throws -> some ApplicationProtocol {
    // The calls to the archive.
    let authenticator = OAuth2Authenticator(
        client: OAuth2Client(
            discovery: AuthorizationServerDiscovery(issuer: configuration.issuer),
            clientAuthentication: .clientSecretBasic(
                clientID: configuration.clientID,
                secret: configuration.clientSecret
            )
        ),
        grant: ClientCredentialsGrant(scope: "archive.read"),
        resources: [configuration.archive]
    )
    let archive = NetworkClient(interceptors: [authenticator, Retry.Policy.maxRetries(2)])
    let tokens = TokenService(authenticator, logger: logger)

    // The tokens of this API's clients.
    let resource = try ProtectedResource(
        identifier: configuration.publicURL,
        authorizationServers: [configuration.issuer],
        scopes: ["reports.read"]
    )
    var verifier = AccessTokenVerifier(issuer: configuration.issuer, audience: configuration.publicURL)
    verifier.resourceMetadata = try resource.metadataURL

    let router = Router(context: AuthorizedRequestContext.self)
    router.get("health") { _, _ in
        do { try await tokens.checkHealth() } catch { throw HTTPError(.serviceUnavailable) }
        return HTTPResponse.Status.ok
    }
    try router.publish(resource)
    router.group("reports")
        .authorized(with: verifier, at: configuration.publicURL)
        .requires(scope: "reports.read")
        .get(":id") { request, context in
            let id = try context.parameters.require("id", as: Int.self)
            let url = configuration.archive.appending(path: "reports/\(id)")
            let report: Data
            do {
                report = try await archive.makeRequest(URLRequest(url: url))
            } catch let error as ServerError where error.status == 404 {
                throw HTTPError(.notFound)
            } catch {
                // The error contains no secret.
                context.logger.error("the archive failed", metadata: ["error": "\(error)"])
                throw HTTPError(.badGateway)
            }
            let client = try context.accessToken.clientID ?? "-"
            context.logger.info("report read", metadata: ["report": "\(id)", "client": "\(client)"])
            return ByteBuffer(data: report)
        }

    return Application(
        router: router,
        configuration: .init(address: .hostname("0.0.0.0", port: configuration.port), serverName: "reports"),
        services: [tokens],
        logger: logger
    )
}
