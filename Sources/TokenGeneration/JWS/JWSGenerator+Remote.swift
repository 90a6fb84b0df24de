public import Foundation

extension JWSGenerator {
    /// Creates a compact JWS with a remote signing service
    /// ([RFC 7515 §7.1](https://www.rfc-editor.org/rfc/rfc7515#section-7.1)).
    ///
    /// ```swift
    /// let text = try await JWSGenerator.makeCompact(
    ///     payload: document,
    ///     remoteSigningService: cloudKey
    /// )
    /// ```
    ///
    /// - Parameters:
    ///   - payload: The payload.
    ///   - payloadEncoding: The encoding of the payload. The default is base64url.
    ///   - header: Members of the protected header in addition to `alg` and `kid`.
    ///   - placement: Indicates whether the JWS contains the payload, as it does by default.
    ///   - remoteSigningService: The service that signs.
    /// - Returns: The compact JWS.
    /// - Throws: ``TokenError`` as ``compact(_:)`` does, before the request to the service. Also
    ///   `signingFailed` if the service's public key doesn't verify the signature, and
    ///   `unsupportedAlgorithm` if the service takes a digest but the algorithm doesn't sign one.
    ///   The service's own errors are passed on unchanged.
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
            signedBy: .remote(remoteSigningService)
        )
        return payload.compact(placement, part, try await remoteSigningService.checkedSignature(for: part.input))
    }

    /// Creates a flattened JSON serialization with a remote signing service
    /// ([RFC 7515 §7.2.2](https://www.rfc-editor.org/rfc/rfc7515#section-7.2.2)).
    ///
    /// - Parameters:
    ///   - payload: The payload.
    ///   - payloadEncoding: The encoding of the payload. The default is base64url.
    ///   - header: Members of the protected header in addition to `alg` and `kid`.
    ///   - unprotectedHeader: Members of the unprotected header, which anyone can change. If it has
    ///     `kid`, the protected header doesn't.
    ///   - placement: Indicates whether the JWS contains the payload, as it does by default.
    ///   - remoteSigningService: The service that signs.
    /// - Returns: The JSON object.
    /// - Throws: ``TokenError`` as ``flattenedJSON(_:)`` does, before the request to the service,
    ///   and signing errors as
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
            signedBy: .remote(remoteSigningService)
        )
        let signature = try await remoteSigningService.checkedSignature(for: part.input)
        return JWSPayload.flattenedJSON(member, part, signature)
    }

    /// Creates a general JSON serialization with some or all signatures by remote services
    /// ([RFC 7515 §7.2.1](https://www.rfc-editor.org/rfc/rfc7515#section-7.2.1)).
    ///
    /// All headers are checked first. Then the remote services sign concurrently; the first failure
    /// cancels the others.
    ///
    /// - Parameters:
    ///   - payload: The payload.
    ///   - payloadEncoding: The encoding of the payload. The default is base64url.
    ///   - placement: Indicates whether the JWS contains the payload, as it does by default.
    ///   - signers: The signers, in the order of the signatures.
    /// - Returns: The JSON object.
    /// - Throws: ``TokenError`` as ``generalJSON(_:)`` does, before any signer signs, and signing
    ///   errors as ``makeCompact(payload:payloadEncoding:header:placement:remoteSigningService:)``
    ///   does.
    public static func makeGeneralJSON(
        payload: Data,
        payloadEncoding: JWSPayloadEncoding = .base64url,
        placement: JWSPayloadPlacement = .attached,
        signers: [RemoteJWSSigner]
    ) async throws -> JSONObject {
        guard !signers.isEmpty else { throw TokenError(.unencodableContent, "a JWS must have at least one signer") }
        let payload = JWSPayload(payload, payloadEncoding)
        let member = try payload.member(placement)
        let parts = try signers.map { signer throws(TokenError) in
            try payload.part(
                header: signer.header,
                unprotectedHeader: signer.unprotectedHeader,
                signedBy: signer.service
            )
        }
        let signatures = try await withThrowingTaskGroup(of: (Int, [UInt8]).self) { group in
            for (index, signer) in signers.enumerated() {
                let input = parts[index].input
                group.addTask { (index, try await signer.service.checkedSignature(for: input)) }
            }
            var octets = [[UInt8]](repeating: [], count: parts.count)
            for try await (index, signature) in group { octets[index] = signature }
            return octets
        }
        return JWSPayload.generalJSON(member, Array(zip(parts, signatures)))
    }
}
