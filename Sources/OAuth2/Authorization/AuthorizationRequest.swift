public import Foundation
import Networking
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
public struct AuthorizationRequest: Sendable {
    /// The client's identifier.
    public let clientID: String
    /// The redirect URI, exactly as registered.
    public let redirectURI: String
    /// The value that ties the response to this request, and not to an attacker's.
    public let state: String
    /// The value that the ID token must repeat, or `nil` without the scope `openid`.
    public let nonce: String?
    /// The proof that the client that redeems the code is the one that requested it.
    public let codeVerifier: CodeVerifier
    /// The response mode, or `nil` for the server's default, which is the query.
    public let responseMode: ResponseMode?
    /// The ID token that the token endpoint must issue.
    let expectedIDToken: ExpectedIDToken
    /// All parameters in the order to send them, in the URL, a pushed request or a signed one.
    ///
    /// Only `resource` can occur more than once.
    public let parameters: [(name: String, value: String)]

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
    ///   - codeVerifier: The code verifier. The default, `nil`, generates a new one.
    /// - Throws: ``OAuth2Error`` with the code `malformedRequest` for a redirect URI that isn't
    ///   absolute or has a fragment, an invalid scope or resource, an empty state, a `max_age` that
    ///   isn't a whole number of seconds, or an additional parameter that the request sets itself.
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
        codeVerifier: CodeVerifier? = nil
    ) throws(OAuth2Error) {
        self.clientID = clientID
        self.redirectURI = redirectURI
        self.responseMode = responseMode ?? additionalParameters["response_mode"].map(ResponseMode.init)
        let isOpenID = (scope ?? "").split(separator: " ").contains("openid")
        let state = if let state { state } else { try String.random() }
        let nonce = if let nonce { nonce } else if isOpenID { try String.random() } else { String?.none }
        let maximumAge = try Self.maximumAuthenticationAge(additionalParameters["max_age"])
        expectedIDToken = isOpenID ? .requested(nonce: nonce, maximumAuthenticationAge: maximumAge) : .none
        let codeVerifier = if let codeVerifier { codeVerifier } else { try CodeVerifier() }
        (self.state, self.nonce, self.codeVerifier) = (state, nonce, codeVerifier)
        guard let scheme = URL(string: redirectURI)?.scheme, !scheme.isEmpty, !redirectURI.contains("#") else {
            throw OAuth2Error(
                .malformedRequest,
                "the redirect URI isn't absolute or has a fragment (RFC 6749 §3.1.2)"
            )
        }
        guard !state.isEmpty, nonce?.isEmpty != true else {
            throw OAuth2Error(
                .malformedRequest,
                "an empty state or nonce gives no protection; omit it to generate one"
            )
        }
        var parameters = [
            ("response_type", "code"), ("client_id", clientID), ("redirect_uri", redirectURI), ("state", state),
            ("code_challenge", try codeVerifier.challenge()), ("code_challenge_method", "S256"),
        ]
        if let responseMode { parameters.append(("response_mode", responseMode.name)) }
        if let nonce { parameters.append(("nonce", nonce)) }
        let access = RequestedAccess(scope: scope, resources: resources, details: authorizationDetails)
        parameters += try access.fields()
        if let dpopKeyThumbprint { parameters.append(("dpop_jkt", dpopKeyThumbprint)) }
        let own = Set(parameters.map(\.0) + ["scope", "resource", "nonce", "request", "request_uri"])
        self.parameters = parameters + (try RequestedAccess.additional(additionalParameters, besides: own))
    }

    /// Parses `max_age`, which the ID token is checked against.
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

    /// Returns the authorization endpoint's URL with parameters.
    ///
    /// The endpoint's own query is kept
    /// ([RFC 6749 §3.1](https://www.rfc-editor.org/rfc/rfc6749#section-3.1)).
    static func url(
        at server: AuthorizationServer,
        parameters: [(name: String, value: String)]
    ) throws(OAuth2Error) -> URL {
        let endpoint = try server.authorizationEndpoint.required("the authorization endpoint")
        _ = try endpoint.confidentialOrigin("an authorization request")
        return try endpoint.adding(parameters, "the authorization endpoint")
    }
}

extension URL {
    /// Returns the URL of an endpoint with parameters after its own query.
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
    /// Throws an error if the server requires pushed authorization requests
    /// ([RFC 9126 §5](https://www.rfc-editor.org/rfc/rfc9126#section-5)).
    func checkTakesRequestsFromUsers() throws(OAuth2Error) {
        guard requiresPushedAuthorizationRequests else { return }
        throw OAuth2Error(
            .malformedRequest,
            "the server requires pushed requests: send users to the URL of the request that `push` returns"
        )
    }
}

extension AuthorizationRequest: Redacted {
    /// The client's identifier, without the secrets of the request.
    public var description: String { "authorization request of \(clientID)" }
}
