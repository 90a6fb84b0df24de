import Foundation
import Networking
import TokenGeneration

/// A successful answer of a token endpoint ([RFC 6749 §5.1](https://www.rfc-editor.org/rfc/rfc6749#section-5.1)).
struct TokenResponse: Sendable {
    let accessToken: AccessToken
    /// How long the token lives, if the server said so.
    let lifetime: Duration?
    var refreshToken: Secret?
    /// All of the answer.
    let members: JSONObject

    /// Reads an answer with a status of 2xx.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - status: The status.
    ///   - requested: When the request was sent; the lifetime counts from then.
    ///   - proof: What the token is to be bound to; `nil` for a bearer token.
    ///   - insecurelyAcceptsBearerTokens: Whether a bearer token will do where it is to be bound.
    ///   - acceptsMissingType: Whether a token without a type counts as a bearer token.
    ///   - isExchange: Whether a token was exchanged, so that what was issued need not be an access token.
    ///   - secrets: What an error's text must not repeat.
    /// - Throws: ``OAuth2Error`` with the code `protocolViolation` or `unsupportedTokenType`.
    init(
        parsing body: Data,
        status: Int = 200,
        requested: ContinuousClock.Instant,
        proof: DPoPProofGenerator? = nil,
        insecurelyAcceptsBearerTokens: Bool = false,
        acceptsMissingType: Bool = false,
        isExchange: Bool = false,
        hiding secrets: SentSecrets = .none
    ) throws(OAuth2Error) {
        let object: JSONObject
        do { object = try JSONObject(parsing: body) } catch {
            throw OAuth2Error(
                .protocolViolation,
                "the token endpoint's answer is not a JSON object; check the endpoint's URL",
                status: status,
                cause: secrets.redacted(error)
            )
        }
        // Some servers report errors with status 200.
        if case .string(let error)? = object["error"], !error.isEmpty {
            throw OAuth2Error(
                serverCode: error,
                description: object["error_description"],
                uri: object["error_uri"],
                status: 200,
                hiding: secrets
            )
        }
        let isMissing = object["token_type"] == nil || object["token_type"] == .null
        guard let type = object["token_type"]?.string ?? (isMissing && acceptsMissingType ? AccessToken.bearer : nil)
        else {
            throw OAuth2Error(
                .protocolViolation,
                "the token endpoint's answer has no token_type; `omitsTokenType` of the server accepts that",
                status: status
            )
        }
        // What was exchanged for another kind of token need not fit into a header field.
        let isSent = !type.equalsIgnoringASCIICase(AccessToken.notApplicable)
        guard let value = object["access_token"]?.string, !value.isEmpty, !isSent || HTTPSyntax.isToken68(value[...])
        else {
            throw OAuth2Error(
                .protocolViolation,
                "the token endpoint's answer has no access_token that can be sent (RFC 6750 §2.1)",
                status: status
            )
        }
        let isBound = type.equalsIgnoringASCIICase("DPoP")
        // A token that is no access token has no type (RFC 8693 §2.2.1).
        let isAccepted =
            isBound
            ? proof != nil
            : type.equalsIgnoringASCIICase("Bearer") && (proof == nil || insecurelyAcceptsBearerTokens)
                || type.equalsIgnoringASCIICase(AccessToken.notApplicable) && isExchange
        guard isAccepted else {
            throw OAuth2Error(
                .unsupportedTokenType,
                "the token that was issued is of a type other than \(proof == nil ? "Bearer" : "DPoP"); it was dropped"
            )
        }
        lifetime = Self.lifetime(object["expires_in"])
        accessToken = AccessToken(
            value: Secret(value),
            type: type,
            scope: object["scope"]?.string,
            expiry: lifetime.map { requested + $0 },
            requested: requested,
            proofGenerator: isBound ? proof : nil
        )
        members = object
        refreshToken = object["refresh_token"]?.string.flatMap { $0.isEmpty ? nil : Secret($0) }
    }

    /// Servers send the number as an integer, with a fraction, or as a string.
    ///
    /// What can't be read counts as missing: to refuse the answer for it would lose the refresh token in it.
    static func lifetime(_ value: JSONValue?) -> Duration? {
        let seconds: Double?
        switch value {
        case .number(let number)?: seconds = number.double
        case .string(let text)?: seconds = Double(text)
        default: seconds = nil
        }
        guard let seconds, seconds.isFinite else { return nil }
        return .seconds(min(max(seconds, 0), Double(Int32.max)))
    }
}

extension OAuth2Error {
    /// An error that an endpoint answered ([RFC 6749 §5.2](https://www.rfc-editor.org/rfc/rfc6749#section-5.2)).
    init(
        serverCode: String,
        description: JSONValue?,
        uri: JSONValue? = nil,
        place: String = "the token endpoint",
        status: Int,
        hiding secrets: SentSecrets,
        cause: (any Error)? = nil
    ) {
        let serverCode = Self.printable(serverCode: serverCode, hiding: secrets)
        let words = description?.string.flatMap { Self.printable($0, limit: 256, hiding: secrets) }
        let (code, text) =
            switch serverCode {
            // Whatever an overloaded or failing server says, it is not about the grant.
            case _ where Self.isTransient(status), "temporarily_unavailable", "server_error":
                (Code.serverTransient, "\(place) has failed for the moment")
            case "invalid_client":
                (Code.invalidClient, "\(place) does not accept the client's authentication; check id and key")
            case "invalid_grant":
                (Code.reauthenticationRequired, "\(place) does not accept the grant (any more)")
            case "invalid_token":
                (Code.accessTokenRejected, "\(place) does not accept the access token (any more)")
            default:
                (Code.requestRejected, "\(place) rejected the request")
            }
        self.init(
            code,
            text + (words.map { ": \($0)" } ?? ""),
            serverCode: serverCode,
            status: status,
            cause: cause
        )
        serverDescription = words
        serverURI = uri?.string.flatMap { Self.link($0, hiding: secrets) }
    }

    /// Whether a status says that the same request may succeed later.
    static func isTransient(_ status: Int) -> Bool { status >= 500 || status == 429 }

    /// The error codes that decide what is done; none is a secret, even if a short one occurs in it.
    private static let registeredCodes: Set = [
        "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
        "invalid_scope",
        "invalid_target", "invalid_authorization_details", "invalid_token", "insufficient_scope", "access_denied",
        "authorization_pending", "slow_down", "expired_token", "use_dpop_nonce", "invalid_dpop_proof", "server_error",
        "temporarily_unavailable", "unsupported_response_type", "login_required", "consent_required",
        "interaction_required",
    ]

    /// The code of a server's error, fit for a line of a log.
    static func printable(serverCode: String, hiding secrets: SentSecrets) -> String {
        guard serverCode.utf8.count > 64 || !registeredCodes.contains(serverCode) else { return serverCode }
        return printable(serverCode, limit: 64, hiding: secrets) ?? SentSecrets.placeholder
    }

    /// The server's words about its error, without what could break a log line, and without the secrets that it was sent; `nil` if
    /// they can't be shown.
    static func printable(_ text: String, limit: Int, hiding secrets: SentSecrets) -> String? {
        secrets.redacted(text).map { text in
            String(text.unicodeScalars.prefix(limit).map { (0x20...0x7E).contains($0.value) ? Character($0) : "?" })
        }
    }

    /// A page about an error, if it is one on the web and repeats nothing that must not be shown.
    static func link(_ text: String, hiding secrets: SentSecrets) -> URL? {
        guard text.utf8.count <= 2_048, secrets.isFree(text), let url = URL(string: text), HTTPOrigin(url) != nil else {
            return nil
        }
        return url
    }
}
