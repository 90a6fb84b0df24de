public import Foundation
internal import OpenSSLCrypto

/// The reason why a TLS connection failed, as far as both sides reported it; see
/// ``NetworkError/tlsFailure``.
///
/// New cases may be added. A `switch` over them needs a `default`.
@nonexhaustive
public enum TLSFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The server's certificate doesn't chain to a trusted one, or a certificate in the chain
    /// doesn't allow its use.
    case untrustedChain
    /// A certificate in the server's chain has expired.
    case certificateExpired
    /// A certificate in the server's chain isn't valid yet; often this machine's clock is wrong.
    case certificateNotYetValid
    /// The server's certificate is for another host.
    case wrongHost
    /// The verified chain contains none of the policy's pins; the associated value lists its pins,
    /// starting with the server's own.
    case pinMismatch(seen: [PublicKeyPin])
    /// The host has no pinning policy, and
    /// ``ServerTrustEvaluator/Configuration/allowNotPinnedDomains`` is `false`.
    case hostNotPinned
    /// The host's pinning policy has expired, and
    /// ``ServerTrustEvaluator/Configuration/allowExpiredDomainPolicies`` is `false`.
    case pinningPolicyExpired
    /// The server requires a client certificate, and ``TLSConfiguration/clientIdentity`` is `nil`.
    case clientCertificateRequired
    /// The server rejected the client certificate.
    case clientCertificateRefused
    /// The ``ClientIdentity`` isn't available; the error's cause explains why.
    case clientIdentityUnavailable
    /// The server doesn't support any of the allowed TLS versions.
    case protocolVersion
    /// Any other failure, such as no common cipher.
    case handshake

    /// A description of the failure.
    public var description: String {
        switch self {
        case .untrustedChain: "the server's certificate isn't trusted"
        case .certificateExpired: "a certificate of the server has expired"
        case .certificateNotYetValid: "a certificate of the server isn't valid yet; check this machine's clock"
        case .wrongHost: "the server's certificate is for another host"
        case .pinMismatch(let seen):
            "the server's chain contains none of the pins, only \(seen.map(\.description).joined(separator: ", "))"
        case .hostNotPinned: "the host has no pinning policy"
        case .pinningPolicyExpired: "the host's pinning policy has expired"
        case .clientCertificateRequired: "the server requires a client certificate; set TLSConfiguration.clientIdentity"
        case .clientCertificateRefused: "the server rejected the client certificate"
        case .clientIdentityUnavailable: "the client certificate isn't available"
        case .protocolVersion: "the server doesn't support any of the allowed TLS versions"
        case .handshake: "the handshake failed"
        }
    }
}

extension TLSFailure {
    init(_ problem: TLSProblem) {
        self =
            switch problem {
            case .untrusted: .untrustedChain
            case .expired: .certificateExpired
            case .notYetValid: .certificateNotYetValid
            case .wrongHost: .wrongHost
            case .refused(let error): error as? TLSFailure ?? .handshake
            case .identityUnavailable: .clientIdentityUnavailable
            case .clientCertificateRequired: .clientCertificateRequired
            case .clientCertificateRefused: .clientCertificateRefused
            case .protocolVersion: .protocolVersion
            case .alert: .handshake
            }
    }
}

extension NetworkError {
    init(_ problem: TLSProblem, origin: HTTPOrigin) {
        let failure = TLSFailure(problem)
        var message = "the TLS connection to \(origin) failed: \(failure)"
        var cause: (any Error)?
        switch problem {
        case .untrusted(let reason): message += " (\(reason))"
        case .alert(let alert): message += "; the server's alert is “\(TLSProblem.name(ofAlert: alert))”"
        case .identityUnavailable(let error): cause = error
        case .refused(let error) where !(error is TLSFailure): cause = error
        default: break
        }
        self.init(.tls, message, cause: cause)
        tlsFailure = failure
    }
}

/// An error in the certificates, keys or pins of a ``TLSConfiguration``.
///
/// The message explains what to do and never contains a key or a password. Two errors are equal if
/// their codes are.
public struct TrustConfigurationError: Error, Sendable, Equatable, CustomStringConvertible, LocalizedError {
    /// The kind of error.
    public let code: Code
    /// The problem, and what to do about it.
    public let message: String
    /// The pins of an `invalidPins` or `duplicatePins` error, as given; empty for other codes.
    public let pins: Set<String>
    /// The error that caused this one.
    public let cause: (any Error)?

    init(_ code: Code, _ message: String, pins: Set<String> = [], cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.pins = pins
        self.cause = cause
    }

    /// The kind of a trust configuration error.
    @nonexhaustive
    public enum Code: String, Sendable, CustomStringConvertible {
        /// A pinning policy's domain is empty, or neither a host name nor an address.
        case invalidDomainName
        /// A pinning policy has no pins.
        case emptyPins
        /// Pins aren't 32 bytes in base64; ``TrustConfigurationError/pins`` lists them.
        case invalidPins
        /// The same pin occurs more than once, perhaps in different spellings.
        case duplicatePins
        /// A pinning policy has only one pin, so losing that key makes the host unreachable.
        case missingBackupPin
        /// An evaluator doesn't have any pinning policies.
        case emptyPolicies
        /// An evaluator has two pinning policies for the same domain.
        case duplicatePolicies
        /// A file or folder can't be read.
        case unreadableFile
        /// The input isn't a certificate or PKCS#12 file, or doesn't contain any certificates.
        case malformedCertificate
        /// The input isn't a private key.
        case malformedKey
        /// A private key's kind or size isn't supported.
        case unsupportedKey
        /// The private key doesn't match the certificate.
        case keyMismatch
        /// The private key is encrypted, but no password was given.
        case passwordRequired
        /// The password is wrong, or the encrypted data is damaged.
        case incorrectPassword
        /// OpenSSL failed or doesn't support an algorithm; the message contains OpenSSL's reasons.
        case cryptography

        /// A name from a fixed set, suitable as a metric label.
        public var description: String { rawValue }
    }

    /// Returns a Boolean value that indicates whether two errors have the same code, regardless of
    /// messages, pins and causes.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }

    /// The code and the message.
    public var description: String { "\(code): \(message)" }

    /// The same text as ``description``.
    public var errorDescription: String? { description }
}

extension TrustConfigurationError {
    init(unreadable path: String, _ error: any Error) {
        self.init(.unreadableFile, "\(path) can't be read: \(error.localizedDescription)", cause: error)
    }

    /// `place` is where the certificates or keys are from, such as a path.
    init(_ error: CryptoError, in place: String? = nil) {
        let code: Code =
            switch error.code {
            case .malformedCertificate, .certificateNotTrusted, .certificateNotValid: .malformedCertificate
            // The chain has too many certificates, or none.
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
