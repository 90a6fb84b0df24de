public import Foundation
internal import OpenSSLCrypto

/// Why a token, a key or a piece of JSON was refused, or why a token could not be made.
///
/// The message says what failed, where, and what to do; it never has a token, a claim's value or key material in it.
/// Two errors are equal if their codes are.
public struct TokenError: Error, Sendable {
    /// What kind of failure it is.
    public let code: Code
    /// What failed, where, and what to do about it.
    public let message: String
    /// The error that caused this one, if there is one.
    public let cause: (any Error)?

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: What kind of failure it is.
    ///   - message: What failed, where, and what to do about it. Put no secret into it.
    ///   - cause: The error that caused this one.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}

extension TokenError {
    /// What kind of failure it is.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Wrapped: String {
            case malformedToken, malformedJSON, tooLarge, unencodableContent
            case malformedKey, unsupportedKey, weakKey, keyMismatch, privateKeyRequired, publicKeyRequired
            case certificateRejected
            case passwordRequired, incorrectPassword
            case unsupportedAlgorithm, algorithmRequired, algorithmMismatch, signingFailed
            case signatureInvalid, insufficientSignatures, criticalHeaderUnsupported, unprotectedParameter
            case unknownKey, ambiguousKey
            case expired, notYetValid, issuedInFuture, tooOld, missingClaim, malformedClaim
            case issuerMismatch, audienceMismatch, subjectMismatch, typeMismatch
            case prohibitedClaim, lifetimeTooLong, checkFailed
            case nonceMismatch, authorizedPartyMismatch, hashMismatch, authenticationContextMismatch
            case methodMismatch, targetMismatch, accessTokenMismatch, confirmationMismatch, replayed, replayCacheFull
            case malformedDuration
        }

        private let wrapped: Wrapped

        private init(_ wrapped: Wrapped) {
            self.wrapped = wrapped
        }

        /// A bounded name, fit for a metric's label.
        public var description: String { wrapped.rawValue }

        /// The text is not a compact JWS with a JSON header and JSON claims.
        public static var malformedToken: Self { Self(.malformedToken) }
        /// The text is not JSON, or not the strict JSON that tokens and keys must be.
        public static var malformedJSON: Self { Self(.malformedJSON) }
        /// A limit on bytes, depth, members or keys is exceeded.
        public static var tooLarge: Self { Self(.tooLarge) }
        /// A header or claim has a value that JSON can't hold.
        public static var unencodableContent: Self { Self(.unencodableContent) }
        /// The key is not well formed: its PEM, its JWK members, or its numbers.
        public static var malformedKey: Self { Self(.malformedKey) }
        /// The key is of a kind, or on a curve, that this version can't use.
        public static var unsupportedKey: Self { Self(.unsupportedKey) }
        /// The key is well formed but too small for its algorithm, or anyone could find out its private part.
        public static var weakKey: Self { Self(.weakKey) }
        /// The parts of a key disagree: private and public part, or what the key is declared for and its use.
        public static var keyMismatch: Self { Self(.keyMismatch) }
        /// A certificate is not issued under one of the caller's roots, or not valid at the caller's time.
        public static var certificateRejected: Self { Self(.certificateRejected) }
        /// A public key was given where a private one is needed.
        public static var privateKeyRequired: Self { Self(.privateKeyRequired) }
        /// A private key was given where a public one is needed.
        public static var publicKeyRequired: Self { Self(.publicKeyRequired) }
        /// The private key is encrypted and no password was given.
        public static var passwordRequired: Self { Self(.passwordRequired) }
        /// The private key does not decrypt: the password is wrong or the PEM is damaged.
        public static var incorrectPassword: Self { Self(.incorrectPassword) }
        /// The algorithm is not one that this version knows.
        public static var unsupportedAlgorithm: Self { Self(.unsupportedAlgorithm) }
        /// The key could be for several algorithms: the caller has to name one.
        public static var algorithmRequired: Self { Self(.algorithmRequired) }
        /// The algorithm or the key ID that is stated differs from the key's or the signing service's.
        public static var algorithmMismatch: Self { Self(.algorithmMismatch) }
        /// A signature could not be made, or a signing service returned something that is no signature of its algorithm.
        public static var signingFailed: Self { Self(.signingFailed) }
        /// The signature is not one by this key over this token.
        public static var signatureInvalid: Self { Self(.signatureInvalid) }
        /// Fewer signatures of a JSON serialization are good than the caller's policy needs.
        public static var insufficientSignatures: Self { Self(.insufficientSignatures) }
        /// A parameter that must be integrity protected (`alg`, `crit`, `b64`, or one that `crit` names) stands in an unprotected
        /// header.
        public static var unprotectedParameter: Self { Self(.unprotectedParameter) }
        /// The header demands an extension that is not understood.
        public static var criticalHeaderUnsupported: Self { Self(.criticalHeaderUnsupported) }
        /// No key of the set is meant by the token.
        public static var unknownKey: Self { Self(.unknownKey) }
        /// Several keys of the set are meant by the token.
        public static var ambiguousKey: Self { Self(.ambiguousKey) }
        /// The time of `exp` has come.
        public static var expired: Self { Self(.expired) }
        /// The time of `nbf` has not come.
        public static var notYetValid: Self { Self(.notYetValid) }
        /// The time of `iat` has not come.
        public static var issuedInFuture: Self { Self(.issuedInFuture) }
        /// The token was issued longer ago than the policy allows.
        public static var tooOld: Self { Self(.tooOld) }
        /// A claim that the policy needs is absent.
        public static var missingClaim: Self { Self(.missingClaim) }
        /// A claim has the wrong JSON type or a value out of range.
        public static var malformedClaim: Self { Self(.malformedClaim) }
        /// `iss` is not the expected issuer.
        public static var issuerMismatch: Self { Self(.issuerMismatch) }
        /// `aud` does not contain the expected audience, or the token has one and none is expected.
        public static var audienceMismatch: Self { Self(.audienceMismatch) }
        /// `sub` is not the expected subject.
        public static var subjectMismatch: Self { Self(.subjectMismatch) }
        /// `typ` is not the expected type.
        public static var typeMismatch: Self { Self(.typeMismatch) }
        /// The token has a claim that the policy prohibits.
        public static var prohibitedClaim: Self { Self(.prohibitedClaim) }
        /// The time from `iat` to `exp` is longer than the policy allows.
        public static var lifetimeTooLong: Self { Self(.lifetimeTooLong) }
        /// A check of the caller's refuses the token.
        public static var checkFailed: Self { Self(.checkFailed) }
        /// `nonce` is not the expected one, or is there without being expected.
        public static var nonceMismatch: Self { Self(.nonceMismatch) }
        /// `azp` of an ID token is another client.
        public static var authorizedPartyMismatch: Self { Self(.authorizedPartyMismatch) }
        /// `at_hash`, `c_hash` or `s_hash` of an ID token is not the hash of what came with it.
        public static var hashMismatch: Self { Self(.hashMismatch) }
        /// `acr` of a token is none of the authentication context classes that will do.
        public static var authenticationContextMismatch: Self { Self(.authenticationContextMismatch) }
        /// `htm` of a DPoP proof is not the request's method.
        public static var methodMismatch: Self { Self(.methodMismatch) }
        /// `htu` of a DPoP proof is not the request's target.
        public static var targetMismatch: Self { Self(.targetMismatch) }
        /// `ath` of a DPoP proof is not the hash of the access token.
        public static var accessTokenMismatch: Self { Self(.accessTokenMismatch) }
        /// The access token is bound to another key than the DPoP proof's.
        public static var confirmationMismatch: Self { Self(.confirmationMismatch) }
        /// The token or proof has been used before.
        public static var replayed: Self { Self(.replayed) }
        /// The replay cache has no room, so it can't be told whether the token or proof has been used before.
        public static var replayCacheFull: Self { Self(.replayCacheFull) }
        /// The text is no duration.
        public static var malformedDuration: Self { Self(.malformedDuration) }
    }
}

extension TokenError: Equatable {
    /// Whether two errors have the same code; messages and causes don't count.
    ///
    /// - Parameters:
    ///   - left: One error.
    ///   - right: The other.
    /// - Returns: Whether the codes are equal.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
}

extension TokenError: CustomStringConvertible, LocalizedError {
    /// The code and the message, for a person to read.
    ///
    /// A cause is not part of it: Foundation's coding errors print the values they stumbled over.
    public var description: String { "\(code): \(message)" }

    /// The same text for APIs that ask Foundation.
    public var errorDescription: String? { description }
}

extension TokenError {
    /// A name from outside as a message may show it: short, and without characters that could forge a log line.
    static func shown(_ name: String) -> String {
        var text = ""
        for scalar in name.unicodeScalars {
            if text.unicodeScalars.count == 40 { return "“\(text)…”" }
            text.unicodeScalars.append((" "..."~").contains(scalar) ? scalar : "?")
        }
        return "“\(text)”"
    }
}
