public import Foundation
import Networking
internal import OpenSSLCrypto
import TokenGeneration

extension AuthorizationRequest {
    private static let maximumAnswerSize = 32 << 10

    /// Reads the response that the user's browser has delivered
    /// ([RFC 6749 §4.1.2](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2)).
    ///
    /// The response is accepted only if it came to this request's redirect URI, has this request's
    /// `state`, and doesn't name a different issuer than the server's
    /// ([RFC 9207 §2.4](https://www.rfc-editor.org/rfc/rfc9207#section-2.4)).
    ///
    /// - Parameters:
    ///   - redirect: The URL that the browser requested.
    ///   - server: The server that received the request.
    /// - Returns: The grant, which works for one token request.
    /// - Throws: ``OAuth2Error`` with the code `stateMismatch`, `issuerMismatch`,
    ///   `authorizationDenied` if the user has denied the request, `serverTransient` or
    ///   `requestRejected` for other errors that the server reports, and `protocolViolation` if it
    ///   isn't an authorization response, or if the request asked for a signed one, which
    ///   ``grant(from:of:verifiedBy:)`` reads.
    public func grant(from redirect: URL, of server: AuthorizationServer) throws(OAuth2Error) -> AuthorizationCodeGrant
    {
        try grant(fromQuery: try query(of: redirect), of: server)
    }

    /// Reads the response to the request's redirect URI, for a service that has only its query.
    ///
    /// The caller must check that the response came to the redirect URI. That check separates the
    /// responses of servers that don't name themselves.
    ///
    /// - Parameters:
    ///   - query: The raw query without question mark, or the body with `response_mode=form_post`.
    ///   - server: The server that received the request.
    /// - Returns: The grant, which works for one token request.
    /// - Throws: The errors of ``grant(from:of:)``.
    public func grant(
        fromQuery query: String,
        of server: AuthorizationServer
    ) throws(OAuth2Error) -> AuthorizationCodeGrant {
        guard responseMode?.isSigned != true else {
            throw OAuth2Error(
                .protocolViolation,
                "the request asked for a signed response; read it with grant(from:of:verifiedBy:)"
            )
        }
        let answer = try AuthorizationAnswer(query, limit: Self.maximumAnswerSize)
        // Check the issuer first: nothing from another server is trusted, not even an error.
        try check(issuer: answer["iss"], server)
        return try grant(from: answer)
    }

    // MARK: Signed responses

    /// Reads the signed response that the user's browser has delivered, to a request with
    /// ``ResponseMode/jwt`` or a similar mode
    /// ([JARM §2.4](https://openid.net/specs/oauth-v2-jarm-final.html)).
    ///
    /// Only the signed claims count. They must be from the server (`iss`), for this client (`aud`),
    /// unexpired (`exp`), and for this request (`state`). Unsigned responses are rejected.
    ///
    /// - Parameters:
    ///   - redirect: The URL that the browser requested.
    ///   - server: The server that received the request.
    ///   - verifier: The verifier for the signature.
    /// - Returns: The grant, which works for one token request.
    /// - Throws: The errors of ``grant(from:of:)``; `protocolViolation` has a `TokenError` as its
    ///   cause if the JWT isn't valid. The ``OAuth2Error`` of ``RemoteKeySet/keys()`` if the keys
    ///   can't be loaded; `CancellationError`.
    public func grant(
        from redirect: URL,
        of server: AuthorizationServer,
        verifiedBy verifier: SignedResponseVerifier
    ) async throws -> AuthorizationCodeGrant {
        try await grant(fromQuery: try query(of: redirect), of: server, verifiedBy: verifier)
    }

    /// Reads the signed response to the request's redirect URI, for a service that has only its
    /// query, or the form of the response mode `form_post.jwt`.
    ///
    /// - Parameters:
    ///   - query: The raw query without the question mark, or the body of a form.
    ///   - server: The server that received the request.
    ///   - verifier: The verifier for the signature.
    /// - Returns: The grant, which works for one token request.
    /// - Throws: The errors of ``grant(from:of:verifiedBy:)``.
    public func grant(
        fromQuery query: String,
        of server: AuthorizationServer,
        verifiedBy verifier: SignedResponseVerifier
    ) async throws -> AuthorizationCodeGrant {
        guard let response = try AuthorizationAnswer(query, limit: Self.maximumAnswerSize)["response"] else {
            throw OAuth2Error(.protocolViolation, "the authorization response isn't signed; start again")
        }
        let claims = try await verifier.claims(of: response, issuer: server.issuer, clientID: clientID)
        return try grant(from: try AuthorizationAnswer(claims))
    }

    // MARK: Reading

    private func query(of redirect: URL) throws(OAuth2Error) -> String {
        let text = redirect.absoluteString
        guard Self.place(text) == Self.place(redirectURI) else {
            throw OAuth2Error(.protocolViolation, "the authorization response has another redirect URI")
        }
        let query = text.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        return String(query.prefix { $0 != "#" })
    }

    private func grant(from answer: AuthorizationAnswer) throws(OAuth2Error) -> AuthorizationCodeGrant {
        guard let state = answer["state"], Secret(state) == Secret(self.state) else {
            throw OAuth2Error(
                .stateMismatch,
                "the response isn't for this request: its state is \(answer["state"] == nil ? "missing" : "different"); start again"
            )
        }
        if let error = answer["error"] { throw OAuth2Error(authorizationError: error, answer) }
        for name in ["response", "access_token", "id_token"] where answer[name] != nil {
            throw OAuth2Error(.protocolViolation, "the authorization response has an unrequested “\(name)”")
        }
        guard let code = answer["code"] else {
            throw OAuth2Error(.protocolViolation, "the authorization response has neither a code nor an error")
        }
        return AuthorizationCodeGrant(
            code: Secret(code),
            redirectURI: redirectURI,
            codeVerifier: verifier,
            idToken: expectedIDToken
        )
    }

    private func check(issuer: String?, _ server: AuthorizationServer) throws(OAuth2Error) {
        guard let issuer else {
            guard server.namesItselfInResponses else { return }
            throw OAuth2Error(
                .issuerMismatch,
                "the authorization response doesn't name its issuer, as this server's responses always do (RFC 9207)"
            )
        }
        guard issuer.utf8.elementsEqual(server.issuer.utf8) else {
            throw OAuth2Error(
                .issuerMismatch,
                "the authorization response is from another server (RFC 9207); its code isn't used"
            )
        }
    }

    /// Returns a URL without query and fragment, and an empty path as a slash like browsers.
    static func place(_ url: String) -> String {
        let place = String(url.prefix { $0 != "?" && $0 != "#" })
        guard let authority = place.range(of: "://") else { return place }
        return place[authority.upperBound...].contains("/") ? place : place + "/"
    }
}

private struct AuthorizationAnswer {
    private static let known = Set(
        [
            "code", "state", "iss", "error", "error_description", "error_uri", "response", "access_token", "id_token",
        ].map(ByteComparedString.init)
    )

    private var values: [String: String] = [:]

    init(_ query: String, limit: Int) throws(OAuth2Error) {
        guard query.utf8.count <= limit, let pairs = FormURLEncoded.decode(query) else {
            throw OAuth2Error(.protocolViolation, "the response's query is malformed or has over \(limit) bytes")
        }
        for pair in pairs where Self.known.contains(ByteComparedString(pair.name)) {
            guard values.updateValue(pair.value, forKey: pair.name) == nil else {
                throw OAuth2Error(.protocolViolation, "the authorization response has more than one “\(pair.name)”")
            }
        }
    }

    init(_ claims: JSONObject) throws(OAuth2Error) {
        for claim in claims where Self.known.contains(ByteComparedString(claim.name)) {
            guard let text = claim.value.string else {
                throw OAuth2Error(.protocolViolation, "“\(claim.name)” in the signed response isn't a string")
            }
            values[claim.name] = text
        }
    }

    subscript(name: String) -> String? {
        values[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}

extension OAuth2Error {
    /// [RFC 6749 §4.1.2.1](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2.1).
    fileprivate init(authorizationError: String, _ answer: AuthorizationAnswer) {
        let serverCode = Self.registered(authorizationError)
        let (code, text) =
            switch serverCode {
            case "access_denied": (Code.authorizationDenied, "the user or the server has denied the request")
            case "server_error", "temporarily_unavailable":
                (Code.serverTransient, "the authorization endpoint is temporarily failing")
            default: (Code.requestRejected, "the authorization endpoint rejected the request")
            }
        self.init(code, text, serverCode: serverCode)
        serverText = Self.serverText { answer[$0] }
    }
}
