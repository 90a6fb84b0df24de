public import Foundation
public import Networking

/// A failure to sign or verify a message, with the response that a server sends.
///
/// ```swift
/// return Response(status: error.status, headers: error.headers)
/// ```
///
/// The message is for a log. It never contains a key, a signature or a field's value. The response
/// tells the sender only its status and the signature that the server wants. Two errors are equal
/// if their codes are.
public struct HTTPSignatureError: Error, Sendable {
    /// The kind of failure.
    public let code: Code
    /// A description of what failed and what to do about it.
    public let message: String
    /// The error that caused this one, usually a `NetworkError` or a `TokenError`.
    public let cause: (any Error)?
    /// The value of `Accept-Signature` for the response, or `nil`.
    var challenge: String?

    /// Creates an error, for example for an application's own rule.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: A description of what failed and what to do about it, without secrets.
    ///   - cause: The error that caused this one. The default is `nil`.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// The status code of the response to a request that failed verification: 400, 401, 403 or 503.
    ///
    /// It's 500 for failures that the sender didn't cause.
    public var status: Int { code.status }

    /// The header fields of the response: `Accept-Signature`, if another signature can help, and
    /// `Cache-Control`.
    public var headers: HTTPHeaders {
        var headers: HTTPHeaders = [:]
        headers["Accept-Signature"] = challenge
        // A cache must not serve one sender's response to another.
        headers["Cache-Control"] = "no-store"
        return headers
    }
}

extension HTTPSignatureError {
    /// The kind of a failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Wrapped: String {
            case noSignature, malformedSignature, tooManySignatures, tooLarge
            case insufficientCoverage, missingParameter, expired, tooOld, createdInFuture
            case unknownKey, keyRefused, algorithmMismatch, weakKey
            case invalidComponent, missingComponent, malformedComponent
            case signatureInvalid, digestMismatch, unsupportedDigest, contentDecoded
            case nonceMismatch, replayed, undecided
            case invalidProfile, signingFailed, bodyNotReadable, directoryRejected
        }

        private let wrapped: Wrapped

        private init(_ wrapped: Wrapped) {
            self.wrapped = wrapped
        }

        /// A name from a bounded set, suitable as a metric label.
        public var description: String { wrapped.rawValue }

        var status: Int {
            switch wrapped {
            case .noSignature, .insufficientCoverage, .missingParameter, .expired, .tooOld, .createdInFuture,
                .unknownKey, .algorithmMismatch, .weakKey, .missingComponent, .signatureInvalid, .nonceMismatch,
                .replayed:
                401
            case .malformedSignature, .tooManySignatures, .tooLarge, .invalidComponent, .malformedComponent,
                .digestMismatch, .unsupportedDigest:
                400
            case .keyRefused: 403
            case .undecided, .directoryRejected: 503
            case .contentDecoded, .invalidProfile, .signingFailed, .bodyNotReadable: 500
            }
        }
    }
}

extension HTTPSignatureError.Code {
    /// The message has no signature, or none with the profile's tag.
    public static var noSignature: Self { Self(.noSignature) }
    /// `Signature` or `Signature-Input` can't be parsed, or contradict each other.
    public static var malformedSignature: Self { Self(.malformedSignature) }
    /// The message has more signatures than the profile allows.
    public static var tooManySignatures: Self { Self(.tooManySignatures) }
    /// A field, a parameter, the number of components or the signature base exceeds a limit.
    public static var tooLarge: Self { Self(.tooLarge) }
    /// The signature doesn't cover a component that the profile requires.
    public static var insufficientCoverage: Self { Self(.insufficientCoverage) }
    /// The signature lacks a parameter that the profile requires.
    public static var missingParameter: Self { Self(.missingParameter) }
    /// The signature has expired (`expires`).
    public static var expired: Self { Self(.expired) }
    /// The signature was created too long ago (`created`).
    public static var tooOld: Self { Self(.tooOld) }
    /// The signature was created in the future (`created`).
    public static var createdInFuture: Self { Self(.createdInFuture) }
    /// No key is known for the signature's `keyid`.
    public static var unknownKey: Self { Self(.unknownKey) }
    /// The key is known but isn't allowed to sign this message; for applications' own rules.
    public static var keyRefused: Self { Self(.keyRefused) }
    /// The key's algorithm isn't the one in `alg`, or isn't one that the profile accepts.
    public static var algorithmMismatch: Self { Self(.algorithmMismatch) }
    /// The key is too short for its algorithm.
    public static var weakKey: Self { Self(.weakKey) }
    /// A component identifier is malformed, unknown, repeated or not applicable to the message.
    public static var invalidComponent: Self { Self(.invalidComponent) }
    /// The message doesn't have a covered component.
    public static var missingComponent: Self { Self(.missingComponent) }
    /// The value of a covered component can't be part of a signature base.
    public static var malformedComponent: Self { Self(.malformedComponent) }
    /// The key doesn't verify the signature.
    public static var signatureInvalid: Self { Self(.signatureInvalid) }
    /// The content isn't the one in the covered `Content-Digest`.
    public static var digestMismatch: Self { Self(.digestMismatch) }
    /// The covered `Content-Digest` has no digest with SHA-256 or SHA-512.
    public static var unsupportedDigest: Self { Self(.unsupportedDigest) }
    /// The transport decoded the content, so its digest can't be checked.
    public static var contentDecoded: Self { Self(.contentDecoded) }
    /// The signature doesn't have a nonce that the server issued.
    public static var nonceMismatch: Self { Self(.nonceMismatch) }
    /// The signature's nonce has been used before.
    public static var replayed: Self { Self(.replayed) }
    /// The signature couldn't be verified for a reason on the verifier's side, such as unreachable
    /// keys or a full replay cache.
    public static var undecided: Self { Self(.undecided) }
    /// The profile, the keys or the other settings contradict each other.
    public static var invalidProfile: Self { Self(.invalidProfile) }
    /// The message couldn't be signed.
    public static var signingFailed: Self { Self(.signingFailed) }
    /// The body's digest is needed before it's sent, but the body can't be read twice.
    public static var bodyNotReadable: Self { Self(.bodyNotReadable) }
    /// A signature agent's directory of keys is unreachable, malformed or not allowed.
    public static var directoryRejected: Self { Self(.directoryRejected) }
}

extension HTTPSignatureError: Equatable {
    /// Returns a Boolean value that indicates whether two errors have the same code.
    ///
    /// - Parameters:
    ///   - left: An error.
    ///   - right: Another error.
    /// - Returns: `true` if the codes are equal.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
}

extension HTTPSignatureError: CustomStringConvertible, LocalizedError {
    /// A text for a log: the code, the message and the cause.
    public var description: String {
        var text = "\(code): \(message)"
        if let cause { text += " (\(cause))" }
        return text
    }

    /// The same text as ``description``, for Foundation APIs.
    public var errorDescription: String? { description }
}
