import Foundation
import Networking
import TokenGeneration

extension OAuth2Error {
    /// Reads what an endpoint answered instead of what it was asked for.
    ///
    /// - Parameters:
    ///   - answer: The answer. Nothing of its body gets into the error but the server's words, without what it was sent.
    ///   - place: How the endpoint is called.
    ///   - secrets: What the error's text must not repeat.
    ///   - now: The present time, for a `Retry-After` that is a date.
    ///   - isOfClient: Whether the endpoint was asked who the client is, and not with an access token.
    ///   - isQuotable: Whether the server's words may be repeated: not if what it was sent is not known here.
    init(
        answer: ServerError,
        place: String,
        hiding secrets: SentSecrets,
        now: Date,
        isOfClient: Bool = false,
        isQuotable: Bool = true
    ) {
        // A server's answer may have in it what was sent; the cause goes without.
        let endpoint = answer.endpoint.flatMap { secrets.isFree($0) ? $0 : nil }
        let cause = ServerError(endpoint: endpoint, errorCode: answer.errorCode)
        let body = answer.response.flatMap { try? JSONObject(parsing: $0) }
        let challenges = answer.headers.values(for: "WWW-Authenticate").flatMap(AuthenticationChallenge.parse)
        // Some servers say what is wrong with a proof, or with a token, in a challenge only.
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
        } else if Self.isTransient(answer.errorCode) {
            self.init(
                .serverTransient,
                "\(place) has failed for the moment",
                status: answer.errorCode,
                cause: cause
            )
        } else if answer.errorCode == 401, isOfClient {
            // This holds for any body: nothing but the client was authenticated (RFC 6749 §5.2).
            self.init(
                .invalidClient,
                "\(place) does not accept the client's authentication; check id and key",
                status: answer.errorCode,
                cause: cause
            )
        } else if answer.errorCode == 401,
            challenges.contains(where: { $0.isOfScheme("Bearer") || $0.isOfScheme("DPoP") })
        {
            self.init(
                .accessTokenRejected,
                "\(place) does not accept the access token (any more)",
                status: answer.errorCode,
                cause: cause
            )
        } else {
            self.init(
                .protocolViolation,
                "\(place) answered \(answer.errorCode) without an OAuth 2 error; check the endpoint's URL",
                status: answer.errorCode,
                cause: cause
            )
        }
        if isQuotable {
            challenge = (challenges.first { $0.parameters["error"] != nil } ?? challenges.first)?.without(secrets)
        }
        hasNonce = answer.headers["DPoP-Nonce"] != nil
        if code == .serverTransient {
            retryAfter = RetryAfter.delay(
                answer.headers["Retry-After"],
                responseDate: answer.headers["Date"],
                now: now
            )
        }
    }

    /// Codes that a resource may answer ([RFC 6750 §3.1](https://www.rfc-editor.org/rfc/rfc6750#section-3.1),
    /// [RFC 9449 §7](https://www.rfc-editor.org/rfc/rfc9449#section-7)), and those of a server that fails.
    private static let commonCodes: Set = [
        "invalid_token", "insufficient_scope", "invalid_request", "use_dpop_nonce", "invalid_dpop_proof",
        "server_error", "temporarily_unavailable",
    ]
}

extension AuthenticationChallenge {
    /// The challenge without the parameters that have a secret in them, or are longer than any use; `nil` if its scheme has.
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
