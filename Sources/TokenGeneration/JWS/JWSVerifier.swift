public import FoundationEssentials
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
        return VerifiedJWS(payload: payload, payloadEncoding: encoding, signatures: [verified], refusals: [])
    }

    var criticalExtensions: Set<String> { understoodExtensions.union(["b64"]) }

    func key(
        for header: ProtectedHeader,
        _ madeSignature: (VerificationKey) -> Bool
    ) throws(TokenError) -> VerificationKey {
        guard let key = try keys.keys(for: header).first(where: madeSignature) else {
            throw TokenError(.signatureInvalid, "the signature doesn't verify with any of the verifier's matching keys")
        }
        return key
    }

    /// Verifies a general or flattened JSON serialization.
    ///
    /// A malformed signature makes the whole text malformed. A well-formed but invalid signature is
    /// rejected on its own, and the policy decides about the JWS.
    ///
    /// - Parameters:
    ///   - json: The JSON text.
    ///   - detachedPayload: The payload, if the JSON doesn't contain it
    ///     ([RFC 7515 Appendix F](https://www.rfc-editor.org/rfc/rfc7515#appendix-F)). The default,
    ///     `nil`, requires `payload` in the JSON.
    ///   - policy: The signatures that must be valid.
    /// - Returns: The payload and its valid signatures.
    /// - Throws: ``TokenError`` with the code `malformedToken` or `tooLarge`;
    ///   `insufficientSignatures`, whose cause is a ``JWSVerificationFailure``; or, if there is
    ///   only one signature, the reason why it isn't valid: `unprotectedParameter`,
    ///   `criticalHeaderUnsupported`, `algorithmMismatch`, `unknownKey`, `ambiguousKey`, the code
    ///   for a problem with the matching key, or `signatureInvalid`.
    public func verify(
        json: String,
        detachedPayload: Data? = nil,
        requiring policy: JWSSignaturePolicy
    ) throws(TokenError) -> VerifiedJWS {
        try verify(JSONToken(Array(json.utf8), limits: limits), detachedPayload, policy)
    }

    /// Verifies a general or flattened JSON serialization in UTF-8.
    ///
    /// - Parameters:
    ///   - json: The JSON text in UTF-8.
    ///   - detachedPayload: The payload, if the JSON doesn't contain it. The default is `nil`.
    ///   - policy: The signatures that must be valid.
    /// - Returns: The payload and its valid signatures.
    /// - Throws: ``TokenError`` as ``verify(json:detachedPayload:requiring:)-(String,_,_)`` does.
    public func verify(
        json: Data,
        detachedPayload: Data? = nil,
        requiring policy: JWSSignaturePolicy
    ) throws(TokenError) -> VerifiedJWS {
        try verify(JSONToken(Array(json), limits: limits), detachedPayload, policy)
    }

    func verify(
        _ token: JSONToken,
        _ detachedPayload: Data?,
        _ policy: JWSSignaturePolicy
    ) throws(TokenError) -> VerifiedJWS {
        if let detachedPayload {
            guard token.payload == nil else {
                throw TokenError(.malformedToken, "a detached payload was given, but the JSON also contains a payload")
            }
            let signed = Array(detachedPayload)
            return try verify(token, detachedPayload, signed: signed, token.payloadEncoding, policy)
        }
        guard let payload = try token.payloadOctets(), let signed = token.payload else {
            throw TokenError(.malformedToken, "the JSON has no “payload”; if it's detached, pass it to the verifier")
        }
        // The text of the member is the signed form of the payload.
        return try verify(token, Data(payload), signed: Array(signed.utf8), .unencoded, policy)
    }

    private func verify(
        _ token: JSONToken,
        _ payload: Data,
        signed: [UInt8],
        _ encoding: JWSPayloadEncoding,
        _ policy: JWSSignaturePolicy
    ) throws(TokenError) -> VerifiedJWS {
        var verified: [VerifiedJWS.Signature] = []
        var refusals: [VerifiedJWS.Refusal] = []
        for (index, signature) in token.signatures.enumerated() {
            do throws(TokenError) {
                let key = try key(of: signature, signed, encoding)
                verified.append(
                    VerifiedJWS.Signature(
                        index: index,
                        protectedHeader: signature.protectedHeader,
                        unprotectedHeader: signature.unprotectedHeader,
                        key: key
                    )
                )
            } catch {
                guard error.code != .malformedToken else { throw error }
                refusals.append(VerifiedJWS.Refusal(index: index, reason: error))
            }
        }
        let required = policy.rule == .everyKey && !verified.isEmpty ? keys.everyKey(of: verified.count) : []
        guard let required else {
            throw TokenError(
                .insufficientSignatures,
                "the key set has entries that can't verify, or more entries than valid signatures, so not every key can have "
                    + "signed; remove those keys, or require a threshold",
                cause: JWSVerificationFailure(verifiedIndices: verified.map(\.index), refusals: refusals)
            )
        }
        guard !verified.isEmpty, isSatisfied(policy, required, by: verified, refusals) else {
            throw Self.failure(verified, refusals)
        }
        return VerifiedJWS(
            payload: payload,
            payloadEncoding: token.payloadEncoding,
            signatures: verified,
            refusals: refusals
        )
    }

    private func key(
        of signature: JSONTokenSignature,
        _ payload: [UInt8],
        _ encoding: JWSPayloadEncoding
    ) throws(TokenError) -> VerificationKey {
        let header = try signature.header(understanding: criticalExtensions)
        let input = SigningInput.make(signature.protectedText.utf8, payload, encoding)
        return try key(for: header) { key in
            key.isValidSignature(signature.signature.span.octets, for: input.span.octets)
        }
    }

    private func isSatisfied(
        _ policy: JWSSignaturePolicy,
        _ required: [VerificationKey],
        by verified: [VerifiedJWS.Signature],
        _ refusals: [VerifiedJWS.Refusal]
    ) -> Bool {
        switch policy.rule {
        case .any: !verified.isEmpty
        case .all: refusals.isEmpty
        case .everyKey:
            required.allSatisfy { key in
                verified.contains { $0.key.thumbprint == key.thumbprint && $0.key.algorithm == key.algorithm }
            }
        case .threshold(let count): Set(verified.map(\.key.thumbprint)).count >= count
        }
    }

    private static func failure(
        _ verified: [VerifiedJWS.Signature],
        _ refusals: [VerifiedJWS.Refusal]
    ) -> TokenError {
        if verified.isEmpty, let only = refusals.first, refusals.count == 1 { return only.reason }
        let reasons = refusals.prefix(10).map { "\($0.index): \($0.reason.code)" }.joined(separator: ", ")
        let others = refusals.count > 10 ? ", …" : ""
        return TokenError(
            .insufficientSignatures,
            "the policy requires more valid signatures: \(verified.count) of \(verified.count + refusals.count) are valid"
                + (reasons.isEmpty ? "" : "; the others by index: \(reasons)\(others)"),
            cause: JWSVerificationFailure(verifiedIndices: verified.map(\.index), refusals: refusals)
        )
    }
}

/// The signatures that a JSON serialization must have to be accepted.
///
/// [RFC 7515 §5.2](https://www.rfc-editor.org/rfc/rfc7515#section-5.2) leaves the choice to the
/// application, so there is no default. A signature is valid if one of the verifier's keys verifies
/// it. An attacker can remove signatures from a JWS and add others: only ``everyKey`` and
/// ``threshold(_:)`` determine who must have signed.
public struct JWSSignaturePolicy: Sendable, Hashable {
    enum Rule: Hashable {
        case any, all, everyKey, threshold(Int)
    }

    let rule: Rule

    /// At least one signature must be valid.
    public static let any = JWSSignaturePolicy(rule: .any)

    /// Every signature in the JWS must be valid, by any of the verifier's keys.
    public static let all = JWSSignaturePolicy(rule: .all)

    /// Each of the verifier's keys must have made a valid signature; other signatures are ignored.
    ///
    /// If an entry of a key set can't verify (``JWKSet/unusableKeys(_:)``, ``JWKSet/rejections``),
    /// every JWS is rejected, because that key's signature can't be required.
    public static let everyKey = JWSSignaturePolicy(rule: .everyKey)

    /// Requires valid signatures by a minimum number of the verifier's keys.
    ///
    /// Two signatures by the same key count once.
    ///
    /// - Parameter count: The number of keys; less than 1 counts as 1.
    /// - Returns: The policy.
    public static func threshold(_ count: Int) -> JWSSignaturePolicy {
        JWSSignaturePolicy(rule: .threshold(max(count, 1)))
    }
}

/// The valid and invalid signatures of a JSON serialization that a policy rejected.
///
/// It's the cause of a ``TokenError`` with the code `insufficientSignatures`, for the caller's
/// logs.
public struct JWSVerificationFailure: Error, Sendable {
    /// The indices of the valid signatures, from 0.
    public let verifiedIndices: [Int]
    /// The other signatures, with the reason for each rejection.
    public let refusals: [VerifiedJWS.Refusal]
}

/// The maximum size of a JWS, so that an untrusted text can't exhaust the process.
///
/// A text that exceeds a limit is rejected with the code `tooLarge`, before any decoding where
/// possible.
public struct JWSLimits: Sendable, Hashable {
    /// The maximum size of the whole text in bytes, 64 KiB by default.
    ///
    /// A detached payload doesn't count, because it comes from the caller.
    public var size: Int
    /// The maximum size of a header's JSON in bytes, 8 KiB by default.
    public var headerSize = 8_192
    /// The maximum number of signatures in a JSON serialization, 100 by default.
    ///
    /// Each signature costs a verification. Use a low limit with slow keys.
    public var signatureCount = 100
    /// The maximum nesting depth of objects and arrays in JSON, 64 by default and at most 512.
    ///
    /// A larger number becomes 512, because each level uses stack space.
    public var depth: Int {
        get { allowedDepth }
        set { allowedDepth = min(newValue, Self.maximumDepth) }
    }
    private var allowedDepth = 64  // No observer: it wouldn't run in initializers of extensions.
    /// The maximum number of members in one JSON object, 1000 by default.
    public var memberCount = 1_000

    package static let maximumDepth = 512

    /// Creates limits in which the other properties have their default values.
    public init(size: Int = 65_536) {
        self.size = size
    }

    var header: JSONLimits { JSONLimits(size: headerSize, depth: depth, members: memberCount) }
    var document: JSONLimits { JSONLimits(size: size, depth: depth, members: memberCount) }

    func claims(in payload: [UInt8]) throws(TokenError) -> JSONObject {
        let limits = JSONLimits(size: payload.count, depth: depth, members: memberCount)
        return try JSONToken.object(in: payload, limits, "payload")
    }

    /// A header that is too long isn't decoded.
    func protectedHeader(in text: Span<UInt8>) throws(TokenError) -> JSONObject {
        guard text.count / 4 * 3 + text.count % 4 * 3 / 4 <= headerSize else {
            throw TokenError(.tooLarge, "the header has more than \(headerSize) bytes")
        }
        return try JSONToken.object(in: Base64URL.decode(text, "header"), header, "header")
    }
}
