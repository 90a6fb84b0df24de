package import Foundation
package import MockNetworking
package import Networking
import OAuth2
package import ResourceServer
package import Testing
package import TokenGeneration

/// An in-memory API with its issuer and its callers, and a clock that stands still.
package struct GuardedAPI {
    package static let audience = "https://api.example"
    package static let url = "https://api.example/orders?page=2"

    package let key: IssuerKey
    package let issuer: PublishedKeys
    package var verifier: AccessTokenVerifier

    package init() throws {
        key = try IssuerKey(id: "1")
        issuer = PublishedKeys([key])
        verifier = AccessTokenVerifier(
            issuer: PublishedKeys.issuer,
            audience: Self.audience,
            keys: .remote(issuer.keySet())
        ).at(issuer.time)
        verifier.realm = "orders"
        verifier.dpop = DPoPVerifier(replayCache: InMemoryReplayCache())
    }

    package var now: Int { Int(issuer.time.date.timeIntervalSince1970) }

    /// Returns the claims of a valid token, with changes; `nil` removes a claim.
    package func claims(_ changes: [String: JSONValue?] = [:]) -> JSONObject {
        var claims: JSONObject = [
            "iss": .string(PublishedKeys.issuer), "sub": "ada", "aud": .string(Self.audience), "client_id": "shop",
            "jti": "7", "iat": .number(JSONNumber(now)), "exp": .number(JSONNumber(now + 300)),
            "scope": "orders.read orders.write",
        ]
        for (name, value) in changes { claims[name] = value }
        return claims
    }

    package func token(
        _ changes: [String: JSONValue?] = [:],
        type: String = "at+jwt",
        key: IssuerKey? = nil
    ) throws -> String {
        try (key ?? self.key).token(claims(changes), type: type)
    }

    package func request(_ headers: HTTPHeaders, certificate: Data? = nil) -> ProtectedRequest {
        ProtectedRequest(method: .get, url: Self.url, headers: headers, clientCertificateDER: certificate)
    }

    package func verify(
        bearer token: String,
        certificate: Data? = nil,
        requires requirement: AccessRequirement = AccessRequirement()
    ) async throws(AccessRefusal) -> VerifiedAccessToken {
        try await verifier.verify(
            request(["Authorization": "Bearer \(token)"], certificate: certificate),
            requires: requirement
        )
    }

    /// Verifies a request that carries a token and a proof.
    package func verify(
        dpop token: String,
        proof: String?,
        scheme: String = "DPoP"
    ) async throws(AccessRefusal) -> VerifiedAccessToken {
        var headers: HTTPHeaders = ["Authorization": "\(scheme) \(token)"]
        headers["DPoP"] = proof
        return try await verifier.verify(request(headers))
    }
}

extension AccessRefusal {
    /// The value of the refusal's `WWW-Authenticate`.
    package var challenge: String? { headers["WWW-Authenticate"] }

    /// The challenges as parsed by a client.
    package var written: [AuthenticationChallenge] { AuthenticationChallenge.parse(challenge ?? "") }
}

extension AccessTokenVerifier {
    /// Creates a verifier that introspects every token.
    package init(_ introspection: CachedTokenIntrospection, issuer: String = "https://as.example") {
        self.init(issuer: issuer, audience: GuardedAPI.audience, keys: nil)
        self.introspection = introspection
    }

    /// Returns the verifier with a clock.
    package func at(_ time: ManualTime) -> Self {
        var verifier = self
        verifier.policy.currentDate = time.timeSource.date
        return verifier
    }

    /// Verifies a request that carries a bearer token.
    package func verify(bearer token: String) async throws(AccessRefusal) -> VerifiedAccessToken {
        let headers: HTTPHeaders = ["Authorization": "Bearer \(token)"]
        return try await verify(ProtectedRequest(method: .get, url: GuardedAPI.url, headers: headers))
    }

    /// Returns the flaw for which a bearer token is rejected, after checking the response.
    package func flaw(of token: String, sourceLocation: SourceLocation = #_sourceLocation) async -> TokenError.Code? {
        let refusal = await #expect(throws: AccessRefusal(.invalidToken, ""), sourceLocation: sourceLocation) {
            try await verify(bearer: token)
        }
        #expect(refusal?.status == 401, sourceLocation: sourceLocation)
        #expect(refusal?.challenge?.contains("invalid_token") == true, sourceLocation: sourceLocation)
        // Short tokens occur in any text.
        let shown = refusal.map { "\($0) \($0.challenge ?? "")" } ?? ""
        #expect(token.utf8.count < 20 || !shown.contains(token), sourceLocation: sourceLocation)
        return (refusal?.cause as? TokenError)?.code
    }
}

extension MockTransport {
    /// Creates an introspection endpoint with active tokens that begin or end with `good`, for the
    /// API's audience, with changes of the members; `nil` removes a member.
    package static func introspection(_ changes: [String: JSONValue?] = [:], time: ManualTime) -> MockTransport {
        var members: JSONObject = [
            "active": true, "sub": "ada", "scope": "orders.read", "aud": .string(GuardedAPI.audience),
        ]
        for (name, value) in changes { members[name] = value }
        let (active, inactive) = (members.serialized(), #"{"active":false}"#)
        return MockTransport(time: time.timeSource) { request in
            let form = FormURLEncoded.decode(String(decoding: request.bodyData() ?? Data(), as: UTF8.self)) ?? []
            let token = form.first { $0.name == "token" }?.value ?? ""
            let isActive = token.hasPrefix("good") || token.hasSuffix("good")
            return HTTPTransportResponse(
                status: 200,
                headers: ["Content-Type": "application/json"],
                body: Data((isActive ? active : inactive).utf8)
            )
        }
    }
}

extension CachedTokenIntrospection {
    /// Creates a cache of the responses of an issuer's introspection endpoint.
    package convenience init(
        _ transport: MockTransport,
        issuer: String = "https://as.example",
        capacity: Int = 1_000,
        lifetime: Duration = .seconds(60),
        time: ManualTime
    ) {
        var server = AuthorizationServer(issuer: issuer, tokenEndpoint: URL(string: "https://as.example/token")!)
        server.introspectionEndpoint = URL(string: "https://as.example/introspect")
        let client = OAuth2Client(
            server: server,
            clientAuthentication: .clientSecretBasic(clientID: "api", secret: Secret("s3cret")),
            client: NetworkClient(transport: transport, options: .init(timeSource: time.timeSource)),
            timing: .init(attempts: 1, timeSource: time.timeSource)
        )
        self.init(client, capacity: capacity, lifetime: lifetime, timeSource: time.timeSource)
    }
}
