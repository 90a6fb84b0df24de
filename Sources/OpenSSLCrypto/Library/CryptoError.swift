internal import COpenSSL

/// An error of a cryptographic operation.
///
/// An invalid signature or message authentication code isn't an error: those functions return
/// `false`. The message states what failed, where in the input, and what to do. Neither the message
/// nor the reasons contain key material or passwords. Two errors are equal if their codes are
/// equal.
package struct CryptoError: Error, Sendable, Equatable, CustomStringConvertible {
    package let code: Code
    package let message: String
    /// The entries of OpenSSL's error queue, oldest first.
    package let reasons: [String]

    /// The message must not contain secrets.
    package init(_ code: Code, _ message: String, reasons: [String] = []) {
        self.code = code
        self.message = message
        self.reasons = reasons
    }

    package enum Code: String, Sendable, CustomStringConvertible {
        case malformedKey
        /// A different algorithm, or public instead of private.
        case wrongKeyType
        /// Not one of the four supported curves, or given by explicit parameters.
        case unsupportedCurve
        case pointNotOnCurve
        case invalidScalar
        case keyMismatch
        /// An RSA modulus under 2048 bits or with a known weakness, an RSA exponent of 1, or an
        /// Edwards point that allows anyone to forge signatures.
        case weakKey
        /// The size is limited to limit the processing time.
        case keyTooLarge
        case malformedCertificate
        /// The chain doesn't lead to a trusted root, or a certificate doesn't permit its use.
        case certificateNotTrusted
        case certificateNotValid
        case passwordRequired
        /// The password is wrong, or the encrypted data is damaged.
        case incorrectPassword
        case malformedSignature
        case randomUnavailable
        case invalidArgument
        case unsupportedAlgorithm
        /// OpenSSL failed or lacks the algorithm; see ``CryptoError/reasons``.
        case openSSL

        /// From a fixed set that's suitable for metric labels.
        package var description: String { rawValue }
    }

    package static func == (left: Self, right: Self) -> Bool { left.code == right.code }

    package var description: String {
        reasons.isEmpty ? "\(code): \(message)" : "\(code): \(message) (\(reasons.joined(separator: "; ")))"
    }

    /// Drains the thread's error queue.
    package init(
        _ code: Code = .openSSL,
        failed function: StaticString,
        _ message: String,
        errors: [OpenSSLLibrary.QueuedError] = OpenSSLLibrary.drainedErrors()
    ) {
        // Any other code names the fault, so the function's name would tell a user nothing.
        let text = code == .openSSL ? "\(message): \(function) failed" : message
        self.init(code, text, reasons: errors.map(\.description))
    }
}

extension OpenSSLLibrary {
    /// An entry of OpenSSL's error queue, without the file, line and additional data.
    package struct QueuedError: CustomStringConvertible {
        let library: String
        let reason: String
        /// This build or configuration of OpenSSL lacks an algorithm or parameter.
        let isUnsupported: Bool

        package var description: String { "\(library): \(reason)" }
    }

    /// Discards errors of earlier calls on this thread, so that the next drain returns only those
    /// of one call.
    package static func clearErrors() {
        // Peeking is four times faster than clearing, and the queue is nearly always empty.
        guard ERR_peek_error() != 0 else { return }
        ERR_clear_error()
    }

    /// The additional data of an entry is omitted because it may quote input.
    package static func drainedErrors() -> [QueuedError] {
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
