public import Foundation
import Networking
public import TokenGeneration

/// A request to end the user's session at the OpenID provider ([OpenID Connect RP-Initiated Logout
/// 1.0](https://openid.net/specs/openid-connect-rpinitiated-1_0.html)).
///
/// ```swift
/// let request = try LogoutRequest(
///     clientID: "shop",
///     idToken: idToken,
///     redirectURI: "https://shop.example/signed-out"
/// )
/// // First end your own session. Then send the user there.
/// let url = try request.url(at: server)
/// // The user has come back.
/// try request.check(redirect)
/// ```
///
/// If another process receives the redirect, keep ``state`` in the user's session, and create the
/// request again from it.
public struct LogoutRequest: Sendable, Redacted {
    package let clientID: String
    package let redirectURI: String?
    /// The value that ties the redirect to this request; `nil` without a redirect URI.
    public let state: String?
    /// All parameters in the order to send them, in the URL or in a form that the browser posts.
    ///
    /// The ID token is one of them: the URL doesn't belong into logs.
    public let parameters: [(name: String, value: String)]

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier.
    ///   - idToken: The user's latest ID token, also if it has expired. Without it, most providers
    ///     ask the user, and some don't redirect.
    ///   - redirectURI: The URI to redirect the user to, exactly as registered in
    ///     `post_logout_redirect_uris`. The default is `nil`, and the user stays at the provider.
    ///   - logoutHint: A hint at the user, such as the `sid` or the email address. The default is
    ///     `nil`.
    ///   - uiLocales: The user's languages, in the order of preference. The default is empty.
    ///   - state: The state. The default, `nil`, generates 256 random bits if there's a redirect
    ///     URI.
    /// - Throws: ``OAuth2Error`` with the code `malformedRequest` for a redirect URI that isn't
    ///   absolute or has a fragment, or a state that is empty or has no redirect URI.
    public init(
        clientID: String,
        idToken: Secret? = nil,
        redirectURI: String? = nil,
        logoutHint: String? = nil,
        uiLocales: [String] = [],
        state: String? = nil
    ) throws(OAuth2Error) {
        if let redirectURI {
            guard let scheme = URL(string: redirectURI)?.scheme, !scheme.isEmpty, !redirectURI.contains("#") else {
                throw OAuth2Error(.malformedRequest, "the redirect URI isn't absolute or has a fragment")
            }
        }
        guard state?.isEmpty != true, state == nil || redirectURI != nil else {
            throw OAuth2Error(.malformedRequest, "the state must not be empty, and needs a redirect URI")
        }
        self.clientID = clientID
        self.redirectURI = redirectURI
        if redirectURI != nil, state == nil { self.state = try String.random() } else { self.state = state }
        var parameters: [(name: String, value: String)] = []
        if let idToken { parameters.append(("id_token_hint", idToken.expose { $0 })) }
        if let logoutHint { parameters.append(("logout_hint", logoutHint)) }
        parameters.append(("client_id", clientID))
        if let redirectURI { parameters.append(("post_logout_redirect_uri", redirectURI)) }
        if let state = self.state { parameters.append(("state", state)) }
        if !uiLocales.isEmpty { parameters.append(("ui_locales", uiLocales.joined(separator: " "))) }
        self.parameters = parameters
    }

    /// Returns the URL to open in the user's browser.
    ///
    /// - Parameter server: The server, which must have an
    ///   ``AuthorizationServer/endSessionEndpoint``.
    /// - Returns: The URL.
    /// - Throws: ``OAuth2Error`` with the code `endpointMissing` if the server doesn't have the
    ///   endpoint, `insecureTransport` if it's neither `https` nor on this machine, or
    ///   `malformedRequest` if its URL can't have parameters.
    public func url(at server: AuthorizationServer) throws(OAuth2Error) -> URL {
        let place = "the end session endpoint"
        let endpoint = try server.endSessionEndpoint.required(place)
        _ = try endpoint.confidentialOrigin("a logout request")
        return try endpoint.adding(parameters, place)
    }

    /// Checks that the user came back from this request.
    ///
    /// Anyone can make a user open the redirect URI. Without the state, that says nothing about the
    /// user's session.
    ///
    /// - Parameter redirect: The URL that the browser requested.
    /// - Throws: ``OAuth2Error`` with the code `protocolViolation` for another redirect URI or a
    ///   malformed query, or `stateMismatch` for a state that is missing, repeated or different.
    public func check(_ redirect: URL) throws(OAuth2Error) {
        let text = redirect.absoluteString
        guard let redirectURI, let state, text.utf8.count <= 32 << 10,
            AuthorizationRequest.place(text) == AuthorizationRequest.place(redirectURI)
        else { throw OAuth2Error(.protocolViolation, "the user came to another URL than that of the logout request") }
        let query = text.prefix { $0 != "#" }.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        guard let fields = FormURLEncoded.decode(String(query)) else {
            throw OAuth2Error(.protocolViolation, "the query of the redirect after the logout is malformed")
        }
        let states = fields.filter { $0.name.isExactly("state") }
        guard states.count == 1, Secret(states[0].value) == Secret(state) else {
            throw OAuth2Error(.stateMismatch, "the redirect isn't for this logout request; don't show it as signed out")
        }
    }

    /// The client's identifier, without the ID token and the state.
    public var description: String { "logout request of \(clientID)" }
}
