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
public struct HTTPSignatureError: Error, Sendable, Equatable, CustomStringConvertible, LocalizedError {
    /// The kind of failure.
    public let code: Code
    /// A description of what failed and what to do about it, without secrets.
    public let message: String
    /// The error that caused this one, usually a `NetworkError` or a `TokenError`.
    public let cause: (any Error)?
    var challenge: String?

    /// Creates an error, for example for an application's own rule.
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

    /// The kind of a failure.
    @nonexhaustive
    public enum Code: String, Sendable, CustomStringConvertible {
        /// The message has no signature, or none with the profile's tag.
        case noSignature
        /// `Signature` or `Signature-Input` can't be parsed, or contradict each other.
        case malformedSignature
        /// The message has more signatures than the profile allows.
        case tooManySignatures
        /// A field, a parameter, the number of components or the signature base exceeds a limit.
        case tooLarge
        /// The signature doesn't cover a component that the profile requires.
        case insufficientCoverage
        /// The signature lacks a parameter that the profile requires.
        case missingParameter
        /// The signature has expired (`expires`).
        case expired
        /// The signature was created too long ago (`created`).
        case tooOld
        /// The signature was created in the future (`created`).
        case createdInFuture
        /// No key is known for the signature's `keyid`.
        case unknownKey
        /// The key is known but isn't allowed to sign this message; for applications' own rules.
        case keyRefused
        /// The key's algorithm isn't the one in `alg`, or isn't one that the profile accepts.
        case algorithmMismatch
        /// The key is too short for its algorithm.
        case weakKey
        /// A component identifier is malformed, unknown, repeated, not applicable to the message or
        /// prohibited by the profile.
        case invalidComponent
        /// The message doesn't have a covered component.
        case missingComponent
        /// The value of a covered component can't be part of a signature base.
        case malformedComponent
        /// The key doesn't verify the signature.
        case signatureInvalid
        /// The content isn't the one in the covered `Content-Digest`.
        case digestMismatch
        /// The covered `Content-Digest` has no digest with SHA-256 or SHA-512.
        case unsupportedDigest
        /// The transport decoded the content, so its digest can't be checked.
        case contentDecoded
        /// The signature doesn't have a nonce that the server issued.
        case nonceMismatch
        /// The signature's nonce has been used before.
        case replayed
        /// The signature couldn't be verified for a reason on the verifier's side, such as
        /// unreachable keys or a full replay cache.
        case undecided
        /// The profile, the keys or the other settings contradict each other.
        case invalidProfile
        /// The message couldn't be signed.
        case signingFailed
        /// The body's digest is needed before it's sent, but the body can't be read twice.
        case bodyNotReadable
        /// A signature agent's directory of keys is unreachable, malformed or not allowed.
        case directoryRejected

        /// A name from a bounded set, suitable as a metric label.
        public var description: String { rawValue }

        var status: Int {
            switch self {
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

    /// Returns a Boolean value that indicates whether two errors have the same code.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }

    /// A text for a log: the code, the message and the cause.
    public var description: String {
        var text = "\(code): \(message)"
        if let cause { text += " (\(cause))" }
        return text
    }

    /// The same text as ``description``, for Foundation APIs.
    public var errorDescription: String? { description }
}
