public import Foundation

extension JWSGenerator {
    /// Makes a compact JWS that a remote service signs
    /// ([RFC 7515 §7.1](https://www.rfc-editor.org/rfc/rfc7515#section-7.1)).
    ///
    /// ```swift
    /// let text = try await JWSGenerator.makeCompact(payload: document, remoteSigningService: cloudKey)
    /// ```
    ///
    /// - Parameters:
    ///   - payload: The payload.
    ///   - payloadEncoding: How the payload stands in the JWS and under the signature.
    ///   - header: Members of the protected header besides `alg` and `kid`.
    ///   - placement: Whether the payload is in the JWS.
    ///   - remoteSigningService: What signs.
    /// - Returns: The text.
    /// - Throws: ``TokenError`` as ``compact(_:)`` does, before the service is asked; `signingFailed` also for a signature that
    ///   the service's own public key does not verify, `unsupportedAlgorithm` for a digest of an algorithm that signs none; and
    ///   what the service throws, unchanged.
    public static func makeCompact(
        payload: Data,
        payloadEncoding: JWSPayloadEncoding = .base64url,
        header: JSONObject = [:],
        placement: JWSPayloadPlacement = .attached,
        remoteSigningService: any RemoteSigningService
    ) async throws -> String {
        let payload = JWSPayload(payload, payloadEncoding)
        try payload.checkCompact(placement, unprotectedHeader: [:])
        let part = try payload.part(
            header: header,
            unprotectedHeader: [:],
            signedBy: SignerIdentity(remoteSigningService)
        )
        return payload.compact(placement, part, try await remoteSigningService.checkedSignature(for: part.input))
    }

    /// Makes a flattened JSON serialization that a remote service signs
    /// ([RFC 7515 §7.2.2](https://www.rfc-editor.org/rfc/rfc7515#section-7.2.2)).
    ///
    /// - Parameters:
    ///   - payload: The payload.
    ///   - payloadEncoding: How the payload stands in the JWS and under the signature.
    ///   - header: Members of the protected header besides `alg` and `kid`.
    ///   - unprotectedHeader: Members of the unprotected header, which anybody can change. If `kid` is among them, it is not in
    ///     the protected header.
    ///   - placement: Whether the payload is in the JWS.
    ///   - remoteSigningService: What signs.
    /// - Returns: The JSON object.
    /// - Throws: ``TokenError`` as ``flattenedJSON(_:)`` does, before the service is asked; and for signatures as
    ///   ``makeCompact(payload:payloadEncoding:header:placement:remoteSigningService:)`` does.
    public static func makeFlattenedJSON(
        payload: Data,
        payloadEncoding: JWSPayloadEncoding = .base64url,
        header: JSONObject = [:],
        unprotectedHeader: JSONObject = [:],
        placement: JWSPayloadPlacement = .attached,
        remoteSigningService: any RemoteSigningService
    ) async throws -> JSONObject {
        let payload = JWSPayload(payload, payloadEncoding)
        let member = try payload.member(placement)
        let part = try payload.part(
            header: header,
            unprotectedHeader: unprotectedHeader,
            signedBy: SignerIdentity(remoteSigningService)
        )
        let signature = try await remoteSigningService.checkedSignature(for: part.input)
        return JWSPayload.flattenedJSON(member, part, signature)
    }

    /// Makes a general JSON serialization of whose signatures some, or all, are made remotely
    /// ([RFC 7515 §7.2.1](https://www.rfc-editor.org/rfc/rfc7515#section-7.2.1)).
    ///
    /// The remote services are asked at the same time, after all headers have been found good. The first failure cancels the
    /// others.
    ///
    /// - Parameters:
    ///   - payload: The payload.
    ///   - payloadEncoding: How the payload stands in the JWS and under the signatures.
    ///   - placement: Whether the payload is in the JWS.
    ///   - signers: Who signs, in the order of the signatures.
    /// - Returns: The JSON object.
    /// - Throws: ``TokenError`` as ``generalJSON(_:)`` does, before anybody is asked to sign; and for signatures as
    ///   ``makeCompact(payload:payloadEncoding:header:placement:remoteSigningService:)`` does.
    public static func makeGeneralJSON(
        payload: Data,
        payloadEncoding: JWSPayloadEncoding = .base64url,
        placement: JWSPayloadPlacement = .attached,
        signers: [RemoteJWSSigner]
    ) async throws -> JSONObject {
        guard !signers.isEmpty else { throw TokenError(.unencodableContent, "a JWS must have a signer") }
        let payload = JWSPayload(payload, payloadEncoding)
        let member = try payload.member(placement)
        let parts = try signers.map { signer throws(TokenError) in
            try payload.part(
                header: signer.header,
                unprotectedHeader: signer.unprotectedHeader,
                signedBy: signer.identity
            )
        }
        let signatures = try await withThrowingTaskGroup(of: (Int, [UInt8]).self) { group in
            for (index, signer) in signers.enumerated() {
                let input = parts[index].input
                group.addTask { (index, try await signer.checkedSignature(for: input)) }
            }
            var octets = [[UInt8]](repeating: [], count: parts.count)
            for try await (index, signature) in group { octets[index] = signature }
            return octets
        }
        return JWSPayload.generalJSON(member, Array(zip(parts, signatures)))
    }
}
