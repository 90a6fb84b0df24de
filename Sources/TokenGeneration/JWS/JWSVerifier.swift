public import Foundation
internal import OpenSSLCrypto

/// Verifies a JWS with any payload, in each of its serializations.
///
/// ```swift
/// let verifier = JWSVerifier(key: key)
/// let payload = try verifier.verify(compact: text).payload
/// ```
///
/// The key decides, never the JWS: `alg` is taken from the protected header only and must be the key's algorithm; keys and
/// addresses that stand in a header (`jwk`, `jku`, `x5c`, `x5u`) are not looked at; and a header that demands an extension
/// (`crit`) is refused unless the extension is `b64` or one of ``understoodExtensions``. ``JWTVerifier`` is for tokens with
/// claims: it also checks these.
public struct JWSVerifier: Sendable {
    /// How large a JWS may be.
    public var limits: JWSLimits
    /// The header parameters that a `crit` may name, besides `b64`.
    ///
    /// To name one here says that you act on its value, which stands in ``VerifiedJWS/header``.
    public var understoodExtensions: Set<String>

    let keys: VerificationKeySource

    /// Makes a verifier for one key.
    ///
    /// A `kid` in the header does not matter: the signature tells.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - understoodExtensions: The header parameters that a `crit` may name, besides `b64`.
    ///   - limits: How large a JWS may be.
    public init(key: VerificationKey, understoodExtensions: Set<String> = [], limits: JWSLimits = JWSLimits()) {
        self.init(keys: [key], understoodExtensions: understoodExtensions, limits: limits)
    }

    /// Makes a verifier for several keys, each of which you trust for whatever is signed.
    ///
    /// A signature is tried with the keys that have its algorithm and its `kid`; or, if none has, with those of its algorithm
    /// that have no `kid` at all.
    ///
    /// - Parameters:
    ///   - keys: The keys. Without any, every signature is refused.
    ///   - understoodExtensions: The header parameters that a `crit` may name, besides `b64`.
    ///   - limits: How large a JWS may be.
    public init(keys: [VerificationKey], understoodExtensions: Set<String> = [], limits: JWSLimits = JWSLimits()) {
        self.keys = .list(keys)
        self.understoodExtensions = understoodExtensions
        self.limits = limits
    }

    /// Makes a verifier for a set of keys, of which a signature's `kid` selects one as ``JWTVerifier/init(keys:selection:policy:)`` does.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - selection: Exceptions from the rules of selection.
    ///   - understoodExtensions: The header parameters that a `crit` may name, besides `b64`.
    ///   - limits: How large a JWS may be.
    public init(
        keys: JWKSet,
        selection: KeySelection = KeySelection(),
        understoodExtensions: Set<String> = [],
        limits: JWSLimits = JWSLimits()
    ) {
        self.keys = .set(KeySelector(keys, selection))
        self.understoodExtensions = understoodExtensions
        self.limits = limits
    }

    /// Verifies a compact JWS that has its payload in it.
    ///
    /// - Parameter compact: The compact JWS.
    /// - Returns: What was signed.
    /// - Throws: ``TokenError`` with the code of the first check that fails: `malformedToken` or `tooLarge`;
    ///   `criticalHeaderUnsupported`; `algorithmMismatch`, `unknownKey`, `ambiguousKey`, or what is wrong with the key that
    ///   the header means; `signatureInvalid`.
    public func verify(compact: String) throws(TokenError) -> VerifiedJWS {
        let token = try CompactToken(compact, limits: limits)
        let (header, encoding) = try header(of: token)
        let signature = try token.signature()
        let key = try key(for: header) { key in token.isSigned(by: key, with: signature) }
        return Self.verified(Data(try token.payload(encoding)), encoding, header, key)
    }

    /// Verifies a compact JWS whose payload is not in it
    /// ([RFC 7515 Appendix F](https://www.rfc-editor.org/rfc/rfc7515#appendix-F)).
    ///
    /// - Parameters:
    ///   - compact: The compact JWS, whose second segment must be empty.
    ///   - detachedPayload: The payload.
    /// - Returns: What was signed.
    /// - Throws: ``TokenError`` as ``verify(compact:)`` does; `malformedToken` also if the JWS has a payload in it.
    public func verify(compact: String, detachedPayload: Data) throws(TokenError) -> VerifiedJWS {
        let token = try CompactToken(compact, limits: limits)
        guard token.hasEmptyPayload else {
            throw TokenError(.malformedToken, "the payload was given, but the JWS has one in it, too")
        }
        let (header, encoding) = try header(of: token)
        let signature = try token.signature()
        let input = token.signingInput(with: Array(detachedPayload), encoding)
        let key = try key(for: header) { key in key.isValidSignature(signature, over: input) }
        return Self.verified(detachedPayload, encoding, header, key)
    }
}

extension JWSVerifier {
    /// The extensions that a `crit` may name.
    var criticalExtensions: Set<String> { understoodExtensions.union(["b64"]) }

    /// The key among those that a header can mean that made a signature.
    ///
    /// - Throws: ``TokenError`` with the code `signatureInvalid`, or why there is no key to try.
    func key(
        for header: ProtectedHeader,
        _ madeSignature: (VerificationKey) -> Bool
    ) throws(TokenError) -> VerificationKey {
        guard let key = try keys.keys(for: header).first(where: madeSignature) else {
            throw TokenError(.signatureInvalid, "the signature is not one by a key of the verifier's over this JWS")
        }
        return key
    }

    private func header(of token: CompactToken) throws(TokenError) -> (ProtectedHeader, JWSPayloadEncoding) {
        let header = try token.header()
        try header.checkCriticalMembers(understanding: criticalExtensions)
        return (header, try JWSPayloadEncoding(header.members))
    }

    private static func verified(
        _ payload: Data,
        _ encoding: JWSPayloadEncoding,
        _ header: ProtectedHeader,
        _ key: VerificationKey
    ) -> VerifiedJWS {
        let signature = VerifiedJWS.Signature(
            index: 0,
            protectedHeader: header.members,
            unprotectedHeader: [:],
            key: key
        )
        return VerifiedJWS(payload: payload, payloadEncoding: encoding, first: signature)
    }
}

extension VerificationKey {
    /// Whether a signature is one by this key over a message.
    func isValidSignature(_ signature: [UInt8], over message: [UInt8]) -> Bool {
        signature.withBytes { signature in
            message.withBytes { message in isValidSignature(signature, for: message) }
        }
    }
}
