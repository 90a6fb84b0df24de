import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdResourceServer
import HummingbirdTesting
import MockNetworking
import OAuth2
import OAuth2HTTPTypes
import ObservedService
import ResourceServer
import TokenGeneration

import struct Networking.HTTPHeaders

/// A service with protected routes, and the server that issues its tokens.
struct ProtectedService {
    static let url = "https://api.example"

    let authorization: MockAuthorizationServer
    let logs = LogRecords()
    var verifier: AccessTokenVerifier

    init() throws {
        authorization = try MockAuthorizationServer.start(clients: [.init(id: "shop", secret: "s3cret")])
        verifier = AccessTokenVerifier(
            issuer: authorization.metadata.issuer,
            audience: Self.url,
            keys: .fixed(authorization.keys)
        )
        verifier.realm = "reports"
    }

    /// The service as a user writes it.
    func router() throws -> Router<AuthorizedRequestContext> {
        let resource = try ProtectedResource(
            identifier: Self.url,
            authorizationServers: [authorization.metadata.issuer]
        )
        let router = Router(context: AuthorizedRequestContext.self)
        try router.publish(resource)
        let reports = router.group("reports").authorized(with: verifier, at: Self.url).requires(scope: "reports.read")
        reports.get { _, context in try context.accessToken.subject ?? "" }
        reports.get("missing") { _, _ -> String in throw HTTPError(.notFound) }
        reports.requires(scope: "reports.write").delete { _, _ in HTTPResponse.Status.noContent }
        reports.get("later") { _, _ in "" }
        // A group with a token changes no other routes.
        let shared = router.group("shared")
        shared.authorized(with: verifier, at: Self.url)
            .get("own") { _, context in try context.accessToken.subject ?? "" }
        shared.get("open") { _, context in (try? context.accessToken.subject) ?? "nobody" }
        router.group("unprotected").requires(scope: "reports.read").get { _, _ in "" }
        return router
    }

    func application() throws -> some ApplicationProtocol {
        Application(router: try router(), logger: logs.logger)
    }

    func token(
        scope: String = "reports.read",
        audience: String = Self.url,
        key: DPoPProofGenerator? = nil,
        certificateDER: Data? = nil
    ) throws -> String {
        try authorization.issueAccessToken(
            clientID: "shop",
            subject: "ada",
            scope: scope,
            audience: audience,
            keyThumbprint: key?.thumbprint,
            certificateDER: certificateDER
        )
    }

    func stop() async { await authorization.stop() }
}

extension TestClientProtocol {
    func response(
        _ path: String = "/reports",
        _ method: HTTPTypes.HTTPRequest.Method = .get,
        bearer token: String? = nil
    ) async throws -> TestResponse {
        var headers = HTTPFields()
        headers[.authorization] = token.map { "Bearer \($0)" }
        return try await execute(uri: path, method: method, headers: headers)
    }

    func response(dpop token: String, proof: String, path: String = "/reports") async throws -> TestResponse {
        var headers: HTTPFields = [.authorization: "DPoP \(token)"]
        headers.set(["DPoP": proof])
        return try await execute(uri: path, method: .get, headers: headers)
    }
}

extension TestResponse {
    var challenge: String? { headers[.wwwAuthenticate] }
    var nonce: String? { headers.first { $0.name.canonicalName == "dpop-nonce" }?.value }
    var text: String { String(buffer: body) }
}
