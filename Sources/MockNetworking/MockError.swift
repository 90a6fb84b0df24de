public import Foundation

/// An error of a mock or test server.
///
/// Two errors are equal if their codes are.
public struct MockError: Error, Sendable {
    /// The kind of error.
    public let code: Code
    /// The failure, and what to do about it.
    public let message: String
    /// The underlying error, if there is one.
    public let cause: (any Error)?

    /// Creates an error.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// The kind of a mock error.
    @nonexhaustive
    public enum Code: String, Sendable, CustomStringConvertible {
        /// The operating system refused a socket, thread or descriptor that a server needs.
        case cannotStart
        /// A certificate can't be created or read, or its key doesn't match; the message and the
        /// cause explain why.
        case cannotIssueCertificate
        /// The connection ended or the server was stopped before everything was written.
        case connectionClosed
        /// A server didn't redirect the browser.
        case noRedirect
        /// The script has no response left for a request.
        case scriptExhausted
        /// A request differs from all expectations or arrived too often; the message describes the
        /// difference.
        case unexpectedRequest

        /// A name from a fixed set, suitable as a metric label.
        public var description: String { rawValue }
    }
}

extension MockError: Equatable {
    /// Returns a Boolean value that indicates whether two errors have the same code, regardless of
    /// messages and causes.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
}

extension MockError: CustomStringConvertible, LocalizedError {
    /// The code, the message and the cause.
    public var description: String { cause.map { "\(code): \(message) (\($0))" } ?? "\(code): \(message)" }

    /// The same text as ``description``.
    public var errorDescription: String? { description }
}
