public import Foundation

/// A generator of JWSs with any payload, in every serialization.
///
/// ```swift
/// let generator = JWSGenerator(
///     payload: document,
///     header: ["cty": "text/plain"],
///     signingService: service
/// )
/// let text = try generator.compact()
/// ```
///
/// The JSON of the headers is deterministic: sorted members, no white space, minimal escaping. For
/// tokens with claims, use ``JWTGenerator``.
public struct JWSGenerator: Sendable {
    private let payload: JWSPayload
    private let signers: [JWSSigner]

    /// Creates a generator for one signature.
    ///
    /// - Parameters:
    ///   - payload: The payload.
    ///   - payloadEncoding: The encoding of the payload. The default is base64url.
    ///   - header: Members of the protected header in addition to `alg` and `kid`.
    ///   - signingService: The service that signs.
    public init(
        payload: Data,
        payloadEncoding: JWSPayloadEncoding = .base64url,
        header: JSONObject = [:],
        signingService: any SigningService
    ) {
        let signer = JWSSigner(signingService: signingService, header: header)
        self.init(payload: payload, payloadEncoding: payloadEncoding, signers: [signer])
    }

    /// Creates a generator for any number of signatures.
    ///
    /// - Parameters:
    ///   - payload: The payload.
    ///   - payloadEncoding: The encoding of the payload. The default is base64url.
    ///   - signers: The signers, in the order of the signatures.
    public init(payload: Data, payloadEncoding: JWSPayloadEncoding = .base64url, signers: [JWSSigner]) {
        self.payload = JWSPayload(payload, payloadEncoding)
        self.signers = signers
    }

    /// Creates the compact serialization
    /// ([RFC 7515 §7.1](https://www.rfc-editor.org/rfc/rfc7515#section-7.1)).
    ///
    /// Each call signs again.
    ///
    /// - Parameter placement: Indicates whether the JWS contains the payload, as it does by
    ///   default.
    /// - Returns: The compact JWS.
    /// - Throws: ``TokenError`` with the code `unencodableContent` if there isn't exactly one
    ///   signer, if the signer has an unprotected header, if the header is malformed, or if an
    ///   attached unencoded payload isn't printable ASCII without a period; `algorithmMismatch` if
    ///   a header contradicts the signing service; `signingFailed`. Errors of a custom signing
    ///   service are passed on unchanged.
    public func compact(_ placement: JWSPayloadPlacement = .attached) throws -> String {
        let signer = try onlySigner("a compact JWS")
        try payload.checkCompact(placement, unprotectedHeader: signer.unprotectedHeader)
        let part = try part(of: signer)
        return payload.compact(placement, part, try signer.signingService.checkedSignature(for: part.input))
    }

    /// Creates the flattened JSON serialization
    /// ([RFC 7515 §7.2.2](https://www.rfc-editor.org/rfc/rfc7515#section-7.2.2)).
    ///
    /// Each call signs again.
    ///
    /// - Parameter placement: Indicates whether the JWS contains the payload, as it does by
    ///   default.
    /// - Returns: The JSON object.
    /// - Throws: ``TokenError`` as ``generalJSON(_:)`` does, and `unencodableContent` also if there
    ///   isn't exactly one signer.
    public func flattenedJSON(_ placement: JWSPayloadPlacement = .attached) throws -> JSONObject {
        let signer = try onlySigner("the flattened serialization")
        let member = try payload.member(placement)
        let part = try part(of: signer)
        let signature = try signer.signingService.checkedSignature(for: part.input)
        return JWSPayload.flattenedJSON(member, part, signature)
    }

    /// Creates the general JSON serialization
    /// ([RFC 7515 §7.2.1](https://www.rfc-editor.org/rfc/rfc7515#section-7.2.1)).
    ///
    /// Each call signs again.
    ///
    /// - Parameter placement: Indicates whether the JWS contains the payload, as it does by
    ///   default.
    /// - Returns: The JSON object.
    /// - Throws: ``TokenError`` with the code `unencodableContent` if there isn't a signer, if a
    ///   header is malformed, if both headers have the same parameter, or if an attached unencoded
    ///   payload isn't UTF-8 text; `unprotectedParameter` if `alg`, `crit` or `b64` is in an
    ///   unprotected header; `algorithmMismatch` if a header contradicts the signing service;
    ///   `signingFailed`. Errors of a custom signing service are passed on unchanged.
    public func generalJSON(_ placement: JWSPayloadPlacement = .attached) throws -> JSONObject {
        guard !signers.isEmpty else { throw TokenError(.unencodableContent, "a JWS must have at least one signer") }
        let member = try payload.member(placement)
        // Checks all headers before the first signer signs.
        let parts = try signers.map(part)
        let signatures = try zip(signers, parts).map { signer, part in
            (part, try signer.signingService.checkedSignature(for: part.input))
        }
        return JWSPayload.generalJSON(member, signatures)
    }
}

extension JWSGenerator {
    private func onlySigner(_ form: String) throws(TokenError) -> JWSSigner {
        guard let signer = signers.first, signers.count == 1 else {
            throw TokenError(
                .unencodableContent,
                "\(form) has exactly one signature, but there are \(signers.count) signers"
            )
        }
        return signer
    }

    private func part(of signer: JWSSigner) throws(TokenError) -> JWSPayload.UnsignedPart {
        try payload.part(
            header: signer.header,
            unprotectedHeader: signer.unprotectedHeader,
            signedBy: .local(signer.signingService)
        )
    }
}
