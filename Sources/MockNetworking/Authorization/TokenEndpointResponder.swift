import Foundation
import Networking
import OAuth2
import OpenSSLCrypto
import Synchronization
import TokenGeneration

enum GrantType: String, CaseIterable {
    case clientCredentials = "client_credentials"
    case refreshToken = "refresh_token"
    case authorizationCode = "authorization_code"
    case deviceCode = "urn:ietf:params:oauth:grant-type:device_code"
    case backchannel = "urn:openid:params:grant-type:ciba"
    case tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
    case jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    case samlBearer = "urn:ietf:params:oauth:grant-type:saml2-bearer"
}

/// An error response of the token endpoint
/// ([RFC 6749 §5.2](https://www.rfc-editor.org/rfc/rfc6749#section-5.2)).
struct TokenEndpointError: Error {
    let code: String
    let description: String
    var status: Int
    var headers: HTTPHeaders = [:]
    var members: JSONObject = [:]

    init(_ code: String, _ description: String, status: Int = 400) {
        (self.code, self.description, self.status) = (code, description, status)
    }

    static func invalidGrant(_ description: String) -> Self { Self("invalid_grant", description) }
    static func invalidRequest(_ description: String) -> Self { Self("invalid_request", description) }

    var response: LoopbackResponse {
        var body: JSONObject = ["error": .string(code), "error_description": .string(description)]
        for member in members { body[member.name] = member.value }
        return .json(body.serialized(), status: status, headers: headers)
    }
}

struct TokenEndpointResponder: Sendable {
    let clients: ClientRegister
    let tokens: TokenLedger
    let proofs: ProofHandler
    let codes: AuthorizationHandler
    let devices: DeviceHandler
    let assertions: AssertionHandler
    let requests: AuthorizationRequestHandler
    let urls: [String]

    var configuration: MockAuthorizationServer.Configuration { tokens.configuration }

    func tokenResponse(to request: LoopbackRequest) async -> LoopbackResponse {
        if configuration.dialect == .govUKOneLogin, (request.headers["User-Agent"] ?? "").isEmpty {
            return .text("Forbidden", status: 403)
        }
        // Proofs come first, because a request without the required nonce must not use up its
        // refresh token.
        let bond: Bond
        do {
            bond = Bond(
                keyThumbprint: try await keyThumbprint(of: request),
                certificateThumbprint: request.certificateThumbprint
            )
        } catch { return error.response }
        let requested = try? RequestParameters(form: request)["grant_type"].flatMap(GrantType.init(rawValue:))
        return answer(to: requested) {
            let form = try RequestParameters(form: request)
            let type = try form.required("grant_type")
            let grant = GrantType(rawValue: type).flatMap { configuration.dialect.supports($0) ? $0 : nil }
            guard grant != nil || assertions.answer(to: type) != nil else {
                throw TokenEndpointError("unsupported_grant_type", "the grant type isn't supported")
            }
            // Some services exchange tokens without client authentication.
            if grant == .tokenExchange, !clients.isAttempted(request, form) {
                return try exchangeResponse(form, nil, bond)
            }
            // A platform's token also names the client.
            if grant == .jwtBearer, !clients.isAttempted(request, form),
                let client = try clients.client(federatedBy: try form.required("assertion"), code: "invalid_grant")
            {
                return tokenResponse(to: try configuration.authorization(client, form), bond)
            }
            let client = try clients.authenticate(request, form)
            switch grant {
            case .clientCredentials:
                guard !client.isPublic else {
                    throw TokenEndpointError("unauthorized_client", "public clients can't use client_credentials")
                }
                try configuration.dialect.check(scope: form["scope"] ?? "", of: grant)
                return tokenResponse(to: try configuration.authorization(client, form), bond)
            case .refreshToken:
                let (authorization, successor) = try tokens.useRefreshToken(
                    try form.required("refresh_token"),
                    clientID: client.id,
                    scope: form["scope"],
                    bond
                )
                return tokenResponse(to: try narrowed(authorization, by: form), bond, refreshToken: successor)
            case .authorizationCode: return try codeResponse(form, client, bond)
            case .deviceCode: return try deviceResponse("device_code", form, client, bond)
            case .backchannel: return try deviceResponse("auth_req_id", form, client, bond)
            case .tokenExchange: return try exchangeResponse(form, client, bond)
            case .jwtBearer:
                let subject = try assertions.subject(ofJWT: try form.required("assertion"))
                return tokenResponse(to: try configuration.authorization(client, form).of(subject), bond)
            case .samlBearer:
                let subject = try assertions.subject(ofSAML: try form.required("assertion"))
                return tokenResponse(to: try configuration.authorization(client, form).of(subject), bond)
            case nil: return try extensionResponse(type, form, client, bond)
            }
        }
    }

    func revocationResponse(to request: LoopbackRequest) -> LoopbackResponse {
        answerClient(of: request) { client, form in
            tokens.revoke(try form.required("token"), clientID: client.id)
            // Revoking an unknown token is a success (RFC 7009 §2.2).
            return .status(200)
        }
    }

    /// Responds with a token's claims ([RFC 7662
    /// §2.2](https://www.rfc-editor.org/rfc/rfc7662#section-2.2)), or with a JWT ([RFC 9701
    /// §4](https://www.rfc-editor.org/rfc/rfc9701#section-4)), to every registered client.
    func introspectionResponse(to request: LoopbackRequest) -> LoopbackResponse {
        answerClient(of: request) { client, form in
            let claims = tokens.introspection(of: try form.required("token")) ?? ["active": false]
            let type = "application/token-introspection+jwt"
            if request.headers["Accept"] == type {
                guard !client.isPublic else { throw TokenEndpointError.invalidRequest("the client must authenticate") }
                let headers: HTTPHeaders = ["Content-Type": type, "Cache-Control": "no-store"]
                return .text(try tokens.introspectionResponse(with: claims, for: client.id), headers: headers)
            }
            return .json(claims.serialized(), headers: ["Cache-Control": "no-store"])
        }
    }

    private func keyThumbprint(of request: LoopbackRequest) async throws(TokenEndpointError) -> String? {
        switch configuration.dpop {
        case .none: return nil
        case .optional where request.headers["DPoP"] == nil: return nil
        case .optional, .required: break
        }
        do { return try await proofs.check(request, urls: urls, place: "token", for: .tokenEndpoint) } catch {
            switch error {
            case .nonceNeeded(let nonce):
                var failure = TokenEndpointError("use_dpop_nonce", "the proof requires a nonce")
                failure.headers = ["DPoP-Nonce": nonce]
                throw failure
            case .rejected(let reason):
                throw TokenEndpointError("invalid_dpop_proof", reason)
            }
        }
    }

    struct Bond {
        let keyThumbprint: String?
        let certificateThumbprint: String?
    }

    func tokenResponse(
        to authorization: Authorization,
        _ bond: Bond,
        refreshToken: String? = nil,
        extra: JSONObject = [:]
    ) -> LoopbackResponse {
        var authorization = authorization
        authorization.bind(to: bond)
        guard let (accessToken, lifetime) = try? tokens.issueAccessToken(authorization) else {
            return TokenEndpointError("server_error", "signing the token failed", status: 500)
                .response
        }
        var body: JSONObject = [
            "access_token": .string(accessToken),
            "token_type": bond.keyThumbprint == nil ? "Bearer" : "DPoP",
            "expires_in": .number(JSONNumber(lifetime.components.seconds)),
        ]
        if !authorization.scope.isEmpty { body["scope"] = .string(authorization.scope) }
        if !authorization.details.isEmpty { body["authorization_details"] = .array(authorization.details) }
        body["refresh_token"] = refreshToken.map(JSONValue.string)
        for member in extra { body[member.name] = member.value }
        configuration.dialect.adapt(tokens: &body)
        var headers: HTTPHeaders = ["Cache-Control": "no-store"]
        if bond.keyThumbprint != nil { headers["DPoP-Nonce"] = proofs.nonce(of: "token") }
        return .json(body.serialized(), headers: headers)
    }

    func answer(to grant: GrantType? = nil, _ body: () throws -> LoopbackResponse) -> LoopbackResponse {
        do {
            return try body()
        } catch let error as TokenEndpointError {
            return configuration.dialect.adapted(error, of: grant).response
        } catch {
            return TokenEndpointError("server_error", "\(error)", status: 500).response
        }
    }

    func answerClient(
        of request: LoopbackRequest,
        _ body: (Client, RequestParameters) throws -> LoopbackResponse
    ) -> LoopbackResponse {
        answer {
            let form = try RequestParameters(form: request)
            return try body(clients.authenticate(request, form), form)
        }
    }
}

final class ProofHandler: Sendable {
    enum Refusal: Error {
        case nonceNeeded(String)
        case rejected(String)
    }

    private let verifier: DPoPVerifier
    private let requiresNonces: Bool
    /// The nonces, separate for the token endpoint and for resources, as on two servers.
    private let nonces = Mutex<[String: [String]]>([:])

    init(_ configuration: MockAuthorizationServer.Configuration) {
        requiresNonces = configuration.requiresNonces
        verifier = DPoPVerifier(
            replayCache: InMemoryReplayCache(quotaPerKey: 100_000),
            maximumAge: .seconds(60),
            leeway: .seconds(10),
            currentDate: configuration.serverTime.date
        )
    }

    /// Issues a new nonce; the previous one remains valid for requests in progress.
    func changeNonces() {
        nonces.withLock { nonces in
            for name in nonces.keys { nonces[name] = [UUID().uuidString] + (nonces[name] ?? []).prefix(1) }
        }
    }

    func nonce(of place: String) -> String? {
        guard requiresNonces else { return nil }
        return nonces.withLock { nonces in
            if let nonce = nonces[place]?.first { return nonce }
            let nonce = UUID().uuidString
            nonces[place] = [nonce]
            return nonce
        }
    }

    func check(
        _ request: LoopbackRequest,
        urls: [String],
        place: String,
        for expectation: DPoPVerifier.Expectation
    ) async throws(Refusal) -> String {
        let proofs = request.headers.values(for: "DPoP")
        guard let proof = proofs.first, proofs.count == 1 else { throw .rejected("exactly one proof is required") }
        let nonce = nonce(of: place)
        let accepted = nonces.withLock { $0[place] ?? [] }
        var failure: (any Error)?
        for url in urls {
            do {
                return try await verifier.verify(
                    proof,
                    method: request.method.rawValue,
                    url: url,
                    for: expectation,
                    nonce: nonce == nil ? .notRequired : .oneOf(accepted)
                )
                .thumbprint
            } catch { failure = error }
            guard (failure as? TokenError)?.code == .targetMismatch else { break }
        }
        let code = (failure as? TokenError)?.code
        if let nonce, code == .nonceMismatch { throw .nonceNeeded(nonce) }
        throw .rejected("\(code.map { "\($0)" } ?? "invalid proof")")
    }
}
