import Networking
import TokenGeneration

/// The meaning of an authorization server's error, and the rule for its text: an error shows only
/// registered codes and its own words, because a server may repeat the secrets of a request.
extension OAuth2Error {
    private static let registeredCodes = [
        // RFC 6749 §4.1.2.1 and §5.2
        "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
        "invalid_scope", "access_denied", "unsupported_response_type", "server_error", "temporarily_unavailable",
        // RFC 6750, RFC 7009, RFC 7591, RFC 8628, RFC 8707
        "invalid_token", "insufficient_scope", "unsupported_token_type", "invalid_redirect_uri",
        "invalid_client_metadata", "invalid_software_statement", "unapproved_software_statement",
        "authorization_pending", "slow_down", "expired_token", "invalid_target",
        // RFC 9101, RFC 9396, RFC 9449, RFC 9470
        "invalid_request_uri", "invalid_request_object", "request_not_supported", "request_uri_not_supported",
        "invalid_authorization_details", "use_dpop_nonce", "invalid_dpop_proof", "insufficient_user_authentication",
        // OpenID Connect Core, Registration and Unmet Authentication Requirements
        "interaction_required", "login_required", "account_selection_required", "consent_required",
        "registration_not_supported", "unmet_authentication_requirements",
        // OpenID Connect Client-Initiated Backchannel Authentication
        "expired_login_hint_token", "unknown_user_id", "missing_user_code", "invalid_user_code",
        "invalid_binding_message", "transaction_failed",
        // Not registered, but in use: drafts of RFC 8707, Microsoft Entra, GitHub
        "invalid_resource", "insufficient_claims", "incorrect_client_credentials", "bad_refresh_token",
        "bad_verification_code", "redirect_uri_mismatch",
    ]

    private static let serverTextLimit = 2_048

    /// Returns the package's own copy of a registered code.
    static func registered(_ code: String) -> String? { registeredCodes.first { code.isExactly($0) } }

    /// [RFC 6749 §5.2](https://www.rfc-editor.org/rfc/rfc6749#section-5.2).
    init(
        serverCode: String,
        members: JSONObject,
        place: String = "the token endpoint",
        status: Int,
        credential: EndpointExchange.Credential? = nil,
        cause: (any Error)? = nil
    ) {
        let serverCode = Self.registered(serverCode)
        let (code, text) =
            switch serverCode {
            // The error code of an overloaded or failing server isn't about the grant.
            case _ where Self.isTransient(status), "temporarily_unavailable", "server_error":
                (Code.serverTransient, "has failed temporarily")
            // GitHub has other codes for a client that isn't authenticated, and a grant that isn't
            // valid.
            case "invalid_client", "incorrect_client_credentials":
                EndpointExchange.Credential.client.rejection
            case "invalid_grant", "bad_refresh_token", "bad_verification_code":
                (Code.reauthenticationRequired, "rejects the grant; it may have expired or been revoked")
            case "invalid_token":
                (credential == .missingToken ? .missingToken : EndpointExchange.Credential.accessToken).rejection
            // Auth0 and Spring Authorization Server send other codes.
            case nil where status == 401 && credential != nil, "access_denied" where status == 401:
                (credential ?? .client).rejection
            default:
                (Code.requestRejected, "rejected the request")
            }
        self.init(code, "\(place) \(text)", serverCode: serverCode, status: status, cause: cause)
        serverText = Self.serverText { members[$0]?.string }
    }

    static func isTransient(_ status: Int) -> Bool { status >= 500 || status == 429 }

    /// Creates an error about a response that isn't valid.
    ///
    /// A `TokenError` quotes names and values of the response, so the cause has only its own words.
    init(_ code: Code, _ message: String, status: Int? = nil, response error: TokenError) {
        let cause = error.withoutQuotes
        self.init(code, message, status: status, cause: cause)
        if cause.message != error.message { serverText = Self.serverText(of: [("response", error.message)]) }
    }

    /// Returns the members of an error response in one line, without a code that the error shows.
    static func serverText(challenges: [String] = [], _ member: (String) -> String? = { _ in nil }) -> Secret? {
        let members = ["error", "error_description", "error_uri"].map { name in
            (name, member(name).flatMap { name == "error" && registered($0) != nil ? nil : $0 } ?? "")
        }
        return serverText(of: members + challenges.map { ("WWW-Authenticate", $0) })
    }

    static func serverText(of parts: [(name: String, value: String)]) -> Secret? {
        let texts = parts.filter { !$0.value.isEmpty }.map { part in
            "\(part.name): \(printable(part.value, limit: serverTextLimit))"
        }
        return texts.isEmpty ? nil : Secret(String(texts.joined(separator: "; ").prefix(serverTextLimit)))
    }

    /// Returns a text in one line of ASCII characters.
    static func printable(_ text: String, limit: Int) -> String {
        String(text.unicodeScalars.prefix(limit).map { (0x20...0x7E).contains($0.value) ? Character($0) : "?" })
    }
}

extension TokenError {
    /// The header parameters and claims that are shown although a message quotes them.
    private static let registeredNames: Set = [
        "alg", "typ", "cty", "kid", "crit", "enc", "zip", "iss", "sub", "aud", "exp", "nbf", "iat", "jti", "nonce",
        "azp", "auth_time", "at_hash", "c_hash", "s_hash", "acr", "amr", "token_introspection",
    ]

    /// The error without the names and values that it quotes, which a peer may have written.
    fileprivate var withoutQuotes: Self {
        // Quoted text of a peer has only ASCII characters, so it can't end the quotes.
        let parts = message.split(separator: "“", omittingEmptySubsequences: false).enumerated().map { index, part in
            guard index > 0, let end = part.firstIndex(of: "”") else { return String(part) }
            let name = part[..<end]
            return "“\(Self.registeredNames.contains(String(name)) ? name : "…")" + part[end...]
        }
        // The cause of a failed check is the application's.
        return Self(code, parts.joined(), cause: code == .checkFailed ? cause : nil)
    }
}
