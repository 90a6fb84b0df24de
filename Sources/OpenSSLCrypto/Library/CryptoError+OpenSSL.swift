internal import COpenSSL

extension CryptoError {
    /// Builds the error of a failed OpenSSL call from the function's name and the thread's error queue, emptying it.
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
    /// An entry of OpenSSL's error queue, without its file, line and free text.
    struct QueuedError: CustomStringConvertible {
        let library: String
        let reason: String
        /// Whether the cause is an algorithm or parameter that this build or configuration of OpenSSL does not have.
        let isUnsupported: Bool

        var description: String { "\(library): \(reason)" }
    }

    /// Forgets what earlier calls on this thread left, so that a later drain tells of one call only.
    static func clearErrors() {
        // Looking is four times faster than clearing, and the queue is nearly always empty.
        guard ERR_peek_error() != 0 else { return }
        ERR_clear_error()
    }

    /// Empties the thread's error queue.
    ///
    /// The free text of an entry is left out: it may quote input.
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
