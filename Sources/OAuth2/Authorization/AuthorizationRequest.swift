public import Foundation
import Networking
internal import OpenSSLCrypto
public import TokenGeneration

/// A request for a user's authorization, with PKCE
/// ([RFC 6749 §4.1.1](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.1)).
///
/// ```swift
/// let request = try AuthorizationRequest(
///     clientID: "reports",
///     redirectURI: "https://reports.example/callback",
///     scope: "read"
/// )
/// // Send the user there.
/// let url = try request.url(at: server)
/// // The user has come back.
/// let grant = try request.grant(from: redirect, of: server)
/// ```
///
/// Each request is for one response. If another process receives the response, keep ``state``,
/// ``nonce`` and ``codeVerifier`` in the user's session, and create the request again from them.
public struct AuthorizationRequest: Sendable, Redacted {
    package let clientID: String
    package let redirectURI: String
    /// The value that ties the response to this request, and not to an attacker's.
    public let state: String
    /// The value that the ID token must repeat, or `nil` without the scope `openid`.
    public let nonce: String?
    /// The proof that the client that redeems the code is the one that requested it
    /// ([RFC 7636](https://www.rfc-editor.org/rfc/rfc7636), PKCE).
    public var codeVerifier: Secret { verifier.value }
    package let verifier: CodeVerifier
    package let responseMode: ResponseMode?
    let expectedIDToken: ExpectedIDToken
    /// All parameters in the order to send them, of which only `resource` can occur more than once.
    package let parameters: [(name: String, value: String)]

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier.
    ///   - redirectURI: The redirect URI, exactly as registered.
    ///   - scope: The requested names, separated by spaces; `openid` requests an ID token.
    ///   - resources: The URIs of the services that the token is for
    ///     ([RFC 8707](https://www.rfc-editor.org/rfc/rfc8707)).
    ///   - authorizationDetails: The details of the requested access
    ///     ([RFC 9396](https://www.rfc-editor.org/rfc/rfc9396)).
    ///   - dpopKeyThumbprint: The thumbprint of the key that the code will be bound to
    ///     ([RFC 9449 §10](https://www.rfc-editor.org/rfc/rfc9449#section-10)). ``OAuth2Client``
    ///     sets it.
    ///   - responseMode: The response mode. With ``ResponseMode/jwt``, the response is signed.
    ///   - additionalParameters: Additional parameters, such as `prompt` or `login_hint`.
    ///   - state: The state. The default, `nil`, generates 256 random bits.
    ///   - nonce: The nonce. The default, `nil`, generates 256 random bits for the scope `openid`.
    ///   - codeVerifier: The code verifier, 43 to 128 letters, digits, `-`, `.`, `_` and `~`. The
    ///     default, `nil`, generates 256 random bits.
    /// - Throws: ``OAuth2Error`` with the code `malformedRequest` for a redirect URI that isn't
    ///   absolute or has a fragment, an invalid scope, resource or code verifier, an empty state, a
    ///   `max_age` that isn't a whole number of seconds, or an additional parameter that the
    ///   request sets itself.
    public init(
        clientID: String,
        redirectURI: String,
        scope: String? = nil,
        resources: [String] = [],
        authorizationDetails: [AuthorizationDetail] = [],
        dpopKeyThumbprint: String? = nil,
        responseMode: ResponseMode? = nil,
        additionalParameters: [String: String] = [:],
        state: String? = nil,
        nonce: String? = nil,
        codeVerifier: Secret? = nil
    ) throws(OAuth2Error) {
        self.clientID = clientID
        self.redirectURI = redirectURI
        self.responseMode = responseMode ?? additionalParameters["response_mode"].map(ResponseMode.init)
        let isOpenID = (scope ?? "").split(separator: " ").contains("openid")
        let state = if let state { state } else { try String.random() }
        let nonce = if let nonce { nonce } else if isOpenID { try String.random() } else { String?.none }
        let maximumAge = try Self.maximumAuthenticationAge(additionalParameters["max_age"])
        expectedIDToken = isOpenID ? .requested(nonce: nonce, maximumAuthenticationAge: maximumAge) : .none
        verifier = if let codeVerifier { try CodeVerifier(codeVerifier) } else { try CodeVerifier() }
        (self.state, self.nonce) = (state, nonce)
        guard let scheme = URL(string: redirectURI)?.scheme, !scheme.isEmpty, !redirectURI.contains("#") else {
            throw OAuth2Error(.malformedRequest, "the redirect URI isn't absolute or has a fragment (RFC 6749 §3.1.2)")
        }
        guard !state.isEmpty, nonce?.isEmpty != true else {
            throw OAuth2Error(.malformedRequest, "an empty state or nonce gives no protection; omit it to generate one")
        }
        var parameters = [
            ("response_type", "code"), ("client_id", clientID), ("redirect_uri", redirectURI), ("state", state),
            ("code_challenge", try verifier.challenge()), ("code_challenge_method", "S256"),
        ]
        if let responseMode { parameters.append(("response_mode", responseMode.name)) }
        if let nonce { parameters.append(("nonce", nonce)) }
        let access = RequestedAccess(scope: scope, resources: resources, details: authorizationDetails)
        parameters += try access.fields()
        if let dpopKeyThumbprint { parameters.append(("dpop_jkt", dpopKeyThumbprint)) }
        let own = Set(parameters.map(\.0) + ["scope", "resource", "nonce", "request", "request_uri"])
        self.parameters = parameters + (try RequestedAccess.additional(additionalParameters, besides: own))
    }

    private static func maximumAuthenticationAge(_ text: String?) throws(OAuth2Error) -> Duration? {
        guard let text else { return nil }
        guard let seconds = UInt32(text) else {
            throw OAuth2Error(.malformedRequest, "“max_age” must be a whole number of seconds")
        }
        return .seconds(Int(clamping: seconds))
    }

    /// Returns the URL to open in the user's browser.
    ///
    /// - Parameter server: The server, which must have an
    ///   ``AuthorizationServer/authorizationEndpoint``.
    /// - Returns: The URL.
    /// - Throws: ``OAuth2Error`` with the code `endpointMissing` if the server has no authorization
    ///   endpoint, `insecureTransport` if the endpoint is neither `https` nor on this machine, or
    ///   `malformedRequest` if the server requires pushed requests.
    public func url(at server: AuthorizationServer) throws(OAuth2Error) -> URL {
        try server.checkTakesRequestsFromUsers()
        return try Self.url(at: server, parameters: parameters)
    }

    /// Keeps the endpoint's own query
    /// ([RFC 6749 §3.1](https://www.rfc-editor.org/rfc/rfc6749#section-3.1)).
    static func url(
        at server: AuthorizationServer,
        parameters: [(name: String, value: String)]
    ) throws(OAuth2Error) -> URL {
        let endpoint = try server.authorizationEndpoint.required("the authorization endpoint")
        _ = try endpoint.confidentialOrigin("an authorization request")
        return try endpoint.adding(parameters, "the authorization endpoint")
    }

    /// The client's identifier, without the secrets of the request.
    public var description: String { "authorization request of \(clientID)" }
}

extension URL {
    func adding(_ parameters: [(name: String, value: String)], _ place: String) throws(OAuth2Error) -> URL {
        let text = absoluteString
        let separator = !text.contains("?") ? "?" : text.hasSuffix("?") || text.hasSuffix("&") ? "" : "&"
        guard fragment == nil, let url = URL(string: text + separator + FormURLEncoded.encode(parameters)) else {
            throw OAuth2Error(.malformedRequest, "the URL of \(place) can't have parameters")
        }
        return url
    }
}

extension AuthorizationServer {
    /// [RFC 9126 §5](https://www.rfc-editor.org/rfc/rfc9126#section-5).
    func checkTakesRequestsFromUsers() throws(OAuth2Error) {
        guard requiresPushedAuthorizationRequests else { return }
        throw OAuth2Error(
            .malformedRequest,
            "the server requires pushed requests: send users to the URL of the request that `push` returns"
        )
    }
}

/// The transport of an authorization response ([OAuth 2.0 Multiple Response Types
/// §2.1](https://openid.net/specs/oauth-v2-multiple-response-types-1_0.html#ResponseModes)).
///
/// With the modes whose names end in `jwt`, the server signs its response
/// ([JARM](https://openid.net/specs/oauth-v2-jarm-final.html)), so that an attacker can't change or
/// forge it.
public struct ResponseMode: Hashable, Sendable {
    package let name: String

    /// Creates a mode from its name.
    ///
    /// - Parameter name: The value of `response_mode`, such as `form_post`.
    public init(_ name: String) {
        self.name = name
    }

    /// Parameters in the query of the redirect URI, the default for codes.
    package static let query = Self("query")
    /// A signed response, in the query for requests of a code: another name of `query.jwt`.
    public static let jwt = Self("jwt")
    package static let queryJWT = Self("query.jwt")

    package var isSigned: Bool { name == "jwt" || name.hasSuffix(".jwt") }
}

/// The authorization request has the verifier's digest, and the token request the verifier.
package struct CodeVerifier: Sendable, Hashable {
    package let value: Secret

    /// Creates a verifier of 256 random bits.
    package init() throws(OAuth2Error) {
        value = Secret(try String.random())
    }

    package init(_ value: Secret) throws(OAuth2Error) {
        let isWellFormed = value.expose { text in
            (43...128).contains(text.utf8.count) && text.utf8.allSatisfy(PercentEncoding.isUnreserved)
        }
        guard isWellFormed else {
            throw OAuth2Error(
                .malformedRequest,
                "the code verifier must have 43 to 128 letters, digits, “-”, “.”, “_” and “~” (RFC 7636 §4.1)"
            )
        }
        self.value = value
    }

    /// Returns the digest for the authorization request, with the method `S256`, the only one that
    /// keeps the verifier secret from an observer of the request.
    package func challenge() throws(OAuth2Error) -> String {
        do {
            return try value.expose { text in
                let digest = try [UInt8](text.utf8).withBytes { try HashFunction.sha256.hash($0) }
                return Base64URL.encode(Array(digest))
            }
        } catch {
            throw OAuth2Error(.assertionFailed, "the code verifier's digest can't be computed", cause: error)
        }
    }
}

extension String {
    /// Returns 256 random bits, base64url-encoded.
    static func random() throws(OAuth2Error) -> String {
        do { return Base64URL.encode(try SecureRandom.bytes(count: 32)) } catch {
            throw OAuth2Error(.assertionFailed, "the system can't generate random numbers", cause: error)
        }
    }
}

extension OAuth2Client {
    /// Sends an authorization request directly to the server, so that the user can't read or change
    /// it ([RFC 9126](https://www.rfc-editor.org/rfc/rfc9126)).
    ///
    /// Send the user to the URL of the result.
    ///
    /// - Parameter request: The request.
    /// - Returns: A reference to the request.
    /// - Throws: ``OAuth2Error``: `malformedRequest` for a request of another client; the errors of
    ///   each request of an ``OAuth2Client``.
    public func push(_ request: AuthorizationRequest) async throws -> PushedAuthorizationRequest {
        try await push(parameters: request.parameters)
    }

    /// Sends a signed request to the server.
    ///
    /// - Parameter request: The request.
    /// - Returns: A reference to the request.
    /// - Throws: The errors of ``push(_:)-(AuthorizationRequest)``.
    public func push(_ request: SignedAuthorizationRequest) async throws -> PushedAuthorizationRequest {
        try await push(parameters: request.parameters)
    }

    package func push(parameters: [(name: String, value: String)]) async throws -> PushedAuthorizationRequest {
        let place = "the pushed authorization request endpoint"
        let clientID = clientAuthentication.clientID
        guard parameters.allSatisfy({ $0.name != "client_id" || $0.value == clientID }) else {
            throw OAuth2Error(.malformedRequest, "the authorization request has another client's ID")
        }
        guard parameters.allSatisfy({ $0.name != "request_uri" }) else {
            throw OAuth2Error(.malformedRequest, "a pushed request can't be pushed again (RFC 9126 §2.1)")
        }
        // A signed request has all other parameters (RFC 9126 §3).
        let isSigned = parameters.contains { $0.name == "request" }
        let form =
            [("client_id", clientID)]
            + parameters.filter { isSigned ? $0.name == "request" : $0.name != "client_id" }
        let pushed = timing.timeSource.now()
        return try await post(form, to: \.pushedAuthorizationRequestEndpoint, place: place) { response in
            let answer = try AnswerMembers(response, from: place)
            let uri = try answer.required("request_uri")
            guard uri.utf8.count <= 8_192, HTTPSyntax.isFieldValue(uri) else { throw answer.wrong("request_uri") }
            guard let seconds = try answer.seconds("expires_in"), seconds > 0 else { throw answer.wrong("expires_in") }
            return PushedAuthorizationRequest(
                requestURI: uri,
                clientID: clientID,
                expiry: pushed + Duration(clampingSeconds: seconds)
            )
        }
    }
}

/// A reference to a pushed authorization request, for one use.
public struct PushedAuthorizationRequest: Sendable, Hashable {
    package let requestURI: String
    package let clientID: String
    /// The time when the reference expires, after which the server rejects it.
    public let expiry: ContinuousClock.Instant

    package init(requestURI: String, clientID: String, expiry: ContinuousClock.Instant) {
        self.requestURI = requestURI
        self.clientID = clientID
        self.expiry = expiry
    }

    /// Returns the URL to open in the user's browser
    /// ([RFC 9126 §4](https://www.rfc-editor.org/rfc/rfc9126#section-4)).
    ///
    /// - Parameter server: The server that has the request.
    /// - Returns: The URL.
    /// - Throws: ``OAuth2Error`` with the code `endpointMissing` if the server has no authorization
    ///   endpoint, or `insecureTransport` if the endpoint is neither `https` nor on this machine.
    public func url(at server: AuthorizationServer) throws(OAuth2Error) -> URL {
        try AuthorizationRequest.url(
            at: server,
            parameters: [("client_id", clientID), ("request_uri", requestURI)]
        )
    }
}
