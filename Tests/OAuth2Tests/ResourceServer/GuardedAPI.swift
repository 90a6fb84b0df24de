import Foundation
import MockNetworking
import Networking
import OAuth2
import ResourceServer
import TokenGeneration

/// An in-memory API with its issuer and its callers, and a clock that stands still.
struct GuardedAPI {
    static let audience = "https://api.example"
    static let url = "https://api.example/orders?page=2"

    let key: IssuerKey
    let issuer: PublishedKeys
    var verifier: AccessTokenVerifier

    init() throws {
        key = try IssuerKey(id: "1")
        issuer = PublishedKeys([key])
        verifier = AccessTokenVerifier(
            issuer: PublishedKeys.issuer,
            audience: Self.audience,
            keys: issuer.keySet(),
            currentDate: issuer.time.timeSource.date
        )
        verifier.realm = "orders"
        verifier.dpop = DPoPVerifier(replayCache: InMemoryReplayCache())
    }

    var now: Int { Int(issuer.time.date.timeIntervalSince1970) }

    /// Returns the claims of a valid token, with changes; `nil` removes a claim.
    func claims(_ changes: [String: JSONValue?] = [:]) -> JSONObject {
        var claims: JSONObject = [
            "iss": .string(PublishedKeys.issuer), "sub": "ada", "aud": .string(Self.audience), "client_id": "shop",
            "jti": "7", "iat": .number(JSONNumber(now)), "exp": .number(JSONNumber(now + 300)),
            "scope": "orders.read orders.write",
        ]
        for (name, value) in changes { claims[name] = value }
        return claims
    }

    func token(_ changes: [String: JSONValue?] = [:], type: String = "at+jwt", key: IssuerKey? = nil) throws -> String {
        try (key ?? self.key).token(claims(changes), type: type)
    }

    func request(_ headers: HTTPHeaders, certificate: Data? = nil) -> ProtectedRequest {
        ProtectedRequest(method: .get, url: Self.url, headers: headers, clientCertificateDER: certificate)
    }

    func verify(
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
    func verify(
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
    var challenge: String? { headers["WWW-Authenticate"] }

    /// The challenges as parsed by a client.
    var written: [AuthenticationChallenge] { AuthenticationChallenge.parse(challenge ?? "") }
}
