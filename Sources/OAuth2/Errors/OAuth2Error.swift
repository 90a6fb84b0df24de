public import Foundation
public import Networking
import TokenGeneration

/// A failure to get or use a token.
///
/// An error's text never contains a token, secret or assertion. Errors are equal if their codes
/// are.
public struct OAuth2Error: Error, Sendable, RetryableError, UnchangedTokenError, Equatable, LoggableError {
    /// The kind of failure.
    public private(set) var code: Code
    /// A description of what failed and what to do about it, without secrets.
    public private(set) var message: String
    /// The registered error code in the server's response, such as `invalid_client`
    /// ([RFC 6749 §5.2](https://www.rfc-editor.org/rfc/rfc6749#section-5.2)).
    ///
    /// It's `nil` for another code, which is in ``serverText``.
    public let serverCode: String?
    /// The words of the server's response, which may repeat secrets of the request in any encoding.
    ///
    /// It's one line of at most 2,048 ASCII characters: an error code that isn't registered,
    /// `error_description`, `error_uri`, the `WWW-Authenticate` header fields, and what a parser
    /// quotes of a malformed response. No description, dump, log, event or recording shows it.
    ///
    /// ```swift
    /// // On purpose, for example at a terminal:
    /// print(error.serverText?.expose { $0 } ?? "the server wrote nothing")
    /// ```
    public internal(set) var serverText: Secret?
    /// The status code of the response, if there was one.
    public let status: Int?
    /// The error that caused this one.
    public private(set) var cause: (any Error)?
    /// The time the server asks the client to wait before it retries, if any
    /// ([RFC 9110 §10.2.3](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3)).
    public internal(set) var retryAfter: Duration?
    /// A Boolean value that indicates whether the response to a refresh was lost, and the new
    /// refresh token perhaps with it.
    ///
    /// Use it to tell a revoked grant from one that ended by accident.
    public internal(set) var isPossiblyLostRotation = false
    /// The resource's requirements, with the codes `stepUpRequired` and `insufficientScope`.
    public internal(set) var demand: ResourceDemand?
    var hasNonce = false
    var isAboutSentRequest = false
    /// A Boolean value that indicates whether a request wasn't sent because its time was over.
    var isTooLateToSend = false
    var isOfTokenExpiredInStore = false
    /// A Boolean value that indicates whether another host is refreshing the token meanwhile.
    var isOthersTurn = false
    var isSpentAssertion = false

    /// Creates an error.
    public init(
        _ code: Code,
        _ message: String,
        serverCode: String? = nil,
        status: Int? = nil,
        cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.serverCode = serverCode
        self.status = status
        self.cause = cause
    }

    func coded(_ code: Code) -> Self {
        var error = self
        error.code = code
        return error
    }

    /// This error, or the failure of the previous request if that's temporary.
    func following(_ previous: OAuth2Error?) -> Self {
        guard isSpentAssertion, let previous else { return self }
        // A temporary failure says when to try again, perhaps with a new assertion.
        guard !previous.isRetryable else { return previous }
        var error = self
        error.cause = previous
        return error
    }

    func adding(_ sentence: String) -> Self {
        var error = self
        error.message += "; " + sentence
        return error
    }

    /// A Boolean value that indicates whether the same request may succeed later, unchanged.
    ///
    /// For the codes `assertionFailed` and `grantFailed`, the cause decides.
    public var isRetryable: Bool {
        switch code {
        case .serverTransient, .serverUnreachable: true
        case .assertionFailed, .grantFailed: (cause as? any RetryableError)?.isRetryable ?? false
        default: false
        }
    }

    /// A Boolean value that indicates whether a wrapped source still has only an unwanted token.
    package var isUnchangedToken: Bool {
        code == .grantFailed && (cause as? any UnchangedTokenError)?.isUnchangedToken == true
    }

    /// The kind of failure.
    @nonexhaustive
    public enum Code: String, Sendable, CustomStringConvertible {
        /// The token endpoint denied the request; a changed request may succeed.
        case requestRejected
        /// The token endpoint rejected the client's authentication.
        case invalidClient
        /// The grant has ended, and the user must authenticate again.
        case reauthenticationRequired
        /// The token endpoint is overloaded or failing; a later request may succeed.
        case serverTransient
        /// The token endpoint couldn't be reached or didn't respond in time.
        case serverUnreachable
        /// The token endpoint's response isn't an OAuth 2 response.
        case protocolViolation
        /// The token endpoint issued a token of an unsupported type.
        case unsupportedTokenType
        /// A token or client credential would have been sent without TLS.
        case insecureTransport
        /// The resource rejected a token issued for this very request.
        case freshTokenRejected
        /// The resource rejects tokens as fast as they are refreshed.
        case excessiveRefresh
        /// The client's assertion, or other proof of its identity, couldn't be created.
        case assertionFailed
        /// The grant couldn't create its token request.
        case grantFailed
        /// The token store failed.
        case storeFailed
        /// The token store was locked for as long as getting a token may take.
        case storeBusy
        /// The token store didn't respond in time; the token endpoint isn't involved.
        case storeUnavailable
        /// The contents of the token store are corrupt or encrypted with another key.
        case storeDamaged
        /// The contents of the token store were written by a newer version of this package.
        case storeTooNew
        /// The request is malformed and wasn't sent.
        case malformedRequest
        /// The authorization response belongs to another request.
        case stateMismatch
        /// The user, or the server on the user's behalf, denied the authorization.
        case authorizationDenied
        /// The user didn't authorize the request in time.
        case authorizationExpired
        /// The authorization response can't be received on this machine.
        case receiverFailed
        /// The resource requires a new or stronger authentication of the user
        /// ([RFC 9470](https://www.rfc-editor.org/rfc/rfc9470)); see ``OAuth2Error/demand``.
        case stepUpRequired
        /// The resource requires a token with more scope
        /// ([RFC 6750 §3.1](https://www.rfc-editor.org/rfc/rfc6750#section-3.1));
        /// ``OAuth2Error/demand`` has it if the resource named it.
        case insufficientScope
        /// The resource requires a token, but its origin isn't one that the authenticator's
        /// ``ResourceRule`` covers, so that the request had none.
        case originNotCovered
        /// A server requires a nonce in DPoP proofs but sent none
        /// ([RFC 9449 §8](https://www.rfc-editor.org/rfc/rfc9449#section-8)).
        case missingNonce
        /// A server requires a new nonce in DPoP proofs but sent the one it just rejected.
        case repeatedNonce
        /// A server keeps requiring new nonces.
        case tooManyNonces
        /// A server rejected the DPoP proof; check the key, the clock and the URL.
        case proofRejected
        /// The issuer identifier isn't a URL that metadata can be fetched for.
        case invalidIssuer
        /// The response comes from an issuer other than the expected one.
        case issuerMismatch
        /// The server doesn't have the required endpoint, or its metadata doesn't list it.
        case endpointMissing
        /// The response describes another user than the requested one.
        case subjectMismatch
        /// The endpoint rejected the access token that the request carried.
        case accessTokenRejected

        /// A name from a bounded set, suitable as a metric label.
        public var description: String { rawValue }
    }

    /// Returns a Boolean value that indicates whether two errors have the same code.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }

    package var logText: String {
        let text = "\(code): \(message)"
        return logText(serverCode.map { "\(text) [\($0)]" } ?? text, cause: cause)
    }

    /// A request without a credential can't have one that the endpoint rejects.
    init(answer: ServerError, place: String, now: Date, credential: EndpointExchange.Credential?) {
        // The response may repeat secrets, so the cause doesn't include it.
        let cause = ServerError(endpoint: nil, errorCode: answer.errorCode)
        let body = answer.response.flatMap { try? JSONObject(parsing: $0) } ?? [:]
        let fields = answer.headers.values(for: "WWW-Authenticate")
        let challenges = fields.flatMap(AuthenticationChallenge.parse)
        // Some servers report a bad proof or token only in a challenge.
        let challenged = ["DPoP", "Bearer"].lazy.compactMap { scheme in
            challenges.first { $0.isOfScheme(scheme) && $0.parameters["error"] != nil }
        }.first
        if let serverCode = body["error"]?.string ?? challenged?.parameters["error"], !serverCode.isEmpty {
            self.init(
                serverCode: serverCode,
                members: body,
                place: place,
                status: answer.errorCode,
                credential: credential,
                cause: cause
            )
        } else {
            // A 401 rejects the request's credential, with any body and without a challenge, too.
            let (code, text) =
                if Self.isTransient(answer.errorCode) {
                    (Code.serverTransient, "has failed temporarily")
                } else if answer.errorCode == 401, let credential {
                    credential.rejection
                } else {
                    (
                        Code.protocolViolation,
                        "responded with \(answer.errorCode) and no OAuth 2 error; check the endpoint's URL"
                    )
                }
            self.init(code, "\(place) \(text)", status: answer.errorCode, cause: cause)
        }
        if credential == nil, code != .serverTransient { code = .protocolViolation }
        serverText = Self.serverText(challenges: fields) { body[$0]?.string }
        hasNonce = answer.headers["DPoP-Nonce"] != nil
        if code == .serverTransient { retryAfter = Self.retryAfter(answer, now: now) }
    }

    static func retryAfter(_ answer: ServerError, now: Date) -> Duration? {
        RetryAfter.delay(answer.headers["Retry-After"], responseDate: answer.headers["Date"], now: now)
    }
}

extension OAuth2Error: CustomStringConvertible, LocalizedError {
    /// A text for people: the code, the message, the server's registered error code and the cause.
    public var description: String {
        var text = "\(code): \(message)"
        if let serverCode { text += " [\(serverCode)]" }
        if let cause { text += " (\(cause))" }
        return text
    }

    /// The same text for Foundation's error APIs.
    public var errorDescription: String? { description }
}

extension TokenError: LoggableError {
    package var logText: String { logText("\(code): \(message)", cause: cause) }
}
