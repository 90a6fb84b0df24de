public import Foundation
internal import OpenSSLCrypto

/// An error that occurs when the package rejects a token, a key or JSON, or can't create a token.
///
/// The message says what failed, where, and what to do. It never contains a token, a claim's value
/// or key material. Two errors are equal if they have the same code.
public struct TokenError: Error, Sendable {
    /// The kind of failure.
    public let code: Code
    /// The explanation of what failed, where, and what to do about it.
    public let message: String
    /// The underlying error, if any.
    public let cause: (any Error)?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: The explanation of what failed, where, and what to do about it. Don't include
    ///     secrets.
    ///   - cause: The underlying error. The default is `nil`.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}

extension TokenError {
    /// The kind of a failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Wrapped: String {
            case malformedToken, malformedJSON, tooLarge, unencodableContent
            case malformedKey, unsupportedKey, weakKey, keyMismatch, privateKeyRequired, publicKeyRequired
            case certificateRejected
            case passwordRequired, incorrectPassword
            case unsupportedAlgorithm, algorithmRequired, algorithmMismatch, signingFailed
            case encryptionFailed, decryptionFailed, compressionRejected
            case signatureInvalid, insufficientSignatures, criticalHeaderUnsupported, unprotectedParameter
            case unknownKey, ambiguousKey
            case expired, notYetValid, issuedInFuture, tooOld, missingClaim, malformedClaim
            case issuerMismatch, audienceMismatch, subjectMismatch, typeMismatch, claimMismatch
            case prohibitedClaim, lifetimeTooLong, statusRejected, checkFailed
            case nonceMismatch, authorizedPartyMismatch, hashMismatch, authenticationContextMismatch
            case methodMismatch, targetMismatch, accessTokenMismatch, confirmationMismatch
            case replayed, replayCacheFull, replayCacheFailed
            case malformedDisclosure, disclosureMismatch, keyBindingMismatch
            case malformedDuration
        }

        private let wrapped: Wrapped

        private init(_ wrapped: Wrapped) {
            self.wrapped = wrapped
        }

        /// A name from a bounded set, suitable as a metric label.
        public var description: String { wrapped.rawValue }

        /// The text isn't a token: a compact JWS with a JSON header and JSON claims, or a JWE.
        public static var malformedToken: Self { Self(.malformedToken) }
        /// The text isn't JSON, or isn't the strict JSON that tokens and keys require.
        public static var malformedJSON: Self { Self(.malformedJSON) }
        /// The input exceeds a limit on bytes, depth, members or keys.
        public static var tooLarge: Self { Self(.tooLarge) }
        /// A header or claim has a value that JSON can't represent, or a status list doesn't have
        /// the index or the bits for a status.
        public static var unencodableContent: Self { Self(.unencodableContent) }
        /// The key is malformed: its PEM, its JWK members or its numbers.
        public static var malformedKey: Self { Self(.malformedKey) }
        /// This version doesn't support the key's type or curve.
        public static var unsupportedKey: Self { Self(.unsupportedKey) }
        /// The key is well formed but too small for its algorithm, or anyone can compute its
        /// private part.
        public static var weakKey: Self { Self(.weakKey) }
        /// The parts of a key contradict each other: its private and public part, or its declared
        /// and its actual use.
        public static var keyMismatch: Self { Self(.keyMismatch) }
        /// The certificate isn't issued under one of the caller's roots, or isn't valid at the
        /// caller's time.
        public static var certificateRejected: Self { Self(.certificateRejected) }
        /// The operation needs a private key, but the key is public.
        public static var privateKeyRequired: Self { Self(.privateKeyRequired) }
        /// The operation needs a public key, but the key is private.
        public static var publicKeyRequired: Self { Self(.publicKeyRequired) }
        /// The private key is encrypted and the caller didn't give a password.
        public static var passwordRequired: Self { Self(.passwordRequired) }
        /// The private key can't be decrypted: the password is wrong or the PEM is damaged.
        public static var incorrectPassword: Self { Self(.incorrectPassword) }
        /// This version doesn't support the algorithm.
        public static var unsupportedAlgorithm: Self { Self(.unsupportedAlgorithm) }
        /// The key can be used with several algorithms, and the caller must name one.
        public static var algorithmRequired: Self { Self(.algorithmRequired) }
        /// The stated algorithm or key ID isn't the key's or the signing service's.
        public static var algorithmMismatch: Self { Self(.algorithmMismatch) }
        /// Signing failed, or a signing service returned something that can't be a signature of its
        /// algorithm.
        public static var signingFailed: Self { Self(.signingFailed) }
        /// Encryption failed, because the system has no random numbers, the recipient's key is
        /// unsuitable, or OpenSSL fails.
        public static var encryptionFailed: Self { Self(.encryptionFailed) }
        /// The token can't be decrypted with the key: it's for another key, or it was changed.
        ///
        /// The error has no further reason, because the reason would help an attacker.
        public static var decryptionFailed: Self { Self(.decryptionFailed) }
        /// The content of an encrypted token is compressed (`zip`), which isn't supported.
        public static var compressionRejected: Self { Self(.compressionRejected) }
        /// The signature doesn't verify with the key.
        public static var signatureInvalid: Self { Self(.signatureInvalid) }
        /// A JSON serialization has fewer valid signatures than the caller's policy requires.
        public static var insufficientSignatures: Self { Self(.insufficientSignatures) }
        /// A parameter that must be protected (`alg`, `enc`, `zip`, `crit`, `b64`, or one that
        /// `crit` names) is in an unprotected header.
        public static var unprotectedParameter: Self { Self(.unprotectedParameter) }
        /// The header requires an extension that the verifier doesn't understand.
        public static var criticalHeaderUnsupported: Self { Self(.criticalHeaderUnsupported) }
        /// No key in the set matches the token.
        public static var unknownKey: Self { Self(.unknownKey) }
        /// Several keys in the set match the token.
        public static var ambiguousKey: Self { Self(.ambiguousKey) }
        /// The token has expired (`exp`).
        public static var expired: Self { Self(.expired) }
        /// The token isn't valid yet (`nbf`).
        public static var notYetValid: Self { Self(.notYetValid) }
        /// The token's issue time (`iat`) is in the future.
        public static var issuedInFuture: Self { Self(.issuedInFuture) }
        /// The token was issued longer ago than the policy allows.
        public static var tooOld: Self { Self(.tooOld) }
        /// A claim that the policy requires is missing.
        public static var missingClaim: Self { Self(.missingClaim) }
        /// A claim has the wrong JSON type or is out of range.
        public static var malformedClaim: Self { Self(.malformedClaim) }
        /// The issuer (`iss`) isn't the expected one.
        public static var issuerMismatch: Self { Self(.issuerMismatch) }
        /// The audience (`aud`) doesn't contain the expected one, or the policy doesn't expect an
        /// audience.
        public static var audienceMismatch: Self { Self(.audienceMismatch) }
        /// The subject (`sub`) isn't the expected one.
        public static var subjectMismatch: Self { Self(.subjectMismatch) }
        /// The type (`typ`) isn't the expected one.
        public static var typeMismatch: Self { Self(.typeMismatch) }
        /// A claim of the issuer's own, such as a tenant or a repository, isn't the expected one.
        public static var claimMismatch: Self { Self(.claimMismatch) }
        /// The token has a claim that the policy prohibits.
        public static var prohibitedClaim: Self { Self(.prohibitedClaim) }
        /// The time from `iat` to `exp` is longer than the policy allows.
        public static var lifetimeTooLong: Self { Self(.lifetimeTooLong) }
        /// The token's status list has no entry for the token, or a status that isn't accepted,
        /// such as revoked, or isn't at an allowed location.
        public static var statusRejected: Self { Self(.statusRejected) }
        /// A custom check rejected the token.
        public static var checkFailed: Self { Self(.checkFailed) }
        /// The nonce (`nonce`) isn't the expected one, or the verifier doesn't expect one.
        public static var nonceMismatch: Self { Self(.nonceMismatch) }
        /// The authorized party (`azp`) of an ID token is another client.
        public static var authorizedPartyMismatch: Self { Self(.authorizedPartyMismatch) }
        /// A hash in an ID token (`at_hash`, `c_hash` or `s_hash`) or in a key binding (`sd_hash`)
        /// doesn't match the value that came with the token.
        public static var hashMismatch: Self { Self(.hashMismatch) }
        /// The authentication context class (`acr`) of a token isn't an accepted one.
        public static var authenticationContextMismatch: Self { Self(.authenticationContextMismatch) }
        /// The method in a DPoP proof (`htm`) isn't the request's method.
        public static var methodMismatch: Self { Self(.methodMismatch) }
        /// The URL in a DPoP proof (`htu`) isn't the request's URL.
        public static var targetMismatch: Self { Self(.targetMismatch) }
        /// The hash in a DPoP proof (`ath`) doesn't match the access token.
        public static var accessTokenMismatch: Self { Self(.accessTokenMismatch) }
        /// The access token is bound to a different key than the DPoP proof's, or an SD-JWT isn't
        /// bound to a key.
        public static var confirmationMismatch: Self { Self(.confirmationMismatch) }
        /// The token or proof has been used before.
        public static var replayed: Self { Self(.replayed) }
        /// The replay cache is full and can't tell whether the token or proof has been used before.
        public static var replayCacheFull: Self { Self(.replayCacheFull) }
        /// The replay cache failed, so the verifier can't tell whether the token or proof has been
        /// used before.
        public static var replayCacheFailed: Self { Self(.replayCacheFailed) }
        /// A disclosure of an SD-JWT isn't a salted claim, or has the wrong form for its place.
        public static var malformedDisclosure: Self { Self(.malformedDisclosure) }
        /// The disclosures of an SD-JWT don't fit its digests: one is repeated, superfluous or
        /// collides with another claim.
        public static var disclosureMismatch: Self { Self(.disclosureMismatch) }
        /// A presented SD-JWT has no key binding although the verifier requires one, or an SD-JWT
        /// for a holder has one.
        public static var keyBindingMismatch: Self { Self(.keyBindingMismatch) }
        /// The text isn't a duration.
        public static var malformedDuration: Self { Self(.malformedDuration) }
    }
}

extension TokenError: Equatable {
    /// Returns a Boolean value that indicates whether two errors have the same code.
    ///
    /// Messages and causes don't count.
    ///
    /// - Parameters:
    ///   - left: An error to compare.
    ///   - right: Another error to compare.
    /// - Returns: `true` if the codes are equal.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
}

extension TokenError: CustomStringConvertible, LocalizedError {
    /// The code and the message, in readable form.
    ///
    /// The cause isn't included, because Foundation's coding errors print the values that they
    /// reject.
    public var description: String { "\(code): \(message)" }

    /// The same text as ``description``, for Foundation APIs.
    public var errorDescription: String? { description }
}

extension TokenError {
    /// Returns an untrusted name for use in a message: short, and without characters that could
    /// forge a log line.
    static func shown(_ name: String) -> String {
        var text = ""
        for scalar in name.unicodeScalars {
            if text.unicodeScalars.count == 40 { return "“\(text)…”" }
            text.unicodeScalars.append((" "..."~").contains(scalar) ? scalar : "?")
        }
        return "“\(text)”"
    }
}
