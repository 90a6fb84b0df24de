/// Why a cryptographic operation could not be done.
///
/// A signature or code that does not match is not an error: those functions return `false`. The message says what
/// failed, where in the input and what to do; neither it nor the reasons ever hold key material or a password. Two
/// errors are equal if their codes are.
package struct CryptoError: Error, Sendable {
    /// What kind of failure it is.
    package let code: Code
    /// What failed, where, and what to do about it.
    package let message: String
    /// What OpenSSL's error queue said, oldest first; empty if OpenSSL was not the one to complain.
    package let reasons: [String]

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: What kind of failure it is.
    ///   - message: What failed, where, and what to do about it. Put no secret into it.
    ///   - reasons: What OpenSSL's error queue said.
    package init(_ code: Code, _ message: String, reasons: [String] = []) {
        self.code = code
        self.message = message
        self.reasons = reasons
    }
}

extension CryptoError {
    /// What kind of failure it is.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Wrapped: String {
            case malformedKey, wrongKeyType, unsupportedCurve, pointNotOnCurve, invalidScalar, keyMismatch
            case weakKey, keyTooLarge, malformedCertificate, certificateNotTrusted, certificateNotValid
            case passwordRequired, incorrectPassword, malformedSignature, randomUnavailable, invalidArgument, openSSL
        }

        private let wrapped: Wrapped

        private init(_ wrapped: Wrapped) {
            self.wrapped = wrapped
        }

        /// A bounded name, fit for a metric's label.
        package var description: String { wrapped.rawValue }

        /// The text or octets are not a key in the expected format.
        package static var malformedKey: Self { Self(.malformedKey) }
        /// A key, but not of the kind asked for: another algorithm, or public where private is needed.
        package static var wrongKeyType: Self { Self(.wrongKeyType) }
        /// The curve is not one of the four supported, or is given by explicit parameters instead of by name.
        package static var unsupportedCurve: Self { Self(.unsupportedCurve) }
        /// The public point is not a point of the curve.
        package static var pointNotOnCurve: Self { Self(.pointNotOnCurve) }
        /// The private scalar is zero or not less than the curve's order.
        package static var invalidScalar: Self { Self(.invalidScalar) }
        /// The private and the public part do not belong together.
        package static var keyMismatch: Self { Self(.keyMismatch) }
        /// The key protects nothing or too little: an RSA modulus under 2048 bits or with a known weakness, an RSA
        /// exponent of 1, or an Edwards point that lets anyone make signatures.
        package static var weakKey: Self { Self(.weakKey) }
        /// The key is larger than what is accepted: working with it would keep a thread busy for long.
        package static var keyTooLarge: Self { Self(.keyTooLarge) }
        /// The text or octets are not an X.509 certificate.
        package static var malformedCertificate: Self { Self(.malformedCertificate) }
        /// No chain of certificates leads to a root that is trusted, or one of them does not allow its use.
        package static var certificateNotTrusted: Self { Self(.certificateNotTrusted) }
        /// A certificate has expired or is not valid yet at the time in question.
        package static var certificateNotValid: Self { Self(.certificateNotValid) }
        /// The private key is encrypted and no password was given.
        package static var passwordRequired: Self { Self(.passwordRequired) }
        /// The private key does not decrypt: the password is wrong or the encrypted octets are damaged.
        package static var incorrectPassword: Self { Self(.incorrectPassword) }
        /// The octets are not a signature in the expected format.
        package static var malformedSignature: Self { Self(.malformedSignature) }
        /// The random number generator failed.
        package static var randomUnavailable: Self { Self(.randomUnavailable) }
        /// A parameter is outside what the function documents.
        package static var invalidArgument: Self { Self(.invalidArgument) }
        /// OpenSSL failed or lacks the algorithm; ``CryptoError/reasons`` has its words.
        package static var openSSL: Self { Self(.openSSL) }
    }
}

extension CryptoError: Equatable {
    /// Whether two errors have the same code; messages and reasons don't count.
    package static func == (left: Self, right: Self) -> Bool { left.code == right.code }
}

extension CryptoError: CustomStringConvertible {
    /// The code, the message and OpenSSL's reasons, for a person to read.
    package var description: String {
        reasons.isEmpty ? "\(code): \(message)" : "\(code): \(message) (\(reasons.joined(separator: "; ")))"
    }
}
