public import Foundation
import FoundationNetworking
public import Networking
import OAuth2
import OpenSSLCrypto
import Synchronization
import TokenGeneration

extension MockAuthorizationServer {
    /// A request for a user's authorization.
    public struct Prompt: Sendable, Hashable {
        /// The identifier of the client.
        public let clientID: String
        /// The requested scope.
        public let scope: String
        /// All parameters of the authorization request.
        public let parameters: [String: String]
    }

    /// A user's decision about an authorization request.
    @nonexhaustive
    public enum Decision: Sendable, Hashable {
        /// Approves the request, by the identifier of the user.
        case approved(subject: String)
        /// A denial of the request, with `access_denied`.
        case denied
        /// Fails with another error, such as `login_required`
        /// ([RFC 6749 §4.1.2.1](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2.1)).
        case error(String)
    }

    /// Sets the closure that decides for users.
    ///
    /// By default, the user is `ada` and approves everything.
    ///
    /// - Parameter decide: Returns the decision about a request.
    public func decide(_ decide: @escaping @Sendable (Prompt) -> Decision) {
        endpoints.codes.state.withLock { $0.decide = decide }
    }

    /// Opens a URL like a user's browser, and returns the URL of the server's redirect.
    ///
    /// It doesn't follow the redirect. Read the authorization response with
    /// `AuthorizationRequest.grant(from:of:)`, or request the URL from a program that listens on
    /// it.
    ///
    /// - Parameters:
    ///   - url: The URL of an authorization request.
    ///   - client: The client that sends the request.
    /// - Returns: The URL of the redirect.
    /// - Throws: `ServerError` if the server responds with an error, or with a redirect without a
    ///   valid `Location`. ``MockError`` with the code `noRedirect` if it responds with any other
    ///   status.
    public func visit(_ url: URL, client: NetworkClient = NetworkClient()) async throws -> URL {
        do {
            _ = try await client.response(for: URLRequest(url: url), options: RequestOptions(redirects: .never))
        } catch let error as ServerError where (300...399).contains(error.errorCode) {
            if let place = error.headers["Location"].flatMap(URL.init(string:)) { return place }
            throw error
        }
        throw MockError(.noRedirect, "the authorization endpoint didn't redirect the browser")
    }
}

extension MockAuthorizationServer.Fault {
    /// Changes or removes parameters of the redirect, after processing the request.
    ///
    /// - Parameter parameters: The new values. `nil` removes a parameter.
    /// - Returns: The fault.
    public static func redirectParameters(_ parameters: [String: String?]) -> Self {
        Self(
            kind: .changed { response in
                response.changingRedirect { pairs in
                    for (name, value) in parameters.sorted(by: { $0.key < $1.key }) {
                        let index = pairs.firstIndex { $0.name == name } ?? pairs.endIndex
                        pairs.removeAll { $0.name == name }
                        if let value { pairs.insert((name, value), at: min(index, pairs.endIndex)) }
                    }
                }
            }
        )
    }
}

/// The authorization endpoint and its codes ([RFC 6749
/// §4.1](https://www.rfc-editor.org/rfc/rfc6749#section-4.1)).
final class AuthorizationHandler: Sendable {
    typealias Decision = MockAuthorizationServer.Decision
    typealias Prompt = MockAuthorizationServer.Prompt

    struct Issued: Sendable {
        var authorization: Authorization
        let redirectURI: String
        let challenge: String
        let keyThumbprint: String?
        let nonce: String?
        let expiry: ContinuousClock.Instant
    }

    fileprivate struct State {
        var codes: [String: (issued: Issued, family: Int?)] = [:]
        var decide: @Sendable (Prompt) -> Decision = { _ in .approved(subject: "ada") }
    }

    fileprivate let state = Mutex(State())
    private let clients: ClientRegister
    private let tokens: TokenLedger

    init(clients: ClientRegister, tokens: TokenLedger) {
        self.clients = clients
        self.tokens = tokens
    }

    private var issuer: String { tokens.issuer }
    private var configuration: MockAuthorizationServer.Configuration { tokens.configuration }

    // MARK: Authorization endpoint

    func response(
        to parameters: [(name: String, value: String)],
        resolvedBy handler: AuthorizationRequestHandler
    ) -> LoopbackResponse {
        var request = RequestParameters(parameters)
        if configuration.requiresPushedAuthorizationRequests, request["request_uri"] == nil {
            return .text("pushed authorization requests are required (RFC 9126)", status: 400)
        }
        if request["request"] != nil || request["request_uri"] != nil {
            do throws(TokenEndpointError) {
                request = try handler.parameters(request)
            } catch {
                return .text(error.description, status: 400)
            }
        }
        // First identifies the client: redirects only go to registered URIs (RFC 6749 §4.1.2.1).
        guard let client = request["client_id"].flatMap({ clients.client($0) }) else {
            return .text("the client is unknown", status: 400)
        }
        guard let redirectURI = request["redirect_uri"], client.mayReturn(to: redirectURI), !request.hasRepetition
        else {
            return .text("the redirect URI isn't registered, or a parameter is repeated", status: 400)
        }
        var answer: [(name: String, value: String)]
        do throws(TokenEndpointError) {
            answer = [("code", try code(for: request, client, redirectURI))]
        } catch {
            answer = [("error", error.code), ("error_description", error.description)]
        }
        if let state = request["state"] { answer.append(("state", state)) }
        if Self.signedModes.contains(request["response_mode"] ?? "") {
            guard let token = signed(answer, for: client) else { return .status(500) }
            answer = [("response", token)]
        } else {
            answer.append(("iss", issuer))
        }
        let separator = redirectURI.contains("?") ? "&" : "?"
        return .status(303, headers: ["Location": redirectURI + separator + FormURLEncoded.encode(answer)])
    }

    private static let signedModes: Set = ["jwt", "query.jwt"]

    /// Returns the response as a JWT
    /// ([JARM §2.1](https://openid.net/specs/oauth-v2-jarm-final.html)).
    private func signed(
        _ answer: [(name: String, value: String)],
        for client: MockAuthorizationServer.Client
    ) -> String? {
        let now = Int(clamping: configuration.serverTime.date().timeIntervalSince1970)
        var claims: JSONObject = [
            "iss": .string(issuer), "aud": .string(client.id), "exp": .number(JSONNumber(now + 600)),
        ]
        for (name, value) in answer { claims[name] = .string(value) }
        return try? tokens.signing.token(claims)
    }

    private func code(
        for request: RequestParameters,
        _ client: MockAuthorizationServer.Client,
        _ redirectURI: String
    ) throws(TokenEndpointError) -> String {
        guard request["response_type"] == "code" else {
            throw TokenEndpointError("unsupported_response_type", "only codes are supported")
        }
        guard Self.signedModes.union(["query"]).contains(request["response_mode"] ?? "query") else {
            throw TokenEndpointError.invalidRequest("the response_mode isn't supported")
        }
        guard let challenge = request["code_challenge"], challenge.utf8.count == 43,
            request["code_challenge_method"] == "S256"
        else {
            throw TokenEndpointError.invalidRequest("a code_challenge with S256 is required")
        }
        let authorization = try configuration.authorization(client, request)
        let decide = state.withLock { $0.decide }
        let subject: String
        switch decide(Prompt(clientID: client.id, scope: authorization.scope, parameters: request.fields)) {
        case .approved(let name): subject = name
        case .denied: throw TokenEndpointError("access_denied", "the user's decision")
        case .error(let code): throw TokenEndpointError(code, "the user's decision")
        }
        let code = UUID().uuidString
        let issued = Issued(
            authorization: authorization.of(subject),
            redirectURI: redirectURI,
            challenge: challenge,
            keyThumbprint: request["dpop_jkt"],
            nonce: request["nonce"],
            expiry: configuration.time.now() + .seconds(60)
        )
        state.withLock { $0.codes[code] = (issued, nil) }
        return code
    }

    // MARK: Token endpoint

    /// Redeems a code ([RFC 6749 §4.1.3](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.3)); a
    /// second use means that it has leaked, so all its tokens are revoked.
    func redeem(
        _ form: RequestParameters,
        _ client: MockAuthorizationServer.Client,
        _ bond: TokenEndpointResponder.Bond
    ) throws(TokenEndpointError) -> (issued: Issued, refreshToken: String) {
        let code = try form.required("code")
        let redirectURI = try form.required("redirect_uri")
        let verifier = try form.required("code_verifier")
        let now = configuration.time.now()
        return try state.withLock { state throws(TokenEndpointError) in
            guard var issued = state.codes[code]?.issued else { throw .invalidGrant("the code is unknown") }
            if let family = state.codes[code]?.family {
                tokens.revokeFamily(family)
                throw .invalidGrant("the code was already used; all tokens issued for it are revoked")
            }
            // The first use is the only one, even if it fails.
            state.codes[code]?.family = 0
            guard now < issued.expiry else { throw .invalidGrant("the code has expired") }
            guard issued.authorization.clientID == client.id else {
                throw .invalidGrant("the code belongs to another client")
            }
            guard issued.redirectURI == redirectURI else {
                throw .invalidGrant("the redirect_uri differs from that of the authorization request")
            }
            guard Self.challenge(of: verifier) == issued.challenge else {
                throw .invalidGrant("the code_verifier doesn't match the code_challenge")
            }
            guard issued.keyThumbprint == nil || issued.keyThumbprint == bond.keyThumbprint else {
                throw .invalidGrant("the code is bound to a different key than the proof's")
            }
            issued.authorization = issued.authorization.granted(to: client, bond)
            let (refreshToken, newFamily) = tokens.beginFamily(issued.authorization)
            issued.authorization.family = newFamily
            state.codes[code] = (issued, newFamily)
            return (issued, refreshToken)
        }
    }

    private static func challenge(of verifier: String) -> String? {
        (try? [UInt8](verifier.utf8).withBytes { try HashFunction.sha256.hash($0) }).map { Base64URL.encode($0) }
    }
}

struct RequestParameters: Sendable {
    /// The parameters that may be repeated
    /// ([RFC 8707 §2](https://www.rfc-editor.org/rfc/rfc8707#section-2),
    /// [RFC 8693 §2.1](https://www.rfc-editor.org/rfc/rfc8693#section-2.1)).
    static let repeatable: Set = ["resource", "audience"]

    let fields: [String: String]
    let hasRepetition: Bool
    private let pairs: [(name: String, value: String)]

    init(_ pairs: [(name: String, value: String)]) {
        self.pairs = pairs
        fields = Dictionary(pairs.map { ($0.name, $0.value) }) { first, _ in first }
        let single = pairs.map(\.name).filter { !Self.repeatable.contains($0) }
        hasRepetition = Set(single).count < single.count
    }

    /// Reads a form ([RFC 6749 §3.2](https://www.rfc-editor.org/rfc/rfc6749#section-3.2)).
    init(form request: LoopbackRequest) throws(TokenEndpointError) {
        let type = request.headers["Content-Type"]?.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces)
        guard type?.lowercased() == FormURLEncoded.contentType else {
            throw TokenEndpointError.invalidRequest("the request isn't a form")
        }
        self.init(request.formItems.map { ($0.name, $0.value ?? "") })
        guard !hasRepetition else { throw TokenEndpointError.invalidRequest("a parameter is repeated") }
    }

    subscript(name: String) -> String? { fields[name].flatMap { $0.isEmpty ? nil : $0 } }

    func required(_ name: String) throws(TokenEndpointError) -> String {
        guard let value = self[name] else {
            throw TokenEndpointError.invalidRequest("the parameter \(name) is missing")
        }
        return value
    }

    func without(_ names: Set<String>) -> Self { Self(pairs.filter { !names.contains($0.name) }) }

    func values(_ name: String) -> [String] { pairs.filter { $0.name == name && !$0.value.isEmpty }.map(\.value) }
}

extension MockAuthorizationServer.Client {
    /// Returns whether the server may redirect users to a URI: to a registered one, and on this
    /// machine with any port ([RFC 8252 §7.3](https://www.rfc-editor.org/rfc/rfc8252#section-7.3)).
    func mayReturn(to uri: String) -> Bool {
        redirectURIs.contains { registered in
            registered == uri || registered.hasPrefix("http://127.0.0.1/") && Self.withoutPort(uri) == registered
        }
    }

    private static func withoutPort(_ uri: String) -> String? {
        guard var components = URLComponents(string: uri), components.port != nil else { return nil }
        components.port = nil
        return components.string
    }
}

extension MockAuthorizationServer.Configuration {
    func authorization(
        _ client: MockAuthorizationServer.Client,
        _ request: RequestParameters
    ) throws(TokenEndpointError) -> Authorization {
        var authorization = Authorization(
            clientID: client.id,
            subject: client.id,
            scope: try client.grantedScope(request["scope"])
        )
        authorization.resources = dialect.resources(of: request)
        authorization.roles = (client.scopes ?? []).filter { !$0.contains("/") }.sorted()
        for resource in authorization.resources {
            guard URL(string: resource)?.scheme != nil, !resource.contains("#"), resources?.contains(resource) ?? true
            else {
                throw TokenEndpointError("invalid_target", "the resource is unknown")
            }
        }
        authorization.details = try details(request["authorization_details"])
        return authorization
    }

    private func details(_ text: String?) throws(TokenEndpointError) -> [JSONValue] {
        guard let text else { return [] }
        // The parser only accepts objects, so the list is wrapped in one.
        let list = (try? JSONObject(parsing: #"{"list":\#(text)}"#))?["list"]?.array
        let types = list?.compactMap { $0.object?["type"]?.string } ?? []
        guard let list, types.count == list.count, !list.isEmpty,
            authorizationDetailTypes?.isSuperset(of: types) ?? true
        else {
            throw TokenEndpointError(
                "invalid_authorization_details",
                "authorization_details isn't a list of objects of supported types"
            )
        }
        return list
    }
}
