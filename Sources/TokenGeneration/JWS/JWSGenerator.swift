public import Foundation

/// Makes JWSs with any payload, in each of their serializations.
///
/// ```swift
/// let generator = JWSGenerator(payload: document, header: ["cty": "text/plain"], signingService: service)
/// let text = try generator.compact()
/// ```
///
/// The headers' JSON is deterministic: members sorted, no white space, nothing escaped that need not be. ``JWTGenerator`` is
/// for tokens with claims.
public struct JWSGenerator: Sendable {
    private let payload: JWSPayload
    private let signers: [JWSSigner]

    /// Makes a generator for one signature.
    ///
    /// - Parameters:
    ///   - payload: The payload.
    ///   - payloadEncoding: How the payload stands in the JWS and under the signature.
    ///   - header: Members of the protected header besides `alg` and `kid`.
    ///   - signingService: What signs.
    public init(
        payload: Data,
        payloadEncoding: JWSPayloadEncoding = .base64url,
        header: JSONObject = [:],
        signingService: any SigningService
    ) {
        let signer = JWSSigner(signingService: signingService, header: header)
        self.init(payload: payload, payloadEncoding: payloadEncoding, signers: [signer])
    }

    /// Makes a generator for any number of signatures.
    ///
    /// - Parameters:
    ///   - payload: The payload.
    ///   - payloadEncoding: How the payload stands in the JWS and under the signatures.
    ///   - signers: Who signs, in the order of the signatures.
    public init(payload: Data, payloadEncoding: JWSPayloadEncoding = .base64url, signers: [JWSSigner]) {
        self.payload = JWSPayload(payload, payloadEncoding)
        self.signers = signers
    }

    /// The compact serialization ([RFC 7515 §7.1](https://www.rfc-editor.org/rfc/rfc7515#section-7.1)), signed anew by each
    /// call.
    ///
    /// - Parameter placement: Whether the payload is in it.
    /// - Returns: The text.
    /// - Throws: ``TokenError`` with the code `unencodableContent` if there is not exactly one signer, if it has an unprotected
    ///   header, if the header is malformed, or if an unencoded payload is not detached and not printable ASCII without a
    ///   period; `algorithmMismatch` if a header contradicts the signing service; `signingFailed`; and whatever a signing
    ///   service of yours throws, unchanged.
    public func compact(_ placement: JWSPayloadPlacement = .attached) throws -> String {
        let signer = try onlySigner("a compact JWS")
        try payload.checkCompact(placement, unprotectedHeader: signer.unprotectedHeader)
        let part = try part(of: signer)
        return payload.compact(placement, part, try signer.signingService.checkedSignature(for: part.input))
    }

    /// The flattened JSON serialization ([RFC 7515 §7.2.2](https://www.rfc-editor.org/rfc/rfc7515#section-7.2.2)), signed anew
    /// by each call.
    ///
    /// - Parameter placement: Whether the payload is in it.
    /// - Returns: The JSON object.
    /// - Throws: ``TokenError`` as ``generalJSON(_:)`` does; `unencodableContent` also if there is not exactly one signer.
    public func flattenedJSON(_ placement: JWSPayloadPlacement = .attached) throws -> JSONObject {
        let signer = try onlySigner("the flattened serialization")
        let member = try payload.member(placement)
        let part = try part(of: signer)
        let signature = try signer.signingService.checkedSignature(for: part.input)
        return JWSPayload.flattenedJSON(member, part, signature)
    }

    /// The general JSON serialization ([RFC 7515 §7.2.1](https://www.rfc-editor.org/rfc/rfc7515#section-7.2.1)), signed anew by
    /// each call.
    ///
    /// - Parameter placement: Whether the payload is in it.
    /// - Returns: The JSON object.
    /// - Throws: ``TokenError`` with the code `unencodableContent` if there is no signer, if a header is malformed or has a
    ///   parameter that the other one has, too, or if an unencoded payload is not detached and not UTF-8 text;
    ///   `unprotectedParameter` if `alg`, `crit` or `b64` stands in an unprotected header; `algorithmMismatch` if a header
    ///   contradicts the signing service; `signingFailed`; and whatever a signing service of yours throws, unchanged.
    public func generalJSON(_ placement: JWSPayloadPlacement = .attached) throws -> JSONObject {
        guard !signers.isEmpty else { throw TokenError(.unencodableContent, "a JWS must have a signer") }
        let member = try payload.member(placement)
        // Nobody signs before all headers have been found good.
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
                "\(form) has exactly one signature, there are \(signers.count) signers"
            )
        }
        return signer
    }

    private func part(of signer: JWSSigner) throws(TokenError) -> JWSPayload.UnsignedPart {
        try payload.part(
            header: signer.header,
            unprotectedHeader: signer.unprotectedHeader,
            signedBy: SignerIdentity(signer.signingService)
        )
    }
}
