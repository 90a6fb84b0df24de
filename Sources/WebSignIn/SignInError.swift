public import Networking
import OAuth2

/// The reason why a sign-in, a session or a logout was refused.
///
/// It contains no code, token, cookie or identifier of a session. Errors are equal if their codes
/// are.
public struct SignInError: Error, Sendable, Equatable, CustomStringConvertible, LoggableError {
    /// The kind of refusal.
    public let code: Code
    /// A description of what was refused and what to do about it.
    public let message: String
    /// The error that caused this one.
    public let cause: (any Error)?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of refusal.
    ///   - message: What was refused and what to do about it.
    ///   - cause: The error that caused this one. The default is `nil`.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// The kind of refusal.
    @nonexhaustive
    public enum Code: String, Sendable, CustomStringConvertible {
        /// The configuration can't work.
        case malformedConfiguration
        /// The method isn't one of the route's.
        case methodNotAllowed
        /// The browser has no cookie of the attempt that the response belongs to.
        case attemptMissing
        /// The cookie of the attempt was changed, belongs to another attempt or provider, or was
        /// sealed with a key that is gone.
        case attemptInvalid
        /// The attempt took too long.
        case attemptExpired
        /// The response of the provider was used before.
        case attemptUsed
        /// The user or the provider denied the sign-in.
        case authorizationDenied
        /// The authorization response or the token response isn't acceptable; see the cause.
        case responseRejected
        /// The ID token isn't valid; see the cause.
        case idTokenRejected
        /// The provider can't be reached, or fails temporarily.
        case providerUnavailable
        /// The application refused the user.
        case userRefused
        /// The new authentication isn't of the session's user or not as strong as requested.
        case stepUpFailed
        /// The user isn't signed in.
        case signedOut
        /// The route requires a stronger or more recent authentication ([RFC
        /// 9470](https://www.rfc-editor.org/rfc/rfc9470)).
        case stepUpRequired
        /// The provider ended the user's session before the sign-in was complete.
        case sessionEnded
        /// Another site's page sent the request.
        case crossSite
        /// The logout token isn't valid, or was used before; see the cause.
        case logoutTokenRejected
        /// The redirect after a logout belongs to no logout of this browser.
        case logoutUnconfirmed
        /// The path isn't certainly one below that of the API to forward to.
        case pathRefused
        /// The API to forward to can't be reached, or responded incorrectly; see the cause.
        case apiUnavailable
        /// The store of sessions failed; see the cause.
        case storeFailed

        /// A name from a bounded set, suitable as a metric label.
        public var description: String { rawValue }
    }

    /// Returns a Boolean value that indicates whether two errors have the same code.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }

    /// A text for people: the code, the message and the cause.
    public var description: String { "\(code): \(message)" + (cause.map { " (\($0))" } ?? "") }

    package var logText: String { logText("\(code): \(message)", cause: cause) }
}
