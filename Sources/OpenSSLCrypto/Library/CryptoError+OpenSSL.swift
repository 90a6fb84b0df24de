internal import COpenSSL

extension CryptoError {
    /// Creates the error for a failed OpenSSL call from the function's name, and drains the
    /// thread's error queue.
    init(
        _ code: Code = .openSSL,
        failed function: StaticString,
        _ message: String,
        errors: [OpenSSLLibrary.QueuedError] = OpenSSLLibrary.drainedErrors()
    ) {
        self.init(code, "\(message): \(function) failed", reasons: errors.map(\.description))
    }
}

extension OpenSSLLibrary {
    /// An entry of OpenSSL's error queue, without the file, line and additional data.
    struct QueuedError: CustomStringConvertible {
        let library: String
        let reason: String
        /// A Boolean value that indicates whether this build or configuration of OpenSSL lacks an
        /// algorithm or parameter.
        let isUnsupported: Bool

        var description: String { "\(library): \(reason)" }
    }

    /// Discards errors of earlier calls on this thread, so that the next drain only returns those
    /// of one call.
    static func clearErrors() {
        // Peeking is four times faster than clearing, and the queue is nearly always empty.
        guard ERR_peek_error() != 0 else { return }
        ERR_clear_error()
    }

    /// Removes and returns the errors in the thread's queue.
    ///
    /// The additional data of an entry is omitted because it may quote input.
    static func drainedErrors() -> [QueuedError] {
        var errors: [QueuedError] = []
        while case let code = ERR_get_error(), code != 0 {
            let library = unsafe ERR_lib_error_string(code).map { unsafe String(cString: $0) }
            let reason = unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) }
            errors.append(
                QueuedError(
                    library: library ?? "OpenSSL",
                    reason: reason ?? "error \(code)",
                    isUnsupported: COpenSSL_is_unsupported(code) == 1
                )
            )
        }
        return errors
    }
}
