public import Foundation

/// What a test double could not do.
///
/// Two errors are equal if their codes are.
public struct MockError: Error, Sendable {
    /// What kind of failure it is.
    public let code: Code
    /// What failed, and what to do about it.
    public let message: String
    /// The error that caused this one, if another layer reported it.
    public let cause: (any Error)?

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: What kind of failure it is.
    ///   - message: What failed, and what to do about it.
    ///   - cause: The error that caused this one.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}

extension MockError {
    /// What kind of failure it is.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Wrapped: String {
            case cannotStart, cannotIssueCertificate, connectionClosed, scriptExhausted
            case unexpectedRequest, expectationFailed, noRedirect
        }

        private let wrapped: Wrapped

        private init(_ wrapped: Wrapped) {
            self.wrapped = wrapped
        }

        /// A bounded name, fit for a metric's label.
        public var description: String { wrapped.rawValue }

        /// The operating system refused the socket, the thread or the descriptor that a server needs.
        public static var cannotStart: Self { Self(.cannotStart) }
        /// A certificate can't be made, or is none, or its key is another's; the message and the cause tell why.
        public static var cannotIssueCertificate: Self { Self(.cannotIssueCertificate) }
        /// The connection ended, or the server was stopped, before everything was written.
        public static var connectionClosed: Self { Self(.connectionClosed) }
        /// A server answered without sending the browser anywhere.
        public static var noRedirect: Self { Self(.noRedirect) }
        /// A request came for which no answer was left.
        public static var scriptExhausted: Self { Self(.scriptExhausted) }
        /// A request came that is not as expected, or too often; the message says how it differs.
        public static var unexpectedRequest: Self { Self(.unexpectedRequest) }
        /// What came is not what was expected; the message has each discrepancy.
        public static var expectationFailed: Self { Self(.expectationFailed) }
    }
}

extension MockError: Equatable {
    /// Whether two errors have the same code; messages and causes don't count.
    ///
    /// - Parameters:
    ///   - left: One error.
    ///   - right: The other.
    /// - Returns: Whether the codes are equal.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
}

extension MockError: CustomStringConvertible, LocalizedError {
    /// The code, the message and the cause, for a person to read.
    public var description: String {
        cause.map { "\(code): \(message) (\($0))" } ?? "\(code): \(message)"
    }

    /// The same text for APIs that ask Foundation.
    public var errorDescription: String? { description }
}
