import Foundation
import Networking
import OAuth2
import OpenSSLCrypto
import Synchronization
import TokenGeneration

final class ClientRegister: Sendable {
    typealias Client = MockAuthorizationServer.Client

    private typealias AssertionType = StandardClientAuthentication.AssertionType

    private struct State {
        var clients: [String: Client]
        /// The assertions accepted so far, none of which can be used again.
        var usedAssertions: Set<String> = []
    }

    private let state: Mutex<State>
    let metadata: AuthorizationServer
    let configuration: MockAuthorizationServer.Configuration

    init(_ clients: [Client], metadata: AuthorizationServer, configuration: MockAuthorizationServer.Configuration) {
        let byID = Dictionary(clients.map { ($0.id, $0) }) { $1 }
        state = Mutex(State(clients: byID))
        self.metadata = metadata
        self.configuration = configuration
    }

    func remove(_ id: String) { state.withLock { $0.clients[id] = nil } }

    func key(of id: String) -> VerificationKey? {
        let client = client(id)
        guard case .key(let key)? = client?.credential else { return client?.metadata.keys.first }
        return key
    }

    func register(_ client: Client) { state.withLock { $0.clients[client.id] = client } }

    func client(_ id: String) -> Client? { state.withLock { $0.clients[id] } }

    var all: [Client] { state.withLock { Array($0.clients.values) } }

    func isAttempted(_ request: LoopbackRequest, _ form: RequestParameters) -> Bool {
        request.headers["Authorization"] != nil
            || ["client_id", "client_assertion", "client_secret"].contains { form[$0] != nil }
    }

    /// Authenticates the client that sent a request
    /// ([RFC 6749 §2.3](https://www.rfc-editor.org/rfc/rfc6749#section-2.3)).
    func authenticate(_ request: LoopbackRequest, _ form: RequestParameters) throws(TokenEndpointError) -> Client {
        let field = request.headers["Authorization"]
        guard [field, form["client_assertion"], form["client_secret"]].count(where: { $0 != nil }) <= 1 else {
            throw TokenEndpointError.invalidRequest("the client uses two authentication methods")
        }
        let client: Client
        if let field {
            client = try authenticate(basic: field)
        } else if let assertion = form["client_assertion"] {
            client = try authenticate(assertion: assertion, type: form["client_assertion_type"])
        } else {
            client = try authenticate(named: form["client_id"], secret: form["client_secret"], request)
        }
        let identity = client.federatedIdentity
        let names = identity?.isSPIFFE == true ? [client.id, identity?.subject] : [client.id]
        guard form["client_id"] == nil || names.contains(form["client_id"]) else {
            throw Self.invalidClient("the client_id differs from the authenticated client")
        }
        return client
    }

    private func authenticate(basic field: String) throws(TokenEndpointError) -> Client {
        var failure = Self.invalidClient("the client's identifier or secret is wrong")
        failure.headers = ["WWW-Authenticate": #"Basic realm="mock""#]
        guard let encoded = field.value(ofScheme: "Basic"),
            let pair = Data(base64Encoded: encoded).flatMap({ String(data: $0, encoding: .utf8) })
        else { throw failure }
        let parts = pair.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2 else { throw failure }
        let decoded = parts.map { FormURLEncoded.decodeComponent($0) }
        if let client = client(parts[0]), case .basic(let expected, false) = client.credential,
            expected == Secret(parts[1])
        {
            return client
        }
        guard let id = decoded[0], let secret = decoded[1], let client = client(id),
            case .basic(let expected, true) = client.credential, expected == Secret(secret)
        else { throw failure }
        return client
    }

    private func authenticate(
        named id: String?,
        secret: String?,
        _ request: LoopbackRequest
    ) throws(TokenEndpointError) -> Client {
        let failure = Self.invalidClient("the client doesn't use its registered authentication method")
        guard let id, let client = client(id) else { throw failure }
        let isProved =
            switch client.credential {
            case .nothing: secret == nil
            case .post(let expected): secret.map { Secret($0) } == expected
            case .certificateSubject(let subject):
                secret == nil && request.clientCertificate?.subject == subject
            case .certificate(let known): secret == nil && request.clientCertificateDER == known
            case .basic, .key, .federated: false
            }
        guard isProved else { throw failure }
        return client
    }

    /// Verifies an assertion ([RFC 7523 §3](https://www.rfc-editor.org/rfc/rfc7523#section-3),
    /// [RFC 10070 §4](https://www.rfc-editor.org/rfc/rfc10070#section-4)).
    private func authenticate(assertion: String, type: String?) throws(TokenEndpointError) -> Client {
        let isSPIFFE = type == AssertionType.jwtSPIFFE.uri
        guard isSPIFFE || type == AssertionType.jwtBearer.uri else {
            throw Self.invalidClient("the assertion's type isn't supported")
        }
        if let client = try client(
            federatedBy: assertion,
            audience: acceptsTokenEndpoint ? .containsAny(of: audiences) : .only(metadata.issuer),
            code: "invalid_client"
        ) {
            guard !isSPIFFE || client.federatedIdentity?.isSPIFFE == true else {
                throw Self.invalidClient("the assertion's subject isn't a SPIFFE ID")
            }
            return client
        }
        guard !isSPIFFE else { throw Self.invalidClient("the assertion's subject isn't a client") }
        let claims: JSONObject
        do { claims = try UnverifiedToken(assertion).unverifiedClaims } catch {
            throw Self.invalidClient("the assertion isn't a token: \(error.code)")
        }
        guard let client = client(claims["iss"]?.string ?? ""), case .key(let key) = client.credential else {
            throw Self.invalidClient("the assertion's issuer isn't a client with a key")
        }
        let named = claims["aud"]?.array?.map(\.string) ?? [claims["aud"]?.string]
        if configuration.dialect == .govUKOneLogin, !named.allSatisfy({ audiences.contains($0 ?? "") }) {
            throw invalidAssertion("the assertion's audience includes other servers")
        }
        let token = try verify(assertion, of: client, key: key)
        guard let identifier = token.registered.jwtID else {
            throw invalidAssertion("the assertion has no jti")
        }
        guard state.withLock({ $0.usedAssertions.insert("\(client.id) \(identifier)").inserted }) else {
            throw invalidAssertion("the assertion was already used")
        }
        return client
    }

    /// The issuer and the token endpoint, the audiences that servers before RFC 10070 accept.
    var audiences: [String] { [metadata.issuer, metadata.tokenEndpoint.absoluteString] }

    private var acceptsTokenEndpoint: Bool {
        configuration.dialect == .govUKOneLogin || configuration.assertionAudience == .issuerOrTokenEndpoint
    }

    private func verify(
        _ assertion: String,
        of client: Client,
        key: VerificationKey
    ) throws(TokenEndpointError) -> VerifiedToken {
        var policy = ValidationPolicy.clientAssertion(audience: metadata.issuer, clientID: .exactly(client.id))
        policy.leeway = .seconds(10)
        policy.maximumLifetime = nil
        policy.currentDate = configuration.serverTime.date
        if acceptsTokenEndpoint { policy.audience = .containsAny(of: audiences) }
        do {
            return try JWTVerifier(key: key, policy: policy).verify(assertion)
        } catch {
            if configuration.dialect == .govUKOneLogin, error.code == .expired {
                throw TokenEndpointError.invalidGrant("private_key_jwt has expired")
            }
            throw invalidAssertion("the assertion isn't valid: \(error.code)")
        }
    }

    private func invalidAssertion(_ description: String) -> TokenEndpointError {
        var error = Self.invalidClient(description)
        if configuration.dialect == .govUKOneLogin { error.status = 400 }
        return error
    }

    private static func invalidClient(_ description: String) -> TokenEndpointError {
        TokenEndpointError("invalid_client", description, status: 401)
    }
}

extension LoopbackRequest {
    var clientCertificate: Certificate? { clientCertificateDER.flatMap { try? Certificate(der: [UInt8]($0)) } }
}

extension MockAuthorizationServer.Client {
    func grantedScope(_ requested: String?) throws(TokenEndpointError) -> String {
        let names = (requested ?? "").split(separator: " ").map(String.init)
        if let scopes, !scopes.isSuperset(of: names) {
            throw TokenEndpointError("invalid_scope", "the client may not request this scope")
        }
        return names.joined(separator: " ")
    }

    var isPublic: Bool {
        if case .nothing = credential { return true }
        return false
    }
}

extension LoopbackRequest {
    /// The thumbprint of the certificate that the client presented
    /// ([RFC 8705 §3.1](https://www.rfc-editor.org/rfc/rfc8705#section-3.1)).
    var certificateThumbprint: String? {
        clientCertificate.flatMap { try? $0.fingerprint(.sha256) }.map { Base64URL.encode($0) }
    }
}

extension String {
    func value(ofScheme scheme: String) -> String? {
        let parts = split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].equalsIgnoringASCIICase(scheme) else { return nil }
        return String(parts[1])
    }
}

/// The dynamically registered clients ([RFC 7591](https://www.rfc-editor.org/rfc/rfc7591)) and
/// their tokens ([RFC 7592](https://www.rfc-editor.org/rfc/rfc7592)).
final class RegistrationHandler: Sendable {
    private struct Registration {
        var metadata: JSONObject
        let secret: String?
        var token: String
    }

    private static let prohibited = [
        "registration_access_token", "registration_client_uri", "client_secret_expires_at", "client_id_issued_at",
    ]

    private let registrations = Mutex<[String: Registration]>([:])
    private let clients: ClientRegister
    private let url: String

    init(clients: ClientRegister, url: String) {
        self.clients = clients
        self.url = url
    }

    func response(to request: LoopbackRequest) -> LoopbackResponse {
        do throws(TokenEndpointError) {
            let path = request.path.split(separator: "/")
            let token = request.headers["Authorization"]?.value(ofScheme: "Bearer")
            guard path.count == 2 else {
                let initialAccessToken = clients.configuration.initialAccessToken
                guard initialAccessToken == nil || token.map({ Secret($0) }) == initialAccessToken else {
                    throw Self.invalidToken
                }
                return try register(request)
            }
            let id = String(path[1])
            let known = registrations.withLock { $0[id]?.token }
            guard let token, let known, Secret(token) == Secret(known) else { throw Self.invalidToken }
            switch request.method {
            case .put: return try update(id, request)
            case .delete:
                registrations.withLock { $0[id] = nil }
                clients.remove(id)
                return .status(204)
            default: return answer(id, status: 200)
            }
        } catch {
            return error.response
        }
    }

    private func register(_ request: LoopbackRequest) throws(TokenEndpointError) -> LoopbackResponse {
        let metadata = try metadata(in: request)
        let id = UUID().uuidString
        let registration = Registration(
            metadata: metadata,
            secret: Self.method(metadata).hasPrefix("client_secret") ? UUID().uuidString : nil,
            token: UUID().uuidString
        )
        try admit(id, registration)
        return answer(id, status: 201)
    }

    private func update(_ id: String, _ request: LoopbackRequest) throws(TokenEndpointError) -> LoopbackResponse {
        var metadata = try metadata(in: request)
        guard metadata["client_id"]?.string == id, Self.prohibited.allSatisfy({ metadata[$0] == nil }) else {
            throw TokenEndpointError.invalidRequest("the update has read-only members")
        }
        metadata["client_id"] = nil
        guard var registration = registrations.withLock({ $0[id] }) else { throw Self.invalidToken }
        registration.metadata = metadata
        // Each update replaces the token, as RFC 7592 §3 allows.
        registration.token = UUID().uuidString
        try admit(id, registration)
        return answer(id, status: 200)
    }

    private func admit(_ id: String, _ registration: Registration) throws(TokenEndpointError) {
        let scopes = registration.metadata["scope"]?.string.map { Set($0.split(separator: " ").map(String.init)) }
        let places = (registration.metadata["redirect_uris"]?.array ?? []).compactMap(\.string)
        let metadata = ClientMetadata(registration.metadata)
        let messages: [SecuredMessage] = [
            .idToken, .userInfo, .authorizationResponse, .introspectionResponse, .requestObject,
        ]
        for message in messages {
            do throws(TokenError) { _ = try metadata.decryptionPolicy(for: message) } catch {
                throw TokenEndpointError("invalid_client_metadata", error.message)
            }
        }
        var client: MockAuthorizationServer.Client
        if let secret = registration.secret {
            client = MockAuthorizationServer.Client(id: id, secret: secret, scopes: scopes)
        } else if Self.method(registration.metadata) == "none" {
            client = MockAuthorizationServer.Client(id: id, authentication: .none, scopes: scopes)
        } else if let key = metadata.keys.first {
            client = MockAuthorizationServer.Client(id: id, key: key, scopes: scopes)
        } else {
            throw TokenEndpointError("invalid_client_metadata", "jwks doesn't contain a key")
        }
        client.redirectURIs = places
        client.metadata = metadata
        clients.register(client)
        registrations.withLock { $0[id] = registration }
    }

    private func answer(_ id: String, status: Int) -> LoopbackResponse {
        guard let registration = registrations.withLock({ $0[id] }) else { return Self.invalidToken.response }
        var body = registration.metadata
        body["client_id"] = .string(id)
        body["token_endpoint_auth_method"] = .string(Self.method(registration.metadata))
        if let secret = registration.secret {
            body["client_secret"] = .string(secret)
            body["client_secret_expires_at"] = 0
        }
        body["registration_access_token"] = .string(registration.token)
        body["registration_client_uri"] = .string("\(url)/\(id)")
        return .json(body.serialized(), status: status, headers: ["Cache-Control": "no-store"])
    }

    private func metadata(in request: LoopbackRequest) throws(TokenEndpointError) -> JSONObject {
        guard let metadata = try? JSONObject(parsing: request.body) else {
            throw TokenEndpointError("invalid_client_metadata", "the body isn't a JSON object")
        }
        for uri in metadata["redirect_uris"]?.array ?? [] {
            guard let text = uri.string, URL(string: text)?.host != nil, !text.contains("#") else {
                throw TokenEndpointError("invalid_redirect_uri", "a redirect URI isn't absolute")
            }
        }
        guard ["client_secret_basic", "private_key_jwt", "none"].contains(Self.method(metadata)) else {
            throw TokenEndpointError("invalid_client_metadata", "the method isn't supported")
        }
        return metadata
    }

    private static func method(_ metadata: JSONObject) -> String {
        metadata["token_endpoint_auth_method"]?.string ?? "client_secret_basic"
    }

    private static var invalidToken: TokenEndpointError {
        var error = TokenEndpointError("invalid_token", "the token isn't valid", status: 401)
        error.headers = ["WWW-Authenticate": #"Bearer realm="mock", error="invalid_token""#]
        return error
    }
}

extension MockAuthorizationServer.Client {
    /// - Throws: ``MockError`` with the code `cannotStart` if the client authenticates without keys
    ///   in the document.
    init(_ document: ClientIDMetadataDocument) throws(MockError) {
        let metadata = document.metadata
        let isPublic = metadata.tokenEndpointAuthenticationMethod == "none"
        let key = isPublic ? nil : metadata.keys.first
        guard isPublic || key != nil else {
            throw MockError(.cannotStart, "the document of a client that authenticates must have its keys in “jwks”")
        }
        self.init(
            id: document.clientID,
            authentication: key.map { .privateKeyJWT($0) } ?? .none,
            redirectURIs: metadata.redirectURIs,
            scopes: metadata.scope.isEmpty ? nil : Set(metadata.scope)
        )
        self.metadata = metadata
    }
}
