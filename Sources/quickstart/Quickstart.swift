import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TokenGeneration

/// The whole package on one page: a signed token, an authenticated call and recovery from a 401.
///
/// It needs no network, account or key. The authorization server and the API are real servers on
/// loopback ports.
struct Quickstart: Example {
    static let name = "quickstart"
    static let summary = "from a key to fifty calls that recover from a revoked token"

    static func run() async throws {
        let start = ContinuousClock.now

        // 1. A key and its signing service.
        let key = try SigningKey.generate(.es256)
        let signingService = try ES256SigningService(key: key, keyID: key.verificationKey.thumbprint)
        report(1, "generated a P-256 key", key.verificationKey.jwk.members)

        // 2. An authorization server that knows the public key, and an API that accepts its tokens.
        let authorization = try MockAuthorizationServer.start(clients: [
            .init(id: "quickstart", key: key.verificationKey, scopes: ["reports.read"])
        ])
        let refusals = ResponseGate()
        refusals.open()
        let reports = authorization.protecting { _ in .json(#"{"reports":3}"#) }
        let api = try LoopbackServer.start { routes in
            routes.on(.get, "/reports") { request in
                let response = try await reports(request)
                return response.status == 401 ? response.gated(by: refusals) : response
            }
        }
        report(2, "started an authorization server at \(authorization.metadata.issuer) and an API at \(api.baseURL)")

        // 3. A client that gets its own tokens. This is the part that a service needs.
        let authenticator = OAuth2Authenticator(
            client: OAuth2Client(
                server: authorization.metadata,
                clientAuthentication: .privateKeyJWT(clientID: "quickstart", signingService: signingService)
            ),
            grant: ClientCredentialsGrant(scope: "reports.read"),
            resources: [api.baseURL]
        )
        let client = NetworkClient(interceptors: [authenticator])
        let request = URLRequest(url: api.url(for: "/reports"))

        // 4. Before the first call, the client signs an assertion and sends it to the token
        // endpoint.
        let answer = try await client.makeRequest(request)
        let assertion = authorization.server.requests(for: "/token").last?.formValue("client_assertion") ?? ""
        report(3, "signed a client assertion (RFC 7523)", try UnverifiedToken(assertion).unverifiedClaims)
        let accessToken = try await authenticator.accessToken()
        let verifier = JWTVerifier(
            keys: authorization.keys,
            policy: .accessToken(issuer: authorization.metadata.issuer, audience: authorization.metadata.issuer)
        )
        report(4, "got an access token", try verifier.verify(accessToken.value.expose { $0 }).claims)
        report(5, "called the API, which responded with \(String(decoding: answer, as: UTF8.self))")

        // 5. The server revokes the token. Fifty concurrent calls get a 401, and one refresh serves
        // them all.
        authorization.revokeAccessTokens()
        refusals.close()
        report(6, "the server revoked the token")
        let calls = 50
        let answers = try await withThrowingTaskGroup(of: Data?.self) { group in
            for _ in 1...calls {
                group.addTask { try await client.makeRequest(request) }
            }
            group.addTask {
                try await refusals.waitForWaiters(count: calls)
                refusals.open()
                return nil
            }
            return try await group.reduce(into: [Data]()) { answers, next in
                if let next { answers.append(next) }
            }
        }
        let refreshes = authorization.tokenRequestCount - 1
        guard answers.count == calls, answers.allSatisfy({ $0 == answer }), refreshes == 1 else {
            throw Surprise("\(answers.count) of \(calls) calls succeeded, after \(refreshes) refreshes")
        }
        report(7, "\(calls) concurrent calls got a 401; \(refreshes) refresh, and all \(calls) succeeded")

        let (apiRequests, tokenRequests) = (api.requestCount, authorization.tokenRequestCount)
        await api.stop()
        await authorization.stop()
        let time = (ContinuousClock.now - start).formatted(.units(allowed: [.milliseconds]))
        print("done: \(apiRequests) API requests, \(tokenRequests) token requests, \(refreshes) refresh, \(time)")
    }

    /// Prints a step, with the contents of a token or key, if any.
    static func report(_ step: Int, _ what: String, _ contents: JSONObject? = nil) {
        print("\(step). \(what)\(contents.map { ": \($0)" } ?? "")")
    }
}
