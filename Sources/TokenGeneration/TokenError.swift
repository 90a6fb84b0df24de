public import FoundationEssentials
internal import OpenSSLCrypto

/// An error that occurs when the package rejects a token, a key or JSON, or can't create a token.
///
/// The message says what failed, where, and what to do. It never contains a token, a claim's value
/// or key material. Two errors are equal if they have the same code.
public struct TokenError: Error, Sendable, Equatable, CustomStringConvertible, LocalizedError {
    /// The kind of failure.
    public let code: Code
    /// The explanation of what failed, where, and what to do about it; it must not include secrets.
    public let message: String
    /// The underlying error, if any.
    public let cause: (any Error)?

    /// Creates an error.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// The kind of a failure.
    @nonexhaustive
    public enum Code: String, Sendable, CustomStringConvertible {
        /// The text isn't a token: a compact JWS with a JSON header and JSON claims, or a JWE.
        case malformedToken
        /// The text isn't JSON, or isn't the strict JSON that tokens and keys require.
        case malformedJSON
        /// The input exceeds a limit on bytes, depth, members or keys.
        case tooLarge
        /// A header or claim has a value that JSON can't represent, or a status list doesn't have
        /// the index or the bits for a status.
        case unencodableContent
        /// The key is malformed: its PEM, its JWK members or its numbers.
        case malformedKey
        /// This version doesn't support the key's type or curve.
        case unsupportedKey
        /// The key is well formed but too small for its algorithm, or anyone can compute its
        /// private part.
        case weakKey
        /// The parts of a key contradict each other: its private and public part, or its declared
        /// and its actual use.
        case keyMismatch
        /// The certificate isn't issued under one of the caller's roots, or isn't valid at the
        /// caller's time.
        case certificateRejected
        /// The operation needs a private key, but the key is public.
        case privateKeyRequired
        /// The operation needs a public key, but the key is private.
        case publicKeyRequired
        /// The private key is encrypted and the caller didn't give a password.
        case passwordRequired
        /// The private key can't be decrypted: the password is wrong or the PEM is damaged.
        case incorrectPassword
        /// This version doesn't support the algorithm.
        case unsupportedAlgorithm
        /// The key can be used with several algorithms, and the caller must name one.
        case algorithmRequired
        /// The stated algorithm or key ID isn't the key's or the signing service's.
        case algorithmMismatch
        /// Signing failed, or a signing service returned something that can't be a signature of its
        /// algorithm.
        case signingFailed
        /// Encryption failed, because the system has no random numbers, the recipient's key is
        /// unsuitable, or OpenSSL fails.
        case encryptionFailed
        /// The token can't be decrypted with the key: it's for another key, or it was changed.
        ///
        /// The error has no further reason, because the reason would help an attacker.
        case decryptionFailed
        /// The content of an encrypted token is compressed (`zip`), which isn't supported.
        case compressionRejected
        /// The signature doesn't verify with the key.
        case signatureInvalid
        /// A JSON serialization has fewer valid signatures than the caller's policy requires.
        case insufficientSignatures
        /// A parameter that must be protected (`alg`, `enc`, `zip`, `crit`, `b64`, or one that
        /// `crit` names) is in an unprotected header.
        case unprotectedParameter
        /// The header requires an extension that the verifier doesn't understand.
        case criticalHeaderUnsupported
        /// No key in the set matches the token.
        case unknownKey
        /// Several keys in the set match the token.
        case ambiguousKey
        /// The token has expired (`exp`).
        case expired
        /// The token isn't valid yet (`nbf`).
        case notYetValid
        /// The token's issue time (`iat`) is in the future.
        case issuedInFuture
        /// The token was issued longer ago than the policy allows.
        case tooOld
        /// A claim that the policy requires is missing.
        case missingClaim
        /// A claim has the wrong JSON type or is out of range.
        case malformedClaim
        /// The issuer (`iss`) isn't the expected one.
        case issuerMismatch
        /// The audience (`aud`) doesn't contain the expected one, or the policy doesn't expect an
        /// audience.
        case audienceMismatch
        /// The subject (`sub`) isn't the expected one.
        case subjectMismatch
        /// The type (`typ`) isn't the expected one.
        case typeMismatch
        /// A claim of the issuer's own, such as a tenant or a repository, isn't the expected one.
        case claimMismatch
        /// The token has a claim that the policy prohibits.
        case prohibitedClaim
        /// The time from `iat` to `exp` is longer than the policy allows.
        case lifetimeTooLong
        /// The token's status list has no entry for the token, or a status that isn't accepted,
        /// such as revoked, or isn't at an allowed location.
        case statusRejected
        /// A custom check rejected the token.
        case checkFailed
        /// The nonce (`nonce`) isn't the expected one, or the verifier doesn't expect one.
        case nonceMismatch
        /// The authorized party (`azp`) of an ID token is another client.
        case authorizedPartyMismatch
        /// A hash in an ID token (`at_hash`, `c_hash` or `s_hash`) or in a key binding (`sd_hash`)
        /// doesn't match the value that came with the token.
        case hashMismatch
        /// The authentication context class (`acr`) of a token isn't an accepted one.
        case authenticationContextMismatch
        /// The method in a DPoP proof (`htm`) isn't the request's method.
        case methodMismatch
        /// The URL in a DPoP proof (`htu`) isn't the request's URL.
        case targetMismatch
        /// The hash in a DPoP proof (`ath`) doesn't match the access token.
        case accessTokenMismatch
        /// The access token is bound to a different key than the DPoP proof's, or an SD-JWT isn't
        /// bound to a key.
        case confirmationMismatch
        /// The token or proof has been used before.
        case replayed
        /// The replay cache is full and can't tell whether the token or proof has been used before.
        case replayCacheFull
        /// The replay cache failed, so the verifier can't tell whether the token or proof has been
        /// used before.
        case replayCacheFailed
        /// A disclosure of an SD-JWT isn't a salted claim, or has the wrong form for its place.
        case malformedDisclosure
        /// The disclosures of an SD-JWT don't fit its digests: one is repeated, superfluous or
        /// collides with another claim.
        case disclosureMismatch
        /// A presented SD-JWT has no key binding although the verifier requires one, or an SD-JWT
        /// for a holder has one.
        case keyBindingMismatch
        /// The text isn't a duration.
        case malformedDuration

        /// A name from a bounded set, suitable as a metric label.
        public var description: String { rawValue }
    }

    /// Returns a Boolean value that indicates whether two errors have the same code.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }

    /// The code and the message, in readable form.
    ///
    /// The cause isn't included, because Foundation's coding errors print the values that they
    /// reject.
    public var description: String { "\(code): \(message)" }

    /// The same text as ``description``, for Foundation APIs.
    public var errorDescription: String? { description }

    /// Shortens an untrusted name and removes characters that could forge a log line.
    package static func shown(_ name: String) -> String {
        var text = ""
        for scalar in name.unicodeScalars {
            if text.unicodeScalars.count == 40 { return "“\(text)…”" }
            text.unicodeScalars.append((" "..."~").contains(scalar) ? scalar : "?")
        }
        return "“\(text)”"
    }
}
