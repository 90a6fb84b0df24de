import Foundation
import Networking
import OAuth2
import Synchronization
import TokenGeneration

/// The clients of a server, and how they prove who they are.
final class ClientRegister: Sendable {
    typealias Client = MockAuthorizationServer.Client

    private static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

    private struct State {
        var clients: [String: Client]
        /// The assertions accepted so far: none is good for a second request.
        var usedAssertions: Set<String> = []
    }

    private let state: Mutex<State>
    private let metadata: AuthorizationServer
    private let time: TimeSource

    init(_ clients: [Client], metadata: AuthorizationServer, time: TimeSource) {
        let byID = Dictionary(clients.map { ($0.id, $0) }) { $1 }
        state = Mutex(State(clients: byID))
        self.metadata = metadata
        self.time = time
    }

    func remove(_ id: String) {
        state.withLock { $0.clients[id] = nil }
    }

    /// The key that a client signs with, if it has one.
    func key(of id: String) -> VerificationKey? {
        guard case .key(let key)? = state.withLock({ $0.clients[id]?.credential }) else { return nil }
        return key
    }

    func register(_ client: Client) {
        state.withLock { $0.clients[client.id] = client }
    }

    /// Finds out which client sent a request ([RFC 6749 §2.3](https://www.rfc-editor.org/rfc/rfc6749#section-2.3)).
    func authenticate(_ request: LoopbackRequest, _ form: Form) throws(TokenEndpointError) -> Client {
        let field = request.headers["Authorization"]
        guard [field, form["client_assertion"], form["client_secret"]].count(where: { $0 != nil }) <= 1 else {
            throw TokenEndpointError(code: "invalid_request", description: "the client authenticates in two ways")
        }
        let client: Client
        if let field {
            client = try authenticate(basic: field)
        } else if let assertion = form["client_assertion"] {
            guard form["client_assertion_type"] == Self.assertionType else {
                throw Self.invalidClient("the assertion's type is not known here")
            }
            client = try authenticate(assertion: assertion)
        } else {
            throw Self.invalidClient("the client does not authenticate in a way that is known here")
        }
        guard form["client_id"] == nil || form["client_id"] == client.id else {
            throw Self.invalidClient("the client authenticates as another than it says it is")
        }
        return client
    }

    private func authenticate(basic field: String) throws(TokenEndpointError) -> Client {
        var failure = Self.invalidClient("the client's identifier or secret is wrong")
        failure.headers = ["WWW-Authenticate": #"Basic realm="mock""#]
        guard let encoded = field.value(ofScheme: "Basic"),
            let pair = Data(base64Encoded: encoded).flatMap({ String(data: $0, encoding: .utf8) })
        else { throw failure }
        let parts = pair.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2,
            let id = FormURLEncoded.decodeComponent(parts[0]),
            let secret = FormURLEncoded.decodeComponent(parts[1]),
            let client = state.withLock({ $0.clients[id] }),
            case .secret(let expected) = client.credential,
            expected == Secret(secret)
        else { throw failure }
        return client
    }

    /// Verifies an assertion ([RFC 7523 §3](https://www.rfc-editor.org/rfc/rfc7523#section-3)).
    private func authenticate(assertion: String) throws(TokenEndpointError) -> Client {
        let claimed: String
        do {
            claimed = try UnverifiedToken(assertion).unverifiedClaims["iss"]?.string ?? ""
        } catch {
            throw Self.invalidClient("the assertion is not a token: \(error.code)")
        }
        guard let client = state.withLock({ $0.clients[claimed] }), case .key(let key) = client.credential else {
            throw Self.invalidClient("the assertion's issuer is not a client with a key")
        }
        let token = try verify(assertion, of: client, key: key)
        guard let identifier = token.registered.jwtID else {
            throw Self.invalidClient("the assertion has no jti")
        }
        guard state.withLock({ $0.usedAssertions.insert("\(client.id) \(identifier)").inserted }) else {
            throw Self.invalidClient("the assertion was used before")
        }
        return client
    }

    private func verify(
        _ assertion: String,
        of client: Client,
        key: VerificationKey
    ) throws(TokenEndpointError) -> VerifiedToken {
        // Both ways of addressing the server are in use.
        let audiences = [metadata.issuer, metadata.tokenEndpoint.absoluteString]
        var policy = ValidationPolicy(
            issuer: client.id,
            subject: client.id,
            leeway: .seconds(10),
            currentDate: time.date
        )
        policy.audience = .containsAny(of: audiences)
        do {
            return try JWTVerifier(key: key, policy: policy).verify(assertion)
        } catch {
            throw Self.invalidClient("the assertion is not valid: \(error.code)")
        }
    }

    private static func invalidClient(_ description: String) -> TokenEndpointError {
        TokenEndpointError(code: "invalid_client", description: description, status: 401)
    }
}

extension MockAuthorizationServer.Client {
    /// The scope that a request gets: what it asks for, if the client may have it.
    func grantedScope(_ requested: String?) throws(TokenEndpointError) -> String {
        let names = (requested ?? "").split(separator: " ").map(String.init)
        if let scopes, !scopes.isSuperset(of: names) {
            throw TokenEndpointError(code: "invalid_scope", description: "the client may not ask for this scope")
        }
        return names.joined(separator: " ")
    }
}

extension String {
    /// What follows the scheme of an `Authorization` header field, if it is of that scheme.
    func value(ofScheme scheme: String) -> String? {
        let parts = split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].equalsIgnoringASCIICase(scheme) else { return nil }
        return String(parts[1])
    }
}
