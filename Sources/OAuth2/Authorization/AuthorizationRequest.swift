public import Foundation
import Networking

/// What a user is asked to grant, and how the answer is to come back
/// ([RFC 6749 §4.1.1](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.1), with PKCE always).
///
/// ```swift
/// let request = try AuthorizationRequest(clientID: "reports", redirectURI: "https://reports.example/callback", scope: "read")
/// let url = try request.url(at: server)  // send the user there
/// let grant = try request.grant(from: redirect, of: server)  // the user has come back
/// ```
///
/// One request is for one answer. Whoever sends the user away in one process and gets them back in another keeps ``state``,
/// ``nonce`` and ``codeVerifier`` with the user's session, and makes the request anew of them.
public struct AuthorizationRequest: Sendable {
    /// The client's identifier.
    public let clientID: String
    /// Where the answer is to come, exactly as it was registered.
    public let redirectURI: String
    /// The scope asked for; `nil` for the server's default.
    public let scope: String?
    /// What tells the answer to this request from one that somebody else has begun.
    public let state: String
    /// What the ID token has to repeat; `nil` if none is asked for, that is without the scope `openid`.
    public let nonce: String?
    /// What proves that whoever redeems the code is who asked for it.
    public let codeVerifier: CodeVerifier
    /// The URIs of the services that the token is for ([RFC 8707](https://www.rfc-editor.org/rfc/rfc8707)).
    public let resources: [String]
    /// What the token is to entitle to ([RFC 9396](https://www.rfc-editor.org/rfc/rfc9396)).
    public let authorizationDetails: [AuthorizationDetail]
    /// The thumbprint of the key that the code is to be bound to
    /// ([RFC 9449 §10](https://www.rfc-editor.org/rfc/rfc9449#section-10)); ``OAuth2Client`` sets it.
    package let dpopKeyThumbprint: String?
    /// How the answer is to come back; `nil` for the server's default, which is the query.
    public let responseMode: ResponseMode?
    /// Parameters of extensions, such as `prompt` or `login_hint`.
    public let additionalParameters: [String: String]
    /// The ID token that the token endpoint has to issue.
    let expectedIDToken: ExpectedIDToken
    /// All parameters in the order in which they are sent: for the URL, for a pushed request or a signed one.
    ///
    /// Only `resource` may be there several times.
    public let parameters: [(name: String, value: String)]

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier.
    ///   - redirectURI: Where the answer is to come, exactly as it was registered.
    ///   - scope: The scope asked for, names separated by spaces; with `openid` there is an ID token.
    ///   - resources: The URIs of the services that the token is for.
    ///   - authorizationDetails: What the token is to entitle to.
    ///   - dpopKeyThumbprint: The thumbprint of the key that the code is to be bound to.
    ///   - responseMode: How the answer is to come back; signed with ``ResponseMode/jwt``.
    ///   - additionalParameters: Parameters of extensions.
    ///   - state: 256 random bits if `nil`.
    ///   - nonce: 256 random bits if `nil` and the scope has `openid`.
    ///   - codeVerifier: A new one if `nil`.
    /// - Throws: ``OAuth2Error`` with the code `malformedRequest` for a redirect URI that is not absolute or has a fragment, an
    ///   invalid scope or resource, an empty state, a `max_age` that isn't a whole number of seconds, or an additional parameter
    ///   that the request has anyway.
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
        self.scope = scope
        self.resources = resources
        self.authorizationDetails = authorizationDetails
        self.dpopKeyThumbprint = dpopKeyThumbprint
        self.additionalParameters = additionalParameters
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
                "the redirect URI is not absolute, or has a fragment (RFC 6749 §3.1.2)"
            )
        }
        guard !state.isEmpty, nonce?.isEmpty != true else {
            throw OAuth2Error(
                .malformedRequest,
                "an empty state or nonce protects from nothing; leave it out for a new one"
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

    /// Reads `max_age`, which the ID token is checked against.
    private static func maximumAuthenticationAge(_ text: String?) throws(OAuth2Error) -> Duration? {
        guard let text else { return nil }
        guard let seconds = UInt32(text) else {
            throw OAuth2Error(.malformedRequest, "“max_age” must be a whole number of seconds")
        }
        return .seconds(Int64(seconds))
    }

    /// Where to send the user.
    ///
    /// - Parameter server: Who is asked; it needs an ``AuthorizationServer/authorizationEndpoint``.
    /// - Returns: The URL.
    /// - Throws: ``OAuth2Error`` with the code `endpointMissing` if the server has no such endpoint, `insecureTransport` if
    ///   it is neither `https` nor on this machine, or `malformedRequest` if it takes only requests that were left with it before.
    public func url(at server: AuthorizationServer) throws(OAuth2Error) -> URL {
        try server.checkTakesRequestsFromUsers()
        return try Self.url(at: server, parameters: parameters)
    }

    /// The URL at which a server is asked with some parameters: those of a request, or what stands for them.
    ///
    /// A query that the endpoint has itself is kept ([RFC 6749 §3.1](https://www.rfc-editor.org/rfc/rfc6749#section-3.1)).
    static func url(
        at server: AuthorizationServer,
        parameters: [(name: String, value: String)]
    ) throws(OAuth2Error) -> URL {
        let endpoint = try server.authorizationEndpoint.required("the authorization endpoint")
        _ = try endpoint.confidentialOrigin("an authorization request")
        let text = endpoint.absoluteString
        let separator = !text.contains("?") ? "?" : text.hasSuffix("?") || text.hasSuffix("&") ? "" : "&"
        guard endpoint.fragment == nil, let url = URL(string: text + separator + FormURLEncoded.encode(parameters))
        else {
            throw OAuth2Error(.malformedRequest, "the authorization endpoint's URL can't be given parameters")
        }
        return url
    }
}

extension AuthorizationServer {
    /// Refuses what a user would bring to a server that takes only what was left with it before
    /// ([RFC 9126 §5](https://www.rfc-editor.org/rfc/rfc9126#section-5)).
    func checkTakesRequestsFromUsers() throws(OAuth2Error) {
        guard requiresPushedAuthorizationRequests else { return }
        throw OAuth2Error(
            .malformedRequest,
            "the server takes only requests that were left with it: send users to the URL of what `push` returns"
        )
    }
}

extension AuthorizationRequest: CustomStringConvertible, CustomReflectable {
    /// Who asks, without what the answer is recognized by.
    public var description: String { "authorization request of \(clientID)" }

    /// A mirror without state, nonce and verifier.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: ["clientID": clientID, "redirectURI": redirectURI, "parameters": parameters.map(\.name)]
        )
    }
}
