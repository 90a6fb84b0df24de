public import Foundation
public import Networking

/// What went wrong with getting or using a token.
///
/// The texts of an error never contain a token, a secret or an assertion. Two errors are equal if their codes are.
public struct OAuth2Error: Error, Sendable {
    /// What kind of failure it is.
    public private(set) var code: Code
    /// What failed, and what to do about it.
    public let message: String
    /// The error code the server answered, such as `invalid_client`
    /// ([RFC 6749 §5.2](https://www.rfc-editor.org/rfc/rfc6749#section-5.2)).
    public let serverCode: String?
    /// The server's description of its error, for developers: at most 256 printable characters, without the secrets that it
    /// was sent in any encoding; `nil` if they could not be told apart.
    public internal(set) var serverDescription: String?
    /// Where the server says more of its error: `error_uri`.
    public internal(set) var serverURI: URL?
    /// The HTTP status of the answer, if there was one.
    public let status: Int?
    /// The error that caused this one.
    public let cause: (any Error)?
    /// How long the server asks to be left alone, if it does
    /// ([RFC 9110 §10.2.3](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3)).
    public internal(set) var retryAfter: Duration?
    /// Whether a refresh token was sent and the answer to it lost, so that its successor may be lost, too.
    ///
    /// It tells a grant that somebody has ended from one that an accident has ended.
    public internal(set) var isPossiblyLostRotation = false
    /// What the resource asks for, with the codes `stepUpRequired` and `insufficientScope`.
    public internal(set) var demand: ResourceDemand?
    /// The challenge that came with the answer, of the scheme that it is about, without what repeats a secret.
    public internal(set) var challenge: AuthenticationChallenge?
    /// Whether the answer had a nonce for the next DPoP proof.
    var hasNonce = false
    /// A Boolean value that indicates whether a token request was sent that the server may have acted on.
    var isAboutSentRequest = false

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: What kind of failure it is.
    ///   - message: What failed, and what to do about it. Put no secret into it.
    ///   - serverCode: The error code the server answered.
    ///   - status: The HTTP status of the answer.
    ///   - cause: The error that caused this one.
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

    /// The same failure under another code.
    func coded(_ code: Code) -> Self {
        var error = self
        error.code = code
        return error
    }

    /// Whether the same request may succeed later without anybody changing anything.
    public var isRetryable: Bool {
        [.serverTransient, .serverUnreachable].contains(code)
    }
}

extension OAuth2Error {
    /// What kind of failure it is.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Wrapped: String {
            case requestRejected, invalidClient, reauthenticationRequired, serverTransient, serverUnreachable
            case protocolViolation, unsupportedTokenType, insecureTransport, freshTokenRejected, excessiveRefresh
            case assertionFailed, grantFailed, storeFailed, storeBusy, storeUnavailable, storeDamaged, storeTooNew
            case malformedRequest, stateMismatch, authorizationDenied, authorizationExpired, receiverFailed
            case stepUpRequired, insufficientScope, missingNonce, repeatedNonce, tooManyNonces, proofRejected
            case invalidIssuer, issuerMismatch, endpointMissing, subjectMismatch, accessTokenRejected
        }

        private let wrapped: Wrapped

        private init(_ wrapped: Wrapped) {
            self.wrapped = wrapped
        }

        /// A bounded name, fit for a metric's label.
        public var description: String { wrapped.rawValue }

        /// The token endpoint refused the request for a reason that a change of the request could mend.
        public static var requestRejected: Self { Self(.requestRejected) }
        /// The token endpoint did not accept the client's authentication.
        public static var invalidClient: Self { Self(.invalidClient) }
        /// The grant has ended: somebody has to authenticate again.
        public static var reauthenticationRequired: Self { Self(.reauthenticationRequired) }
        /// The token endpoint is overloaded or has failed; later it may work.
        public static var serverTransient: Self { Self(.serverTransient) }
        /// The token endpoint could not be reached, or did not answer in time.
        public static var serverUnreachable: Self { Self(.serverUnreachable) }
        /// The token endpoint answered something that is not an OAuth 2 response.
        public static var protocolViolation: Self { Self(.protocolViolation) }
        /// The token endpoint issued a token of a kind that can't be used here.
        public static var unsupportedTokenType: Self { Self(.unsupportedTokenType) }
        /// A token or a client's credential was about to be sent without TLS.
        public static var insecureTransport: Self { Self(.insecureTransport) }
        /// The resource refuses a token that was issued just for this request.
        public static var freshTokenRejected: Self { Self(.freshTokenRejected) }
        /// Tokens are refused as fast as they are refreshed.
        public static var excessiveRefresh: Self { Self(.excessiveRefresh) }
        /// The client's assertion, or other proof of who it is, could not be made.
        public static var assertionFailed: Self { Self(.assertionFailed) }
        /// The grant could not say what to ask the token endpoint for.
        public static var grantFailed: Self { Self(.grantFailed) }
        /// The token store failed.
        public static var storeFailed: Self { Self(.storeFailed) }
        /// Others had the token store to themselves for as long as getting a token may take.
        public static var storeBusy: Self { Self(.storeBusy) }
        /// The token store did not answer in time; the token endpoint is not to blame.
        public static var storeUnavailable: Self { Self(.storeUnavailable) }
        /// What is in the token store is not what was put there, or is encrypted with another key.
        public static var storeDamaged: Self { Self(.storeDamaged) }
        /// What is in the token store was written by a newer version of this package.
        public static var storeTooNew: Self { Self(.storeTooNew) }
        /// What was to be asked for is malformed; nothing was sent.
        public static var malformedRequest: Self { Self(.malformedRequest) }
        /// The answer to an authorization request is to another request than this one.
        public static var stateMismatch: Self { Self(.stateMismatch) }
        /// The user, or the server in the user's place, has refused to grant what was asked for.
        public static var authorizationDenied: Self { Self(.authorizationDenied) }
        /// The user did not grant what was asked for in the time that there was for it.
        public static var authorizationExpired: Self { Self(.authorizationExpired) }
        /// The answer to an authorization request can't be received on this machine.
        public static var receiverFailed: Self { Self(.receiverFailed) }
        /// The resource wants the user to authenticate anew, or more strongly
        /// ([RFC 9470](https://www.rfc-editor.org/rfc/rfc9470)); ``OAuth2Error/demand`` says how.
        public static var stepUpRequired: Self { Self(.stepUpRequired) }
        /// The resource wants a token of more scope ([RFC 6750 §3.1](https://www.rfc-editor.org/rfc/rfc6750#section-3.1));
        /// ``OAuth2Error/demand`` says which, if the resource did.
        public static var insufficientScope: Self { Self(.insufficientScope) }
        /// A server wants a nonce in DPoP proofs and sent none ([RFC 9449 §8](https://www.rfc-editor.org/rfc/rfc9449#section-8)).
        public static var missingNonce: Self { Self(.missingNonce) }
        /// A server wants another nonce in DPoP proofs than the one it has just sent.
        public static var repeatedNonce: Self { Self(.repeatedNonce) }
        /// A server has asked for one nonce after the other.
        public static var tooManyNonces: Self { Self(.tooManyNonces) }
        /// A server does not accept the DPoP proof; key, clock and URL are what it may not like.
        public static var proofRejected: Self { Self(.proofRejected) }
        /// An issuer identifier is not a URL that metadata could be looked up by.
        public static var invalidIssuer: Self { Self(.invalidIssuer) }
        /// What came is not from the issuer that was asked.
        public static var issuerMismatch: Self { Self(.issuerMismatch) }
        /// The server has no endpoint for what it is to do, or its metadata do not say where.
        public static var endpointMissing: Self { Self(.endpointMissing) }
        /// What came is about another user than the one that was asked about.
        public static var subjectMismatch: Self { Self(.subjectMismatch) }
        /// An endpoint does not accept the access token that it was asked with.
        public static var accessTokenRejected: Self { Self(.accessTokenRejected) }
    }
}

extension OAuth2Error: Equatable {
    /// Whether two errors have the same code.
    ///
    /// - Parameters:
    ///   - left: One error.
    ///   - right: The other.
    /// - Returns: Whether the codes are equal.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
}

extension OAuth2Error: CustomStringConvertible, LocalizedError {
    /// The code, the message, what the server answered and the cause, for a person to read.
    public var description: String {
        var text = "\(code): \(message)"
        if let serverCode { text += " [\(serverCode)]" }
        if let cause { text += " (\(cause))" }
        return text
    }

    /// The same text for APIs that ask Foundation.
    public var errorDescription: String? { description }
}
