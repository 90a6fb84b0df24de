public import Foundation
public import Networking
import OAuth2

/// The rejection of a request, with the response to send.
///
/// ```swift
/// return Response(status: refusal.status, headers: refusal.headers)
/// ```
///
/// The texts never contain a token or a claim's value. The challenge tells the client less than the
/// ``message``. Two refusals are equal if their codes are.
public struct AccessRefusal: Error, Sendable {
    /// The reason for the rejection.
    public let code: Code
    /// A description of the reason, for a log.
    public let message: String
    /// The error that caused this one, usually a `TokenError` or an `OAuth2Error`.
    public let cause: (any Error)?
    /// The challenges for the client, in the order in which they are sent.
    public let challenges: [AuthenticationChallenge]
    /// The nonce for the client's next proof.
    var nonce: String?

    /// Creates a refusal, for example for an application's own rule.
    ///
    /// - Parameters:
    ///   - code: The reason for the rejection.
    ///   - message: A description of the reason for a log, without secrets.
    ///   - cause: The error that caused this one. The default is `nil`.
    ///   - challenges: The challenges for the client. The default is empty.
    public init(
        _ code: Code,
        _ message: String,
        cause: (any Error)? = nil,
        challenges: [AuthenticationChallenge] = []
    ) {
        self.code = code
        self.message = message
        self.cause = cause
        self.challenges = challenges
    }

    private static let longestRetryAfter = Duration.seconds(300)

    /// The status code of the response: 400, 401, 403 or 503.
    public var status: Int { code.status }

    /// The header fields of the response: `WWW-Authenticate`, `DPoP-Nonce` and `Retry-After` where
    /// they apply, and `Cache-Control`.
    ///
    /// `Retry-After` is at most 5 minutes, even if the server that the API depends on asks for
    /// more.
    public var headers: HTTPHeaders {
        var headers: HTTPHeaders = [:]
        headers["WWW-Authenticate"] = AuthenticationChallenge.format(challenges)
        headers["DPoP-Nonce"] = nonce
        if code == .undecided, let delay = (cause as? OAuth2Error)?.retryAfter {
            let limited = min(max(delay, .zero), Self.longestRetryAfter).components
            headers["Retry-After"] = String(limited.seconds + (limited.attoseconds > 0 ? 1 : 0))
        }
        // A cache must not serve one sender's response to another.
        headers["Cache-Control"] = "no-store"
        return headers
    }
}

extension AccessRefusal {
    /// The reason for a rejection.
    @nonexhaustive
    public enum Code: String, Sendable, CustomStringConvertible {
        /// The request has no access token.
        case noToken
        /// The request has several access tokens or a malformed one: `invalid_request`.
        case malformedRequest
        /// The token is invalid, or meant for another server or sender: `invalid_token`.
        case invalidToken
        /// The DPoP proof is missing or invalid: `invalid_dpop_proof`.
        case invalidProof
        /// The DPoP proof needs the nonce in the response: `use_dpop_nonce`.
        case nonceNeeded
        /// The token has insufficient scope: `insufficient_scope`.
        case insufficientScope
        /// The user must authenticate again, or more strongly: `insufficient_user_authentication`.
        case insufficientAuthentication
        /// The token couldn't be verified for a reason on the server's side.
        ///
        /// The keys, the introspection endpoint or the status list are unreachable, or the replay
        /// cache is full.
        case undecided

        /// A name from a bounded set, suitable as a metric label.
        public var description: String { rawValue }

        var status: Int {
            switch self {
            case .noToken, .invalidToken, .invalidProof, .nonceNeeded, .insufficientAuthentication: 401
            case .malformedRequest: 400
            case .insufficientScope: 403
            case .undecided: 503
            }
        }
    }
}

extension AccessRefusal: Equatable {
    /// Returns a Boolean value that indicates whether two refusals have the same code.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
}

extension AccessRefusal: CustomStringConvertible, LocalizedError {
    /// A text for a log: the code, the message and the cause.
    public var description: String {
        var text = "\(code): \(message)"
        if let cause { text += " (\(cause))" }
        return text
    }

    /// The same text for Foundation's error APIs.
    public var errorDescription: String? { description }
}
