import Foundation
import Networking
import TokenGeneration

/// A successful answer of a token endpoint ([RFC 6749 §5.1](https://www.rfc-editor.org/rfc/rfc6749#section-5.1)).
struct TokenResponse: Sendable {
    let accessToken: AccessToken
    /// How long the token lives, if the server said so.
    let lifetime: Duration?
    let refreshToken: Secret?

    /// Reads an answer with a status of 2xx.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - status: The status.
    ///   - requested: When the request was sent; the lifetime counts from then.
    ///   - proof: What the token is to be bound to; `nil` for a bearer token.
    ///   - insecurelyAcceptsBearerTokens: Whether a bearer token will do where it is to be bound.
    ///   - secrets: What an error's text must not repeat.
    /// - Throws: ``OAuth2Error`` with the code `protocolViolation` or `unsupportedTokenType`.
    init(
        parsing body: Data,
        status: Int = 200,
        requested: ContinuousClock.Instant,
        proof: DPoPProofGenerator? = nil,
        insecurelyAcceptsBearerTokens: Bool = false,
        hiding secrets: [String] = []
    ) throws(OAuth2Error) {
        let object: JSONObject
        do { object = try JSONObject(parsing: body) } catch {
            throw OAuth2Error(
                .protocolViolation,
                "the token endpoint's answer is not a JSON object; check the endpoint's URL",
                status: status,
                cause: error
            )
        }
        // Some servers report errors with status 200.
        if case .string(let error)? = object["error"], !error.isEmpty {
            throw OAuth2Error(
                serverCode: error,
                description: object["error_description"],
                status: 200,
                hiding: secrets
            )
        }
        guard case .string(let value)? = object["access_token"], !value.isEmpty, HTTPSyntax.isFieldValue(value) else {
            throw OAuth2Error(
                .protocolViolation,
                "the token endpoint's answer has no access_token that can be sent",
                status: status
            )
        }
        guard case .string(let type)? = object["token_type"] else {
            throw OAuth2Error(.protocolViolation, "the token endpoint's answer has no token_type", status: status)
        }
        let isBound = type.equalsIgnoringASCIICase("DPoP")
        let isAccepted =
            isBound
            ? proof != nil : type.equalsIgnoringASCIICase("Bearer") && (proof == nil || insecurelyAcceptsBearerTokens)
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
        refreshToken = object["refresh_token"]?.string.flatMap { $0.isEmpty ? nil : Secret($0) }
    }

    /// Servers send the number as an integer, with a fraction, or as a string.
    ///
    /// What can't be read counts as missing: to refuse the answer for it would lose the refresh token in it.
    private static func lifetime(_ value: JSONValue?) -> Duration? {
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
        place: String = "the token endpoint",
        status: Int,
        hiding secrets: [String],
        cause: (any Error)? = nil
    ) {
        let serverCode = Self.printable(serverCode, limit: 64, hiding: secrets)
        let words = description?.string.map { ": " + Self.printable($0, limit: 256, hiding: secrets) } ?? ""
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
        self.init(code, text + words, serverCode: serverCode, status: status, cause: cause)
    }

    /// Whether a status says that the same request may succeed later.
    static func isTransient(_ status: Int) -> Bool { status >= 500 || status == 429 }

    /// What a server says of its error, without what could break a log line, and without the secrets that it was sent.
    private static func printable(_ text: String, limit: Int, hiding secrets: [String]) -> String {
        var text = text
        for secret in secrets where !secret.isEmpty {
            text = text.replacingOccurrences(of: secret, with: "<redacted>")
        }
        return String(text.unicodeScalars.prefix(limit).map { (0x20...0x7E).contains($0.value) ? Character($0) : "?" })
    }
}
