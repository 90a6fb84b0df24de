public import Foundation
internal import OpenSSLCrypto

extension JWSVerifier {
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
}

extension JWSVerifier {
    /// Verifies a parsed JSON serialization.
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
