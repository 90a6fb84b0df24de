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
    private let payload: [UInt8]
    private let payloadEncoding: JWSPayloadEncoding
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
        self.payload = Array(payload)
        self.payloadEncoding = payloadEncoding
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
        guard signer.unprotectedHeader.isEmpty else {
            throw TokenError(.unencodableContent, "a compact JWS has no unprotected header")
        }
        if placement == .attached, payloadEncoding == .unencoded {
            guard payload.allSatisfy(CompactToken.isAllowedUnencoded) else {
                throw TokenError(
                    .unencodableContent,
                    "an unencoded payload of a compact JWS must be printable ASCII without a period; detach it"
                )
            }
        }
        let signature = try signature(by: signer)
        var text = placement == .attached ? signature.input : signature.protectedText + [UInt8(ascii: ".")]
        text.append(UInt8(ascii: "."))
        Base64URL.encode(signature.octets.span, into: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// The flattened JSON serialization ([RFC 7515 §7.2.2](https://www.rfc-editor.org/rfc/rfc7515#section-7.2.2)), signed anew
    /// by each call.
    ///
    /// - Parameter placement: Whether the payload is in it.
    /// - Returns: The JSON object.
    /// - Throws: ``TokenError`` as ``generalJSON(_:)`` does; `unencodableContent` also if there is not exactly one signer.
    public func flattenedJSON(_ placement: JWSPayloadPlacement = .attached) throws -> JSONObject {
        var object = try members(signature(by: onlySigner("the flattened serialization")))
        object["payload"] = try payloadMember(placement)
        return object
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
        let payload = try payloadMember(placement)
        var object: JSONObject = [:]
        object["payload"] = payload
        object["signatures"] = .array(try signers.map { .object(try members(signature(by: $0))) })
        return object
    }
}

extension JWSGenerator {
    private struct Signature {
        let protectedText: [UInt8]
        let input: [UInt8]
        let unprotectedHeader: JSONObject
        let octets: [UInt8]
    }

    private func onlySigner(_ form: String) throws(TokenError) -> JWSSigner {
        guard let signer = signers.first, signers.count == 1 else {
            throw TokenError(
                .unencodableContent,
                "\(form) has exactly one signature, there are \(signers.count) signers"
            )
        }
        return signer
    }

    private func signature(by signer: JWSSigner) throws -> Signature {
        let header = try signer.protectedHeader(payloadEncoding)
        var text: [UInt8] = []
        Base64URL.encode(header.serializedBytes().span, into: &text)
        let input = SigningInput.make(text, payload, payloadEncoding)
        return Signature(
            protectedText: text,
            input: input,
            unprotectedHeader: signer.unprotectedHeader,
            octets: try signer.signingService.checkedSignature(for: input)
        )
    }

    private func members(_ signature: Signature) -> JSONObject {
        var object: JSONObject = ["protected": .string(String(decoding: signature.protectedText, as: UTF8.self))]
        if !signature.unprotectedHeader.isEmpty { object["header"] = .object(signature.unprotectedHeader) }
        object["signature"] = .string(Base64URL.encode(signature.octets))
        return object
    }

    private func payloadMember(_ placement: JWSPayloadPlacement) throws(TokenError) -> JSONValue? {
        switch (placement, payloadEncoding) {
        case (.detached, _): return nil
        case (.attached, .base64url): return .string(Base64URL.encode(payload))
        case (.attached, .unencoded):
            guard let text = String(validating: payload, as: UTF8.self), UnencodedText.isWritable(text) else {
                throw TokenError(
                    .unencodableContent,
                    "an unencoded payload in JSON must be UTF-8 text of assigned code points; detach it"
                )
            }
            return .string(text)
        }
    }
}
