import Foundation
import Networking
import OAuth2
import Synchronization
import TokenGeneration

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
            throw TokenEndpointError(code: "invalid_request", description: "the update has read-only members")
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
                throw TokenEndpointError(code: "invalid_client_metadata", description: error.message)
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
            throw TokenEndpointError(code: "invalid_client_metadata", description: "jwks doesn't contain a key")
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
            throw TokenEndpointError(code: "invalid_client_metadata", description: "the body isn't a JSON object")
        }
        for uri in metadata["redirect_uris"]?.array ?? [] {
            guard let text = uri.string, URL(string: text)?.host != nil, !text.contains("#") else {
                throw TokenEndpointError(code: "invalid_redirect_uri", description: "a redirect URI isn't absolute")
            }
        }
        guard ["client_secret_basic", "private_key_jwt", "none"].contains(Self.method(metadata)) else {
            throw TokenEndpointError(code: "invalid_client_metadata", description: "the method isn't supported")
        }
        return metadata
    }

    private static func method(_ metadata: JSONObject) -> String {
        metadata["token_endpoint_auth_method"]?.string ?? "client_secret_basic"
    }

    private static var invalidToken: TokenEndpointError {
        var error = TokenEndpointError(code: "invalid_token", description: "the token isn't valid", status: 401)
        error.headers = ["WWW-Authenticate": #"Bearer realm="mock", error="invalid_token""#]
        return error
    }
}

extension MockAuthorizationServer.Client {
    /// Creates the client that a document describes.
    ///
    /// - Throws: ``MockError`` with the code `cannotStart` if the client authenticates, but its
    ///   keys aren't in the document.
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
