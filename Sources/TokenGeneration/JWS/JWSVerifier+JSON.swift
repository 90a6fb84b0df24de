public import Foundation

extension JWSVerifier {
    /// Verifies a JSON serialization that has its payload in it, general or flattened.
    ///
    /// What breaks the form of one signature makes the whole malformed. A signature that is well formed and yet not good is
    /// refused alone, and the policy decides.
    ///
    /// - Parameters:
    ///   - json: The JSON text.
    ///   - policy: Which signatures must be good.
    /// - Returns: What was signed, and by whom.
    /// - Throws: ``TokenError`` with the code `malformedToken` or `tooLarge`; `insufficientSignatures`, whose cause is a
    ///   ``JWSVerificationFailure``; or, if there is only one signature, why it is not good: `unprotectedParameter`,
    ///   `criticalHeaderUnsupported`, `algorithmMismatch`, `unknownKey`, `ambiguousKey`, what is wrong with the key that the
    ///   header means, or `signatureInvalid`.
    public func verify(json: String, requiring policy: JWSSignaturePolicy) throws(TokenError) -> VerifiedJWS {
        try verify(attached: JSONToken(Array(json.utf8), limits: limits), policy)
    }

    /// Verifies a JSON serialization in UTF-8 that has its payload in it, as ``verify(json:requiring:)-(String,_)`` does.
    ///
    /// - Parameters:
    ///   - json: The JSON text in UTF-8.
    ///   - policy: Which signatures must be good.
    /// - Returns: What was signed, and by whom.
    /// - Throws: ``TokenError`` as for a string.
    public func verify(json: Data, requiring policy: JWSSignaturePolicy) throws(TokenError) -> VerifiedJWS {
        try verify(attached: JSONToken(Array(json), limits: limits), policy)
    }

    /// Verifies a JSON serialization that has been read, as ``verify(json:requiring:)-(String,_)`` does.
    ///
    /// - Parameters:
    ///   - json: The JSON object, general or flattened, such as ``JWSGenerator`` makes.
    ///   - policy: Which signatures must be good.
    /// - Returns: What was signed, and by whom.
    /// - Throws: ``TokenError`` as for a string.
    public func verify(json: JSONObject, requiring policy: JWSSignaturePolicy) throws(TokenError) -> VerifiedJWS {
        try verify(attached: JSONToken(json.serializedBytes(), limits: limits), policy)
    }

    /// Verifies a JSON serialization whose payload is not in it
    /// ([RFC 7515 Appendix F](https://www.rfc-editor.org/rfc/rfc7515#appendix-F)).
    ///
    /// - Parameters:
    ///   - json: The JSON text, which must have no `payload`.
    ///   - detachedPayload: The payload.
    ///   - policy: Which signatures must be good.
    /// - Returns: What was signed, and by whom.
    /// - Throws: ``TokenError`` as ``verify(json:requiring:)-(String,_)`` does; `malformedToken` also if the JSON has a payload.
    public func verify(
        json: String,
        detachedPayload: Data,
        requiring policy: JWSSignaturePolicy
    ) throws(TokenError) -> VerifiedJWS {
        try verify(detached: JSONToken(Array(json.utf8), limits: limits), detachedPayload, policy)
    }

    /// Verifies a JSON serialization in UTF-8 whose payload is not in it.
    ///
    /// - Parameters:
    ///   - json: The JSON text in UTF-8, which must have no `payload`.
    ///   - detachedPayload: The payload.
    ///   - policy: Which signatures must be good.
    /// - Returns: What was signed, and by whom.
    /// - Throws: ``TokenError`` as for a string.
    public func verify(
        json: Data,
        detachedPayload: Data,
        requiring policy: JWSSignaturePolicy
    ) throws(TokenError) -> VerifiedJWS {
        try verify(detached: JSONToken(Array(json), limits: limits), detachedPayload, policy)
    }

    /// Verifies a JSON serialization that has been read and whose payload is not in it.
    ///
    /// - Parameters:
    ///   - json: The JSON object, which must have no `payload`.
    ///   - detachedPayload: The payload.
    ///   - policy: Which signatures must be good.
    /// - Returns: What was signed, and by whom.
    /// - Throws: ``TokenError`` as for a string.
    public func verify(
        json: JSONObject,
        detachedPayload: Data,
        requiring policy: JWSSignaturePolicy
    ) throws(TokenError) -> VerifiedJWS {
        try verify(detached: JSONToken(json.serializedBytes(), limits: limits), detachedPayload, policy)
    }
}

extension JWSVerifier {
    private func verify(attached token: JSONToken, _ policy: JWSSignaturePolicy) throws(TokenError) -> VerifiedJWS {
        guard let payload = try token.payloadOctets(), let signed = token.payload else {
            throw TokenError(.malformedToken, "the JSON has no “payload”: if it is detached, give it to the verifier")
        }
        // It is signed as it stands.
        return try verify(token, Data(payload), signed: Array(signed.utf8), .unencoded, policy)
    }

    private func verify(
        detached token: JSONToken,
        _ payload: Data,
        _ policy: JWSSignaturePolicy
    ) throws(TokenError) -> VerifiedJWS {
        guard token.payload == nil else {
            throw TokenError(.malformedToken, "the payload was given, but the JSON has one in it, too")
        }
        return try verify(token, payload, signed: Array(payload), token.payloadEncoding, policy)
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
                "the key set has entries that can't verify, or more of them than there are good signatures, so that not every "
                    + "key can have signed: remove them, or require a threshold",
                cause: JWSVerificationFailure(verifiedIndices: verified.map(\.index), refusals: refusals)
            )
        }
        guard let first = verified.first, isSatisfied(policy, required, by: verified, refusals) else {
            throw Self.failure(verified, refusals)
        }
        return VerifiedJWS(
            payload: payload,
            payloadEncoding: token.payloadEncoding,
            first: first,
            others: Array(verified.dropFirst()),
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
        return try key(for: header) { key in key.isValidSignature(signature.signature, over: input) }
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
            "\(verified.count) of \(verified.count + refusals.count) signatures are good, which is not what the policy needs"
                + (reasons.isEmpty ? "" : "; the others by place: \(reasons)\(others)"),
            cause: JWSVerificationFailure(verifiedIndices: verified.map(\.index), refusals: refusals)
        )
    }
}
