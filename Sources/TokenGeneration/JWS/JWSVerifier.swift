public import Foundation
internal import OpenSSLCrypto

/// A verifier of JWSs with any payload, in every serialization.
///
/// ```swift
/// let verifier = JWSVerifier(key: key)
/// let payload = try verifier.verify(compact: text).payload
/// ```
///
/// The keys fix the algorithm; nothing in the JWS can change it. `alg` is read from the protected
/// header only and must be the key's algorithm. Keys and URLs in a header (`jwk`, `jku`, `x5c`,
/// `x5u`) are ignored. A header that requires an extension (`crit`) is rejected unless the
/// extension is `b64` or one of ``understoodExtensions``. For tokens with claims, use
/// ``JWTVerifier``, which also validates the claims.
public struct JWSVerifier: Sendable {
    /// The maximum size of a JWS.
    public var limits = JWSLimits()
    /// The header parameters that `crit` may name, in addition to `b64`; none by default.
    ///
    /// By naming a parameter here, you confirm that you act on its value in ``VerifiedJWS/header``.
    public var understoodExtensions: Set<String> = []

    let keys: VerificationKeySource

    /// Creates a verifier for one key.
    ///
    /// A `kid` in the header is ignored; the signature is conclusive.
    ///
    /// - Parameter key: The key.
    public init(key: VerificationKey) {
        self.init(keys: [key])
    }

    /// Creates a verifier for several keys, each of which you trust for any content.
    ///
    /// The verifier tries a signature with the keys that have its algorithm and its `kid`. If none
    /// has that `kid`, it tries the keys of that algorithm that have no `kid`.
    ///
    /// - Parameter keys: The keys. An empty array rejects every signature.
    public init(keys: [VerificationKey]) {
        self.keys = .list(keys)
    }

    /// Creates a verifier for a key set.
    ///
    /// The `kid` of a signature selects the key, as in
    /// ``JWTVerifier/init(keys:selection:policy:)``.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - selection: Exceptions from the rules of key selection.
    public init(keys: JWKSet, selection: KeySelection = KeySelection()) {
        self.keys = .set(KeySelector(keys, selection))
    }

    /// Verifies a compact JWS.
    ///
    /// - Parameters:
    ///   - compact: The compact JWS.
    ///   - detachedPayload: The payload, if the JWS doesn't contain it
    ///     ([RFC 7515 Appendix F](https://www.rfc-editor.org/rfc/rfc7515#appendix-F)): its second
    ///     segment must be empty. The default is `nil`.
    /// - Returns: The verified JWS.
    /// - Throws: ``TokenError`` with the code of the first check that fails: `malformedToken` or
    ///   `tooLarge`; `criticalHeaderUnsupported`; `algorithmMismatch`, `unknownKey`,
    ///   `ambiguousKey`, or the code for a problem with the matching key; `signatureInvalid`.
    public func verify(compact: String, detachedPayload: Data? = nil) throws(TokenError) -> VerifiedJWS {
        let token = try CompactToken(compact, limits: limits)
        guard detachedPayload == nil || token.hasEmptyPayload else {
            throw TokenError(.malformedToken, "a detached payload was given, but the JWS also contains a payload")
        }
        let header = try token.header()
        try header.checkCriticalMembers(understanding: criticalExtensions)
        let encoding = try JWSPayloadEncoding(header.members)
        let signature = try token.signature()
        let input = detachedPayload.map { token.signingInput(with: Array($0), encoding) }
        let key = try key(for: header) { key in
            input.map { key.isValidSignature(signature.span.octets, for: $0.span.octets) }
                ?? token.isSigned(by: key, with: signature)
        }
        let payload = if let detachedPayload { detachedPayload } else { Data(try token.payload(encoding)) }
        let verified = VerifiedJWS.Signature(
            index: 0,
            protectedHeader: header.members,
            unprotectedHeader: [:],
            key: key
        )
        return VerifiedJWS(payload: payload, payloadEncoding: encoding, signatures: [verified])
    }
}

extension JWSVerifier {
    /// The extensions that `crit` may name.
    var criticalExtensions: Set<String> { understoodExtensions.union(["b64"]) }

    /// Returns the matching key that made a signature.
    func key(
        for header: ProtectedHeader,
        _ madeSignature: (VerificationKey) -> Bool
    ) throws(TokenError) -> VerificationKey {
        guard let key = try keys.keys(for: header).first(where: madeSignature) else {
            throw TokenError(.signatureInvalid, "the signature doesn't verify with any of the verifier's matching keys")
        }
        return key
    }
}
