public import Foundation
import Networking
import OAuth2

/// A failure to get a credential from the platform.
///
/// An error's text never contains a token. It names the variable or the path, and at most the
/// audience and the expiry of a token. Errors are equal if their codes are.
public struct WorkloadIdentityError: Error, Sendable, Equatable, CustomStringConvertible, LocalizedError {
    /// The kind of failure.
    public let code: Code
    /// The step that failed.
    public let step: Step
    /// A description of what failed and what to do about it.
    public let message: String
    /// The status code of the platform's response, if there was one.
    public let status: Int?
    /// The error that caused this one.
    public let cause: (any Error)?

    /// Creates an error about a file, an environment variable or another setting.
    init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.init(code, .read, message, cause: cause)
    }

    /// Creates an error about a request to an endpoint of the platform.
    init(request code: Code, _ message: String, status: Int? = nil, cause: (any Error)? = nil) {
        self.init(code, .request, message, status: status, cause: cause)
    }

    init(_ code: Code, _ step: Step, _ message: String, status: Int? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.step = step
        self.message = message
        self.status = status
        self.cause = cause
    }

    /// A Boolean value that indicates whether the same call may succeed later, unchanged.
    public var isRetryable: Bool { code == .platformUnavailable }

    /// A step on the way to a credential; its raw value is suitable as a metric label.
    @nonexhaustive
    public enum Step: String, Sendable {
        /// Reading and checking a file or an environment variable.
        case read
        /// A request to an endpoint of the platform, and checking its response.
        case request
    }

    /// The kind of failure.
    @nonexhaustive
    public enum Code: String, Sendable, CustomStringConvertible {
        /// The platform doesn't offer the credential here: a variable or a file is missing.
        case notConfigured
        /// The file exists but can't be read.
        case unreadableFile
        /// Other users can replace the file's content.
        case insecureFile
        /// The file, variable or response is larger than 64 KiB.
        case tooLarge
        /// The file, variable or response doesn't contain a token of the expected form.
        case malformedToken
        /// The token is for another audience than the configured one.
        case wrongAudience
        /// The token has expired.
        case expiredToken
        /// The server rejected the token, and the platform hasn't replaced it yet.
        case rejectedToken
        /// The platform's endpoint isn't a URL to which a credential may be sent.
        case insecureEndpoint
        /// The platform's endpoint couldn't be reached, is overloaded or failed.
        case platformUnavailable
        /// The platform's endpoint rejected the request.
        case platformRejected
        /// The response isn't one of the platform's endpoint.
        case invalidResponse
        /// The machine has several identities, and the configuration doesn't choose one.
        case ambiguousIdentity
        /// The platform's configuration file is malformed, or requires what isn't supported.
        case invalidConfiguration
        /// The request can't be signed for AWS: its body, its URL or a name isn't suitable.
        case unsignableRequest

        /// A name from a bounded set, suitable as a metric label.
        public var description: String { rawValue }
    }

    /// Returns a Boolean value that indicates whether two errors have the same code.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }

    /// A text for people: the step, the code, the message and the cause.
    public var description: String {
        var text = "\(step.rawValue): \(code): \(message)"
        if let cause { text += " (\(cause))" }
        return text
    }

    /// The same text for Foundation's error APIs.
    public var errorDescription: String? { description }
}

extension WorkloadIdentityError: RetryableError, UnchangedTokenError {
    package var isUnchangedToken: Bool { code == .rejectedToken }
}
