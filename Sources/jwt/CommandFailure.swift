import Networking
import OAuth2
import TokenGeneration

/// Why a command could not do what it was asked, other than a wrong command line.
struct CommandFailure: Error {
    /// What kind of failure it is; its value is the exit code.
    struct Code: Hashable, Sendable {
        let exitStatus: Int32

        /// The token was read and refused.
        static let rejected = Code(exitStatus: 1)
        /// Something outside failed: a file, a key, a closed pipe.
        static let failed = Code(exitStatus: 2)
    }

    let code: Code
    /// What failed and what to do, on one line; empty if there is nothing to say, as when a pipe's reader has left.
    let message: String
    let cause: (any Error)?

    init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// Makes a failure of what a token or a key was refused for.
    init(_ code: Code, _ error: TokenError) {
        self.init(code, error.message, cause: error)
    }

    /// A bounded name for programs: the code of the cause, such as `expired` or `incorrectPassword`; `serverError`; `system` where a call of the
    /// system failed; otherwise `rejected` or `failed`.
    var reason: String {
        switch cause {
        case let error as TokenError: error.code.description
        case let error as OAuth2Error: error.code.description
        case let error as NetworkError: error.code.description
        case is ServerError: "serverError"
        case is FileDescriptor.Failure: "system"
        default: code == .rejected ? "rejected" : "failed"
        }
    }

    /// The failure as a program reads it.
    var report: JSONObject {
        var report: JSONObject = ["code": .string(reason), "message": .string(message)]
        if let error = cause as? ServerError { report["status"] = .number(JSONNumber(error.errorCode)) }
        guard let error = cause as? OAuth2Error else { return report }
        report["serverCode"] = error.serverCode.map(JSONValue.string)
        report["status"] = error.status.map { .number(JSONNumber($0)) }
        report["retryAfter"] = error.retryAfter.map { .number(JSONNumber(Int($0.components.seconds))) }
        return report
    }
}
