internal import COpenSSL

/// An error of a cryptographic operation.
///
/// An invalid signature or message authentication code isn't an error: those functions return
/// `false`. The message states what failed, where in the input, and what to do. Neither the message
/// nor the reasons contain key material or passwords. Two errors are equal if their codes are
/// equal.
package struct CryptoError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of failure.
    package let code: Code
    /// A message that states what failed, where, and what to do about it.
    package let message: String
    /// The entries of OpenSSL's error queue, oldest first; empty if OpenSSL didn't report the
    /// error.
    package let reasons: [String]

    /// Creates an error; the message must not contain secrets.
    package init(_ code: Code, _ message: String, reasons: [String] = []) {
        self.code = code
        self.message = message
        self.reasons = reasons
    }

    /// The kinds of failure.
    package enum Code: String, Sendable, CustomStringConvertible {
        /// The input isn't a key in the expected format.
        case malformedKey
        /// The key is of another kind than expected: a different algorithm, or public instead of
        /// private.
        case wrongKeyType
        /// The curve isn't one of the four supported ones, or is given by explicit parameters.
        case unsupportedCurve
        /// The public point isn't on the curve.
        case pointNotOnCurve
        /// The private scalar is zero or not less than the curve's order.
        case invalidScalar
        /// The private and public parts of the key don't match.
        case keyMismatch
        /// The key offers too little protection: an RSA modulus under 2048 bits or with a known
        /// weakness, an RSA exponent of 1, or an Edwards point that allows anyone to forge
        /// signatures.
        case weakKey
        /// The key exceeds the maximum size, which limits the processing time.
        case keyTooLarge
        /// The input isn't an X.509 certificate.
        case malformedCertificate
        /// The certificate chain doesn't lead to a trusted root, or a certificate in it doesn't
        /// permit its use.
        case certificateNotTrusted
        /// A certificate has expired or isn't valid yet at the time of the check.
        case certificateNotValid
        /// The private key is encrypted and no password was given.
        case passwordRequired
        /// Decrypting the private key failed: the password is wrong or the encrypted data is
        /// damaged.
        case incorrectPassword
        /// The input isn't a signature in the expected format.
        case malformedSignature
        /// The random number generator failed.
        case randomUnavailable
        /// An argument is outside its documented range.
        case invalidArgument
        /// The OpenSSL of this process doesn't offer the algorithm.
        case unsupportedAlgorithm
        /// OpenSSL failed or lacks the algorithm; see ``CryptoError/reasons``.
        case openSSL

        /// The name of the code, from a fixed set that's suitable for metric labels.
        package var description: String { rawValue }
    }

    /// Compares the codes of two errors.
    package static func == (left: Self, right: Self) -> Bool { left.code == right.code }

    /// The code, the message and OpenSSL's reasons, for display.
    package var description: String {
        reasons.isEmpty ? "\(code): \(message)" : "\(code): \(message) (\(reasons.joined(separator: "; ")))"
    }

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
