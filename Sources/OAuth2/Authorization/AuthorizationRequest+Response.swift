public import Foundation
import Networking
internal import OpenSSLCrypto
import TokenGeneration

extension AuthorizationRequest {
    /// How long an answer may be, in octets.
    private static let maximumAnswerSize = 32 << 10

    /// Reads the answer that a user's browser has brought back
    /// ([RFC 6749 §4.1.2](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2)).
    ///
    /// The answer counts only if it came to this request's redirect URI, has this request's `state`, and does not name another
    /// server than the one that was asked ([RFC 9207 §2.4](https://www.rfc-editor.org/rfc/rfc9207#section-2.4)).
    ///
    /// - Parameters:
    ///   - redirect: The URL that the browser asked for.
    ///   - server: Who was asked.
    /// - Returns: The grant, which is good for one token request.
    /// - Throws: ``OAuth2Error`` with the code `stateMismatch`, `issuerMismatch`, `authorizationDenied` if the user has refused,
    ///   `serverTransient` or `requestRejected` for other errors that the server reports, and `protocolViolation` for what is no
    ///   answer to a request for a code, or for the answer to a request that asked for a signed one:
    ///   ``grant(from:of:verifiedBy:)`` reads that.
    public func grant(from redirect: URL, of server: AuthorizationServer) throws(OAuth2Error) -> AuthorizationCodeGrant
    {
        try grant(fromQuery: try query(of: redirect), of: server)
    }

    /// Reads the answer that has come to the request's redirect URI, for a service that knows it by its query only.
    ///
    /// The caller sees to it that it came to the redirect URI: that keeps answers of several servers apart which don't name themselves.
    ///
    /// - Parameters:
    ///   - query: The query as it came, without the question mark; or the body of a form, with `response_mode=form_post`.
    ///   - server: Who was asked.
    /// - Returns: The grant, which is good for one token request.
    /// - Throws: As ``grant(from:of:)``.
    public func grant(
        fromQuery query: String,
        of server: AuthorizationServer
    ) throws(OAuth2Error) -> AuthorizationCodeGrant {
        guard responseMode?.isSigned != true else {
            throw OAuth2Error(
                .protocolViolation,
                "a signed answer was asked for; read it with a verifier: grant(from:of:verifiedBy:)"
            )
        }
        let answer = try AuthorizationAnswer(query, limit: Self.maximumAnswerSize)
        // Whose answer it is comes first: nothing that a stranger says is believed, not even an error.
        try check(issuer: answer["iss"], server)
        return try grant(from: answer)
    }

    // MARK: Signed answers

    /// Reads the signed answer that a user's browser has brought back, to a request with ``ResponseMode/jwt`` or its like
    /// ([JARM §2.4](https://openid.net/specs/oauth-v2-jarm-final.html)).
    ///
    /// Only what is signed counts: by the server that was asked (`iss`), for this client (`aud`), for the present (`exp`), and to this
    /// request (`state`). An answer without a signature is refused, whatever it says.
    ///
    /// - Parameters:
    ///   - redirect: The URL that the browser asked for.
    ///   - server: Who was asked.
    ///   - verifier: Verifies the signature.
    /// - Returns: The grant, which is good for one token request.
    /// - Throws: As ``grant(from:of:)``; `protocolViolation` has a `TokenError` as its cause for a JWT that is not good. ``OAuth2Error``
    ///   as ``RemoteKeySet/keys()`` throws it if there are no keys; `CancellationError`.
    public func grant(
        from redirect: URL,
        of server: AuthorizationServer,
        verifiedBy verifier: AuthorizationResponseVerifier
    ) async throws -> AuthorizationCodeGrant {
        try await grant(fromQuery: try query(of: redirect), of: server, verifiedBy: verifier)
    }

    /// Reads the signed answer that has come to the request's redirect URI, for a service that knows it by its query, or the form of
    /// the response mode `form_post.jwt`, only.
    ///
    /// - Parameters:
    ///   - query: The query as it came, without the question mark; or the body of a form.
    ///   - server: Who was asked.
    ///   - verifier: Verifies the signature.
    /// - Returns: The grant, which is good for one token request.
    /// - Throws: As ``grant(from:of:verifiedBy:)``.
    public func grant(
        fromQuery query: String,
        of server: AuthorizationServer,
        verifiedBy verifier: AuthorizationResponseVerifier
    ) async throws -> AuthorizationCodeGrant {
        guard let response = try AuthorizationAnswer(query, limit: Self.maximumAnswerSize)["response"] else {
            throw OAuth2Error(.protocolViolation, "the answer is not signed, so that it may be anybody's; begin anew")
        }
        let claims = try await verifier.claims(of: response, issuer: server.issuer, clientID: clientID)
        return try grant(from: try AuthorizationAnswer(claims))
    }

    // MARK: What it says

    private func query(of redirect: URL) throws(OAuth2Error) -> String {
        let text = redirect.absoluteString
        guard Self.place(text) == Self.place(redirectURI) else {
            throw OAuth2Error(.protocolViolation, "the answer did not come to the request's redirect URI")
        }
        let query = text.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        return String(query.prefix { $0 != "#" })
    }

    private func grant(from answer: AuthorizationAnswer) throws(OAuth2Error) -> AuthorizationCodeGrant {
        guard let state = answer["state"], Secret(state) == Secret(self.state) else {
            throw OAuth2Error(
                .stateMismatch,
                "the answer is not to this request: its state is \(answer["state"] == nil ? "missing" : "another"). Begin anew"
            )
        }
        if let error = answer["error"] {
            throw OAuth2Error(
                authorizationError: error,
                description: answer["error_description"],
                uri: answer["error_uri"],
                hiding: SentSecrets(
                    [self.state, nonce ?? "", codeVerifier.value.expose { $0 }] + answer.credentials
                )
            )
        }
        for name in ["response", "access_token", "id_token"] where answer[name] != nil {
            throw OAuth2Error(.protocolViolation, "the answer has a “\(name)”, which was not asked for")
        }
        guard let code = answer["code"] else {
            throw OAuth2Error(.protocolViolation, "the answer has neither a code nor an error")
        }
        return AuthorizationCodeGrant(
            code: Secret(code),
            redirectURI: redirectURI,
            codeVerifier: codeVerifier,
            idToken: expectedIDToken
        )
    }

    private func check(issuer: String?, _ server: AuthorizationServer) throws(OAuth2Error) {
        guard let issuer else {
            guard server.namesItselfInResponses else { return }
            throw OAuth2Error(
                .issuerMismatch,
                "the answer does not name the server that it is of, and this server always does (RFC 9207)"
            )
        }
        guard issuer.utf8.elementsEqual(server.issuer.utf8) else {
            throw OAuth2Error(
                .issuerMismatch,
                "the answer is another server's than the one that was asked (RFC 9207); its code is sent to neither"
            )
        }
    }

    /// A URL without query and fragment; browsers make an empty path a slash.
    private static func place(_ url: String) -> String {
        let place = String(url.prefix { $0 != "?" && $0 != "#" })
        guard let authority = place.range(of: "://") else { return place }
        return place[authority.upperBound...].contains("/") ? place : place + "/"
    }
}

/// The parameters of an answer, none of them repeated.
private struct AuthorizationAnswer {
    private static let known = Set(
        [
            "code", "state", "iss", "error", "error_description", "error_uri", "response", "access_token", "id_token",
        ].map(ByteComparedString.init)
    )

    private var values: [String: String] = [:]

    init(_ query: String, limit: Int) throws(OAuth2Error) {
        guard query.utf8.count <= limit, let pairs = FormURLEncoded.decode(query) else {
            throw OAuth2Error(.protocolViolation, "the answer's query is malformed, or longer than \(limit) octets")
        }
        for pair in pairs where Self.known.contains(ByteComparedString(pair.name)) {
            guard values.updateValue(pair.value, forKey: pair.name) == nil else {
                throw OAuth2Error(.protocolViolation, "the answer has “\(pair.name)” several times")
            }
        }
    }

    /// Takes what a signed answer says.
    init(_ claims: JSONObject) throws(OAuth2Error) {
        for claim in claims where Self.known.contains(ByteComparedString(claim.name)) {
            guard let text = claim.value.string else {
                throw OAuth2Error(.protocolViolation, "“\(claim.name)” of the signed answer is no text")
            }
            values[claim.name] = text
        }
    }

    /// The values that may be credentials, although an error response has none.
    var credentials: [String] { ["code", "response", "access_token", "id_token"].compactMap { self[$0] } }

    /// A parameter; one without a value counts as missing.
    subscript(name: String) -> String? {
        values[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}

extension OAuth2Error {
    /// An error that the authorization endpoint answered
    /// ([RFC 6749 §4.1.2.1](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2.1)).
    fileprivate init(authorizationError: String, description: String?, uri: String?, hiding secrets: SentSecrets) {
        let serverCode = Self.printable(serverCode: authorizationError, hiding: secrets)
        let words = description.flatMap { Self.printable($0, limit: 256, hiding: secrets) }
        let (code, text) =
            switch serverCode {
            case "access_denied": (Code.authorizationDenied, "the user, or the server, has refused")
            case "server_error", "temporarily_unavailable":
                (Code.serverTransient, "the authorization endpoint has failed for the moment")
            default: (Code.requestRejected, "the authorization endpoint rejected the request")
            }
        self.init(code, text + (words.map { ": " + $0 } ?? ""), serverCode: serverCode)
        serverDescription = words
        serverURI = uri.flatMap { Self.link($0, hiding: secrets) }
    }
}
