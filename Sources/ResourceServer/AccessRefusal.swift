public import Foundation
public import Networking
import OAuth2

/// Why a request was not let in, and what to answer.
///
/// ```swift
/// return Response(status: refusal.status, headers: refusal.headers)
/// ```
///
/// The texts never contain a token or a claim's value. What the client is told, in the challenge, is less than what the
/// ``message`` says. Two refusals are equal if their codes are.
public struct AccessRefusal: Error, Sendable {
    /// Why the request was not let in.
    public let code: Code
    /// What was wrong, for a log.
    public let message: String
    /// The error that caused this one: a `TokenError` or an `OAuth2Error` in most cases.
    public let cause: (any Error)?
    /// The challenges that say what the client is to do, in the order in which they are sent.
    public let challenges: [AuthenticationChallenge]
    /// The nonce that the client is to use.
    var nonce: String?

    /// Makes a refusal, such as for a rule of your own.
    ///
    /// - Parameters:
    ///   - code: Why the request was not let in.
    ///   - message: What was wrong, for a log. Put no secret into it.
    ///   - cause: The error that caused this one.
    ///   - challenges: The challenges that say what the client is to do.
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

    /// The status to answer: 400, 401, 403 or 503.
    public var status: Int { code.status }

    /// The header fields to answer: `WWW-Authenticate`, `DPoP-Nonce` and `Retry-After`, where they have something to say, and
    /// `Cache-Control`.
    public var headers: HTTPHeaders {
        var headers: HTTPHeaders = [:]
        headers["WWW-Authenticate"] = AuthenticationChallenge.format(challenges)
        headers["DPoP-Nonce"] = nonce
        if code == .undecided, let delay = (cause as? OAuth2Error)?.retryAfter {
            headers["Retry-After"] = String(delay.components.seconds + (delay.components.attoseconds > 0 ? 1 : 0))
        }
        // An answer to one sender must not be kept for another.
        headers["Cache-Control"] = "no-store"
        return headers
    }
}

extension AccessRefusal {
    /// Why a request was not let in.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Wrapped: String {
            case noToken, malformedRequest, invalidToken, invalidProof, nonceNeeded
            case insufficientScope, insufficientAuthentication, undecided
        }

        private let wrapped: Wrapped

        private init(_ wrapped: Wrapped) {
            self.wrapped = wrapped
        }

        /// A bounded name, fit for a metric's label.
        public var description: String { wrapped.rawValue }

        var status: Int {
            switch wrapped {
            case .noToken, .invalidToken, .invalidProof, .nonceNeeded, .insufficientAuthentication: 401
            case .malformedRequest: 400
            case .insufficientScope: 403
            case .undecided: 503
            }
        }

        /// The request has no access token.
        public static var noToken: Self { Self(.noToken) }
        /// The request has several access tokens, or something that is none: `invalid_request`.
        public static var malformedRequest: Self { Self(.malformedRequest) }
        /// The token is not good, or not for this server or this sender: `invalid_token`.
        public static var invalidToken: Self { Self(.invalidToken) }
        /// The DPoP proof is missing or not good: `invalid_dpop_proof`.
        public static var invalidProof: Self { Self(.invalidProof) }
        /// The DPoP proof needs the nonce that is in the answer: `use_dpop_nonce`.
        public static var nonceNeeded: Self { Self(.nonceNeeded) }
        /// The token has too little scope: `insufficient_scope`.
        public static var insufficientScope: Self { Self(.insufficientScope) }
        /// The user has to authenticate anew, or more strongly: `insufficient_user_authentication`.
        public static var insufficientAuthentication: Self { Self(.insufficientAuthentication) }
        /// It could not be found out whether the token is good, for a reason that is not the client's: keys or the introspection
        /// endpoint are out of reach, or the replay cache is full.
        public static var undecided: Self { Self(.undecided) }
    }
}

extension AccessRefusal: Equatable {
    /// Whether two refusals have the same code.
    ///
    /// - Parameters:
    ///   - left: One refusal.
    ///   - right: The other.
    /// - Returns: Whether the codes are equal.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
}

extension AccessRefusal: CustomStringConvertible, LocalizedError {
    /// The code, the message and the cause, for a log.
    public var description: String {
        var text = "\(code): \(message)"
        if let cause { text += " (\(cause))" }
        return text
    }

    /// The same text for APIs that ask Foundation.
    public var errorDescription: String? { description }
}
