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
    ///   - requested: When the request was sent; the lifetime counts from then.
    /// - Throws: ``OAuth2Error`` with the code `protocolViolation` or `unsupportedTokenType`.
    init(parsing body: Data, requested: ContinuousClock.Instant) throws(OAuth2Error) {
        let object: JSONObject
        do { object = try JSONObject(parsing: body) } catch {
            throw OAuth2Error(
                .protocolViolation,
                "the token endpoint's answer is not a JSON object; check the endpoint's URL",
                cause: error
            )
        }
        // Some servers report errors with status 200.
        if case .string(let error)? = object["error"] {
            throw OAuth2Error(serverCode: error, description: object["error_description"], status: 200)
        }
        guard case .string(let value)? = object["access_token"], !value.isEmpty, HTTPSyntax.isFieldValue(value) else {
            throw OAuth2Error(.protocolViolation, "the token endpoint's answer has no access_token that can be sent")
        }
        guard case .string(let type)? = object["token_type"] else {
            throw OAuth2Error(.protocolViolation, "the token endpoint's answer has no token_type")
        }
        guard type.equalsIgnoringASCIICase("Bearer") else {
            throw OAuth2Error(
                .unsupportedTokenType,
                "the token endpoint issued a token of a type other than Bearer; the token was dropped"
            )
        }
        lifetime = try Self.lifetime(object["expires_in"])
        accessToken = AccessToken(
            value: Secret(value),
            type: type,
            scope: object["scope"]?.string,
            expiry: lifetime.map { requested + $0 },
            requested: requested
        )
        refreshToken = object["refresh_token"]?.string.flatMap { $0.isEmpty ? nil : Secret($0) }
    }

    /// Servers send the number as an integer, with a fraction, or as a string.
    private static func lifetime(_ value: JSONValue?) throws(OAuth2Error) -> Duration? {
        let seconds: Double?
        switch value {
        case nil, .null?: return nil
        case .number(let number)?: seconds = number.double
        case .string(let text)?: seconds = Double(text)
        default: seconds = nil
        }
        guard let seconds, seconds.isFinite else {
            throw OAuth2Error(.protocolViolation, "the token endpoint's expires_in is not a number of seconds")
        }
        return .seconds(min(max(seconds, 0), Double(Int32.max)))
    }
}

extension OAuth2Error {
    /// An error that the token endpoint answered ([RFC 6749 §5.2](https://www.rfc-editor.org/rfc/rfc6749#section-5.2)).
    init(serverCode: String, description: JSONValue?, status: Int) {
        let serverCode = Self.printable(serverCode, limit: 64)
        let words = description?.string.map { ": " + Self.printable($0, limit: 256) } ?? ""
        let (code, text) =
            switch serverCode {
            case "invalid_client":
                (Code.invalidClient, "the token endpoint does not accept the client's authentication; check id and key")
            case "invalid_grant":
                (Code.reauthenticationRequired, "the token endpoint does not accept the grant (any more)")
            case "temporarily_unavailable", "server_error":
                (Code.serverTransient, "the token endpoint has failed for the moment")
            default:
                (Code.requestRejected, "the token endpoint rejected the request")
            }
        self.init(status >= 500 ? .serverTransient : code, text + words, serverCode: serverCode, status: status)
    }

    /// What a server says of its error, without what could break a log line.
    private static func printable(_ text: String, limit: Int) -> String {
        String(text.unicodeScalars.prefix(limit).map { (0x20...0x7E).contains($0.value) ? Character($0) : "?" })
    }
}
