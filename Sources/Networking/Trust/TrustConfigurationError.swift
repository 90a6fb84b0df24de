public import Foundation
internal import OpenSSLCrypto

/// What is wrong with certificates, keys or pins that a ``TLSConfiguration`` is made from.
///
/// The message says what to do; it never has a key or a password in it. Two errors are equal if their codes are.
public struct TrustConfigurationError: Error, Sendable {
    /// What kind of failure it is.
    public let code: Code
    /// What is wrong, and what to do about it.
    public let message: String
    /// The pins that are wrong, as they were given; empty unless the code is `invalidPins` or `duplicatePins`.
    public let pins: Set<String>
    /// The error that caused this one.
    public let cause: (any Error)?

    init(_ code: Code, _ message: String, pins: Set<String> = [], cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.pins = pins
        self.cause = cause
    }
}

extension TrustConfigurationError {
    /// What kind of failure it is.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Wrapped: String {
            case invalidDomainName, emptyPins, invalidPins, duplicatePins, missingBackupPin, emptyPolicies
            case duplicatePolicies, unreadableFile, malformedCertificate, malformedKey, unsupportedKey, keyMismatch
            case passwordRequired, incorrectPassword, cryptography
        }

        private let wrapped: Wrapped

        private init(_ wrapped: Wrapped) {
            self.wrapped = wrapped
        }

        /// A bounded name, fit for a metric's label.
        public var description: String { wrapped.rawValue }

        /// The domain of a pinning policy is empty or neither a host's name nor an address.
        public static var invalidDomainName: Self { Self(.invalidDomainName) }
        /// A pinning policy has no pins.
        public static var emptyPins: Self { Self(.emptyPins) }
        /// Pins are not the base64 encoding of 32 octets; ``TrustConfigurationError/pins`` has them.
        public static var invalidPins: Self { Self(.invalidPins) }
        /// The same pin is given more than once, perhaps written differently.
        public static var duplicatePins: Self { Self(.duplicatePins) }
        /// A pinning policy has one pin only, so that the loss of that key makes the host unreachable.
        public static var missingBackupPin: Self { Self(.missingBackupPin) }
        /// An evaluator has no pinning policies.
        public static var emptyPolicies: Self { Self(.emptyPolicies) }
        /// An evaluator has two pinning policies for the same domain.
        public static var duplicatePolicies: Self { Self(.duplicatePolicies) }
        /// A file or folder can't be read.
        public static var unreadableFile: Self { Self(.unreadableFile) }
        /// A text or its octets are no certificates or no PKCS#12 file, or have none.
        public static var malformedCertificate: Self { Self(.malformedCertificate) }
        /// A text or its octets are no private key.
        public static var malformedKey: Self { Self(.malformedKey) }
        /// A private key is of a kind or size that is not supported.
        public static var unsupportedKey: Self { Self(.unsupportedKey) }
        /// The private key is not the certificate's.
        public static var keyMismatch: Self { Self(.keyMismatch) }
        /// The private key is encrypted and no password was given.
        public static var passwordRequired: Self { Self(.passwordRequired) }
        /// The password is wrong, or the encrypted octets are damaged.
        public static var incorrectPassword: Self { Self(.incorrectPassword) }
        /// OpenSSL failed or does not offer an algorithm; the message has its words.
        public static var cryptography: Self { Self(.cryptography) }
    }
}

extension TrustConfigurationError: Equatable {
    /// Whether two errors have the same code; messages, pins and causes don't count.
    ///
    /// - Parameters:
    ///   - left: One error.
    ///   - right: The other.
    /// - Returns: Whether the codes are equal.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
}

extension TrustConfigurationError: CustomStringConvertible, LocalizedError {
    /// The code and the message, for a person to read.
    public var description: String { "\(code): \(message)" }

    /// The same text for APIs that ask Foundation.
    public var errorDescription: String? { description }
}

extension TrustConfigurationError {
    /// Tells what OpenSSLCrypto complained about.
    ///
    /// - Parameters:
    ///   - error: The complaint.
    ///   - place: Where the certificates or keys are from, such as a path.
    init(_ error: CryptoError, in place: String? = nil) {
        let code: Code =
            switch error.code {
            case .malformedCertificate, .certificateNotTrusted, .certificateNotValid: .malformedCertificate
            // A number of certificates that no chain has.
            case .invalidArgument: .malformedCertificate
            case .malformedKey, .pointNotOnCurve, .invalidScalar: .malformedKey
            case .wrongKeyType, .unsupportedCurve, .weakKey, .keyTooLarge: .unsupportedKey
            case .keyMismatch: .keyMismatch
            case .passwordRequired: .passwordRequired
            case .incorrectPassword: .incorrectPassword
            default: .cryptography
            }
        let text = error.reasons.isEmpty ? error.message : "\(error.message) (\(error.reasons.joined(separator: "; ")))"
        self.init(code, place.map { "\($0): \(text)" } ?? text, cause: error)
    }
}
