import Foundation
import Networking
import TokenGeneration

extension OAuth2Error {
    /// Creates an error from an endpoint's error response, whose error texts get into it without
    /// the secrets that the server was sent.
    ///
    /// An endpoint that isn't `isOfClient` takes an access token. The server may not be quoted if
    /// the secrets that it was sent are unknown.
    init(
        answer: ServerError,
        place: String,
        hiding secrets: SentSecrets,
        now: Date,
        isOfClient: Bool = false,
        isQuotable: Bool = true
    ) {
        // The response may repeat secrets, so the cause doesn't include it.
        let endpoint = answer.endpoint.flatMap { secrets.isFree($0) ? $0 : nil }
        let cause = ServerError(endpoint: endpoint, errorCode: answer.errorCode)
        let body = answer.response.flatMap { try? JSONObject(parsing: $0) }
        let challenges = answer.headers.values(for: "WWW-Authenticate").flatMap(AuthenticationChallenge.parse)
        // Some servers report a bad proof or token only in a challenge.
        let challenged = ["DPoP", "Bearer"].lazy.compactMap { scheme in
            challenges.first { $0.isOfScheme(scheme) && $0.parameters["error"] != nil }
        }.first
        if let serverCode = body?["error"]?.string ?? challenged?.parameters["error"], !serverCode.isEmpty,
            isQuotable || Self.commonCodes.contains(serverCode.asciiOnly)
        {
            self.init(
                serverCode: serverCode,
                description: !isQuotable
                    ? nil
                    : body?["error_description"] ?? challenged?.parameters["error_description"].map(JSONValue.string),
                uri: isQuotable ? body?["error_uri"] : nil,
                place: place,
                status: answer.errorCode,
                hiding: secrets,
                cause: cause
            )
        } else {
            let isUnauthorized = answer.errorCode == 401
            let isOfResource = challenges.contains { $0.isOfScheme("Bearer") || $0.isOfScheme("DPoP") }
            let (code, text) =
                if Self.isTransient(answer.errorCode) {
                    (Code.serverTransient, "has failed temporarily")
                } else if isUnauthorized, isOfClient {
                    // This holds for any body: only the client was authenticated (RFC 6749 §5.2).
                    (Code.invalidClient, "rejects the client's authentication; check the client ID and key")
                } else if isUnauthorized, isOfResource {
                    (Code.accessTokenRejected, "rejects the access token; it may have expired or been revoked")
                } else {
                    (
                        Code.protocolViolation,
                        "responded with \(answer.errorCode) and no OAuth 2 error; check the endpoint's URL"
                    )
                }
            self.init(code, "\(place) \(text)", status: answer.errorCode, cause: cause)
        }
        if isQuotable {
            challenge = (challenges.first { $0.parameters["error"] != nil } ?? challenges.first)?.without(secrets)
        }
        hasNonce = answer.headers["DPoP-Nonce"] != nil
        if code == .serverTransient { retryAfter = Self.retryAfter(answer, now: now) }
    }

    /// Returns the time that a response asks the client to wait.
    static func retryAfter(_ answer: ServerError, now: Date) -> Duration? {
        RetryAfter.delay(answer.headers["Retry-After"], responseDate: answer.headers["Date"], now: now)
    }

    /// The error codes of resources
    /// ([RFC 6750 §3.1](https://www.rfc-editor.org/rfc/rfc6750#section-3.1),
    /// [RFC 9449 §7](https://www.rfc-editor.org/rfc/rfc9449#section-7)) and of failing servers.
    private static let commonCodes: Set = [
        "invalid_token", "insufficient_scope", "invalid_request", "use_dpop_nonce", "invalid_dpop_proof",
        "server_error", "temporarily_unavailable",
    ]
}

extension AuthenticationChallenge {
    /// Returns the challenge without parameters that contain a secret or exceed 2,048 bytes; `nil`
    /// if its scheme contains one.
    func without(_ secrets: SentSecrets) -> Self? {
        let parameters = parameters.filter { $0.value.utf8.count <= 2_048 }.sorted { $0.key < $1.key }
        let token = token68.flatMap { $0.utf8.count <= 2_048 ? $0 : nil }
        let values = secrets.areFree(parameters.map(\.value) + [token ?? ""])
        let names = secrets.foldingCase.areFree(parameters.map(\.key) + [scheme])
        guard names.last == true else { return nil }
        return Self(
            scheme: scheme,
            token68: values.last == true ? token : nil,
            parameters: Dictionary(
                uniqueKeysWithValues: zip(parameters, zip(names, values)).filter { $0.1.0 && $0.1.1 }
                    .map { ($0.0.key, $0.0.value) }
            )
        )
    }
}
