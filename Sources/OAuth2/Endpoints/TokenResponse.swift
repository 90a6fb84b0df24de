import Foundation
import Networking
import OpenSSLCrypto
import TokenGeneration

/// [RFC 6749 §5.1](https://www.rfc-editor.org/rfc/rfc6749#section-5.1).
struct TokenResponse: Sendable {
    let accessToken: AccessToken
    let lifetime: Duration?
    var refreshToken: Secret?
    let members: JSONObject

    init(
        parsing body: Data,
        status: Int = 200,
        requested: ContinuousClock.Instant,
        proof: DPoPProofGenerator? = nil,
        insecurelyAcceptsBearerTokens: Bool = false,
        acceptsMissingType: Bool = false,
        isExchange: Bool = false,
        requestedType: String? = nil,
        hiding secrets: SentSecrets = .none
    ) throws(OAuth2Error) {
        let object: JSONObject
        do { object = try JSONObject(parsing: body) } catch {
            throw OAuth2Error(
                .protocolViolation,
                "the token endpoint's response isn't a JSON object; check the endpoint's URL",
                status: status,
                cause: secrets.redacted(error)
            )
        }
        // Some servers report errors with status code 200.
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
                "the token endpoint's response has no token_type; set the server's `omitsTokenType` to accept it",
                status: status
            )
        }
        // A token of another type from a token exchange doesn't have to fit into a header field.
        let isSent = !type.equalsIgnoringASCIICase(AccessToken.notApplicable)
        guard let value = object["access_token"]?.string, !value.isEmpty, !isSent || HTTPSyntax.isToken68(value[...])
        else {
            throw OAuth2Error(
                .protocolViolation,
                "the token endpoint's response has no usable access_token (RFC 6750 §2.1)",
                status: status
            )
        }
        let isBound = type.equalsIgnoringASCIICase("DPoP")
        // A token that isn't an access token has the type N_A (RFC 8693 §2.2.1).
        let isAccepted =
            isBound
            ? proof != nil
            : type.equalsIgnoringASCIICase("Bearer") && (proof == nil || insecurelyAcceptsBearerTokens)
                || type.equalsIgnoringASCIICase(AccessToken.notApplicable) && isExchange
        guard isAccepted else {
            throw OAuth2Error(
                .unsupportedTokenType,
                "the issued token isn't of the type \(proof == nil ? "Bearer" : "DPoP"), so it was discarded"
            )
        }
        if isExchange {
            guard let issuedType = object["issued_token_type"]?.string else {
                throw OAuth2Error(
                    .protocolViolation,
                    "the response to a token exchange has no issued_token_type (RFC 8693 §2.2.1)",
                    status: status
                )
            }
            guard requestedType.map(issuedType.isExactly) ?? true else {
                throw OAuth2Error(
                    .unsupportedTokenType,
                    "the issued_token_type isn't the requested type, so the token was discarded"
                )
            }
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

    /// An invalid value counts as missing, because an error would lose the refresh token.
    static func lifetime(_ value: JSONValue?) -> Duration? {
        let seconds: Double?
        switch value {
        case .number(let number)?: seconds = number.double
        case .string(let text)?: seconds = Double(text)
        default: seconds = nil
        }
        guard let seconds, seconds.isFinite else { return nil }
        return Duration(clampingSeconds: min(max(seconds, 0), Double(Int32.max)))
    }
}

extension OAuth2Error {
    /// [RFC 6749 §5.2](https://www.rfc-editor.org/rfc/rfc6749#section-5.2).
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
            // The error code of an overloaded or failing server isn't about the grant.
            case _ where Self.isTransient(status), "temporarily_unavailable", "server_error":
                (Code.serverTransient, "\(place) has failed temporarily")
            // Auth0 and GitHub have other codes for a client that isn't authenticated, and GitHub
            // for a grant that isn't valid.
            case "invalid_client", "incorrect_client_credentials",
                "access_denied" where status == 401:
                (Code.invalidClient, "\(place) rejects the client's authentication; check the client ID and key")
            case "invalid_grant", "bad_refresh_token", "bad_verification_code":
                (Code.reauthenticationRequired, "\(place) rejects the grant; it may have expired or been revoked")
            case "invalid_token":
                (Code.accessTokenRejected, "\(place) rejects the access token; it may have expired or been revoked")
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

    static func isTransient(_ status: Int) -> Bool { status >= 500 || status == 429 }

    /// The registered codes and those of GitHub, shown even if they contain a short secret.
    private static let registeredCodes: Set = [
        "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
        "invalid_scope",
        "invalid_target", "invalid_authorization_details", "invalid_token", "insufficient_scope", "access_denied",
        "authorization_pending", "slow_down", "expired_token", "use_dpop_nonce", "invalid_dpop_proof", "server_error",
        "temporarily_unavailable", "unsupported_response_type", "login_required", "consent_required",
        "interaction_required", "incorrect_client_credentials", "bad_refresh_token", "bad_verification_code",
    ]

    static func printable(serverCode: String, hiding secrets: SentSecrets) -> String {
        guard serverCode.utf8.count > 64 || !registeredCodes.contains(serverCode) else { return serverCode }
        return printable(serverCode, limit: 64, hiding: secrets) ?? SentSecrets.placeholder
    }

    /// Returns a server's text in one line and without secrets, or `nil` if it can't be shown.
    static func printable(_ text: String, limit: Int, hiding secrets: SentSecrets) -> String? {
        secrets.redacted(text).map { text in
            String(text.unicodeScalars.prefix(limit).map { (0x20...0x7E).contains($0.value) ? Character($0) : "?" })
        }
    }

    /// Returns the URL of a web page about an error, if it's valid and contains no secrets.
    static func link(_ text: String, hiding secrets: SentSecrets) -> URL? {
        guard text.utf8.count <= 2_048, secrets.isFree(text), let url = URL(string: text), HTTPOrigin(url) != nil else {
            return nil
        }
        return url
    }
}

/// The tokens that a token endpoint has issued, completely usable or not.
enum TokenAnswer: Sendable {
    case tokens(TokenResponse)
    /// Only the refresh token is usable, which may have replaced the one that was sent.
    case refreshTokenOnly(Secret, OAuth2Error)

    /// Returns the tokens, for callers that can't keep a refresh token alone.
    func tokens() throws(OAuth2Error) -> TokenResponse {
        switch self {
        case .tokens(let response): return response
        case .refreshTokenOnly(_, let error): throw error
        }
    }

    /// If the text isn't JSON, it's searched for the token once, so that a number that the parser
    /// can't read doesn't end the grant.
    static func refreshToken(in body: Data) -> Secret? {
        let object = try? JSONObject(parsing: body)
        guard let text = (object ?? member(of: body))?[memberName]?.string, !text.isEmpty else { return nil }
        return Secret(text)
    }

    private static let memberName = "refresh_token"

    /// Returns an object with the one member from its raw bytes, or `nil` if it isn't there once.
    private static func member(of body: Data) -> JSONObject? {
        let name = Data(#""\#(memberName)""#.utf8)
        guard let found = body.range(of: name), body[found.upperBound...].range(of: name) == nil else { return nil }
        var rest = body[found.upperBound...].drop(while: isSpace)
        guard rest.first == UInt8(ascii: ":") else { return nil }
        rest = rest.dropFirst().drop(while: isSpace)
        guard rest.first == UInt8(ascii: "\"") else { return nil }
        var isEscaped = false
        for (index, octet) in zip(rest.indices, rest).dropFirst() {
            if isEscaped {
                isEscaped = false
            } else if octet == UInt8(ascii: "\\") {
                isEscaped = true
            } else if octet == UInt8(ascii: "\"") {
                let text = Data("{".utf8) + name + Data(":".utf8) + rest[...index] + Data("}".utf8)
                return try? JSONObject(parsing: text)
            }
        }
        return nil
    }

    private static func isSpace(_ octet: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(octet) }
}
