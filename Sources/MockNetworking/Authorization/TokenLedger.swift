import Foundation
import Networking
import OpenSSLCrypto
import Synchronization
import TokenGeneration

struct Authorization: Sendable {
    let clientID: String
    let subject: String
    var scope: String
    var family: Int?
    var keyThumbprint: String?
    var certificateThumbprint: String?
    /// The resources of the tokens; empty for the server itself.
    var resources: [String] = []
    var details: [JSONValue] = []
    /// The actors for the subject, outermost first.
    var actors: [String] = []
    var roles: [String] = []

    func of(_ subject: String) -> Self {
        var authorization = Self(clientID: clientID, subject: subject, scope: scope)
        (authorization.resources, authorization.details) = (resources, details)
        return authorization
    }

    /// Binds tokens to the client's key, or without a proof to its certificate.
    mutating func bind(to bond: TokenEndpointResponder.Bond) {
        keyThumbprint = bond.keyThumbprint
        certificateThumbprint = keyThumbprint == nil ? bond.certificateThumbprint : nil
    }

    /// Binds the refresh tokens, too, unless the client authenticates ([RFC 9449
    /// §5](https://www.rfc-editor.org/rfc/rfc9449#section-5), [RFC 8705
    /// §4](https://www.rfc-editor.org/rfc/rfc8705#section-4)).
    func granted(to client: MockAuthorizationServer.Client?, _ bond: TokenEndpointResponder.Bond) -> Self {
        guard client?.isPublic == true else { return self }
        var authorization = self
        authorization.bind(to: bond)
        return authorization
    }

    var confirmation: JSONValue? {
        var members: JSONObject = [:]
        members["jkt"] = keyThumbprint.map(JSONValue.string)
        members["x5t#S256"] = certificateThumbprint.map(JSONValue.string)
        return members.isEmpty ? nil : .object(members)
    }
}

final class TokenLedger: Sendable {
    private struct Issued {
        let authorization: Authorization
        let expiry: ContinuousClock.Instant
    }

    private struct Refresh {
        let authorization: Authorization
        var used: (at: ContinuousClock.Instant, successor: String)?
    }

    private struct State {
        var accessTokens: [String: Issued] = [:]
        var refreshTokens: [String: Refresh] = [:]
        var familyCount = 0
        var issuedCount = 0
        var reuseCount = 0
    }

    private let state = Mutex(State())
    let issuer: String
    let signing: SigningState
    let configuration: MockAuthorizationServer.Configuration

    init(issuer: String, signing: SigningState, configuration: MockAuthorizationServer.Configuration) {
        self.issuer = issuer
        self.signing = signing
        self.configuration = configuration
    }

    var issuedCount: Int { state.withLock { $0.issuedCount } }
    var reuseCount: Int { state.withLock { $0.reuseCount } }

    // MARK: Access tokens

    /// Issues a token in the format of [RFC 9068](https://www.rfc-editor.org/rfc/rfc9068), or of
    /// the dialect, with additional or changed claims, of which `nil` removes one.
    func issueAccessToken(
        _ authorization: Authorization,
        changing changes: [String: JSONValue?] = [:]
    ) throws -> (token: String, lifetime: Duration) {
        let lifetime = configuration.tokenLifetime
        let issued = Int(clamping: configuration.serverTime.date().timeIntervalSince1970)
        var claims: JSONObject = [
            "iss": .string(issuer),
            "sub": .string(authorization.subject),
            "client_id": .string(authorization.clientID),
            "aud": authorization.audience(issuer),
            "iat": .number(JSONNumber(issued)),
            "exp": .number(JSONNumber(issued + Int(min(lifetime, .tenYears).components.seconds))),
            "jti": .string(UUID().uuidString),
        ]
        if !authorization.scope.isEmpty { claims["scope"] = .string(authorization.scope) }
        claims["cnf"] = authorization.confirmation
        if !authorization.details.isEmpty { claims["authorization_details"] = .array(authorization.details) }
        claims["act"] = authorization.actors.reversed().reduce(nil) { inner, actor in
            var claim: JSONObject = ["sub": .string(actor)]
            claim["act"] = inner
            return .object(claim)
        }
        let dialect = configuration.dialect
        dialect.adapt(&claims, of: authorization, audiences: configuration.resources?.sorted() ?? [])
        for (name, value) in changes { claims[name] = value }
        var token: String
        if let prefix = dialect.opaquePrefix(authorization) {
            token = prefix + UUID().uuidString
        } else {
            token = try signing.token(claims, header: dialect.accessTokenHeader)
        }
        if let recipient = configuration.accessTokenRecipient { token = try recipient.encrypt(signedToken: token) }
        let expiry = configuration.time.now() + lifetime
        state.withLock { state in
            state.issuedCount += 1
            state.accessTokens[token] = Issued(authorization: authorization, expiry: expiry)
        }
        return (token, lifetime)
    }

    func authorization(for accessToken: String) -> Authorization? {
        let now = configuration.time.now()
        return state.withLock { state in
            guard let issued = state.accessTokens[accessToken], now < issued.expiry else { return nil }
            return issued.authorization
        }
    }

    func introspection(of token: String) -> JSONObject? {
        let now = configuration.time.now()
        let seconds = configuration.serverTime.date().timeIntervalSince1970
        let found = state.withLock { state -> (Authorization, expiry: ContinuousClock.Instant?)? in
            if let issued = state.accessTokens[token], now < issued.expiry {
                return (issued.authorization, issued.expiry)
            }
            guard let refresh = state.refreshTokens[token], refresh.used == nil else { return nil }
            return (refresh.authorization, nil)
        }
        guard let (authorization, expiry) = found else { return nil }
        var claims: JSONObject = [
            "active": true,
            "iss": .string(issuer),
            "sub": .string(authorization.subject),
            "client_id": .string(authorization.clientID),
        ]
        if !authorization.scope.isEmpty { claims["scope"] = .string(authorization.scope) }
        guard let expiry else { return claims }
        claims["aud"] = authorization.audience(issuer)
        claims["exp"] = .number(JSONNumber(Int(clamping: (seconds + (expiry - now) / .seconds(1)).rounded())))
        claims["token_type"] = authorization.keyThumbprint == nil ? "Bearer" : "DPoP"
        claims["cnf"] = authorization.confirmation
        return claims
    }

    /// Returns the claims of an ID token
    /// ([OpenID Connect Core §2](https://openid.net/specs/openid-connect-core-1_0.html#IDToken)).
    func idTokenClaims(_ authorization: Authorization, nonce: String?) -> JSONObject {
        let issued = Int(clamping: configuration.serverTime.date().timeIntervalSince1970)
        var claims: JSONObject = [
            "iss": .string(issuer), "sub": .string(authorization.subject), "aud": .string(authorization.clientID),
            "iat": .number(JSONNumber(issued)), "exp": .number(JSONNumber(issued + 300)),
            "auth_time": .number(JSONNumber(issued)),
        ]
        claims["nonce"] = nonce.map(JSONValue.string)
        return claims
    }

    /// Returns an introspection response as a JWT
    /// ([RFC 9701 §5](https://www.rfc-editor.org/rfc/rfc9701#section-5)).
    func introspectionResponse(with members: JSONObject, for clientID: String) throws -> String {
        let claims: JSONObject = [
            "iss": .string(issuer), "aud": .string(clientID),
            "iat": .number(JSONNumber(Int(clamping: configuration.serverTime.date().timeIntervalSince1970))),
            "token_introspection": .object(members),
        ]
        return try signing.token(claims, header: ["typ": "token-introspection+jwt"])
    }

    func revoke(_ accessToken: String) { state.withLock { $0.accessTokens[accessToken] = nil } }

    func revokeAccessTokens() { state.withLock { $0.accessTokens = [:] } }

    // MARK: Refresh tokens

    func beginFamily(_ authorization: Authorization) -> (refreshToken: String, family: Int) {
        state.withLock { state in
            state.familyCount += 1
            var authorization = authorization
            authorization.family = state.familyCount
            return (Self.addRefreshToken(authorization, to: &state), state.familyCount)
        }
    }

    func revokeFamily(_ family: Int) { state.withLock { Self.revokeFamily(family, in: &$0) } }

    /// Uses a refresh token ([RFC 6749 §6](https://www.rfc-editor.org/rfc/rfc6749#section-6));
    /// using a replaced one means that it has leaked, so its chain is revoked ([RFC 9700
    /// §4.14.2](https://www.rfc-editor.org/rfc/rfc9700#section-4.14.2)).
    func useRefreshToken(
        _ token: String,
        clientID: String,
        scope: String? = nil,
        _ bond: TokenEndpointResponder.Bond
    ) throws(TokenEndpointError) -> (authorization: Authorization, successor: String?) {
        let now = configuration.time.now()
        let grace = configuration.refreshTokenGrace
        return try state.withLock { state throws(TokenEndpointError) in
            guard let refresh = state.refreshTokens[token], refresh.authorization.clientID == clientID else {
                throw .invalidGrant("the refresh token is unknown")
            }
            var authorization = refresh.authorization
            guard [nil, bond.keyThumbprint].contains(authorization.keyThumbprint),
                [nil, bond.certificateThumbprint].contains(authorization.certificateThumbprint)
            else { throw .invalidGrant("the refresh token is bound to another key or certificate") }
            let repeated = refresh.used.flatMap { used in
                now - used.at < grace && state.refreshTokens[used.successor]?.used == nil ? used.successor : nil
            }
            guard refresh.used == nil || repeated != nil || configuration.dialect.keepsReplacedRefreshTokens else {
                state.reuseCount += 1
                Self.revokeFamily(authorization.family, in: &state)
                throw .invalidGrant("the refresh token was already used; its token chain is revoked")
            }
            if let scope {
                guard Set(authorization.scope.split(separator: " ")).isSuperset(of: scope.split(separator: " ")) else {
                    throw TokenEndpointError("invalid_scope", "the scope exceeds the granted scope")
                }
                authorization.scope = scope
            }
            if let repeated { return (authorization, repeated) }
            guard configuration.rotatesRefreshTokens else { return (authorization, nil) }
            let successor = Self.addRefreshToken(refresh.authorization, to: &state)
            state.refreshTokens[token]?.used = (now, successor)
            return (authorization, successor)
        }
    }

    func revokeRefreshTokens() {
        state.withLock { state in
            state.refreshTokens = [:]
            state.accessTokens = state.accessTokens.filter { $0.value.authorization.family == nil }
        }
    }

    func revoke(_ token: String, clientID: String) {
        state.withLock { state in
            if state.accessTokens[token]?.authorization.clientID == clientID { state.accessTokens[token] = nil }
            if let refresh = state.refreshTokens[token], refresh.authorization.clientID == clientID {
                Self.revokeFamily(refresh.authorization.family, in: &state)
            }
        }
    }

    private static func addRefreshToken(_ authorization: Authorization, to state: inout State) -> String {
        let token = UUID().uuidString
        state.refreshTokens[token] = Refresh(authorization: authorization)
        return token
    }

    private static func revokeFamily(_ family: Int?, in state: inout State) {
        state.refreshTokens = state.refreshTokens.filter { $0.value.authorization.family != family }
        state.accessTokens = state.accessTokens.filter { $0.value.authorization.family != family }
    }
}

extension Authorization {
    fileprivate func audience(_ issuer: String) -> JSONValue {
        switch resources.count {
        case 0: .string(issuer)
        case 1: .string(resources[0])
        default: .array(resources.map(JSONValue.string))
        }
    }
}

final class SigningState: Sendable {
    private struct State {
        var service: SigningKey
        var published: [JWK]
    }

    private let state: Mutex<State>
    private let algorithm: JWSAlgorithm

    init(_ algorithm: JWSAlgorithm) throws(TokenError) {
        self.algorithm = algorithm
        let service = try Self.newService(algorithm)
        state = Mutex(State(service: service, published: [service.publishedKey]))
    }

    /// The current signer; a single value, so that key and key ID always match.
    var service: SigningKey { state.withLock { $0.service } }
    var keys: JWKSet { JWKSet(keys: state.withLock { $0.published }) }

    func rotate(withdrawingOld: Bool) throws(TokenError) {
        let service = try Self.newService(algorithm)
        state.withLock { state in
            state.published = (withdrawingOld ? [] : state.published) + [service.publishedKey]
            state.service = service
        }
    }

    func token(_ claims: JSONObject, header: JSONObject = [:]) throws -> String {
        try JWTGenerator(header: header, payload: claims, signingService: service).token()
    }

    static func newService(_ algorithm: JWSAlgorithm, keyID: String? = nil) throws(TokenError) -> SigningKey {
        let key = try SigningKey.generate(algorithm)
        return key.identified(by: keyID ?? key.verificationKey.thumbprint)
    }
}

extension SigningKey {
    fileprivate var publishedKey: JWK {
        var jwk = verificationKey.jwk
        jwk.members["use"] = "sig"
        return jwk
    }
}
