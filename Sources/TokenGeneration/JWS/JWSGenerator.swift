public import FoundationEssentials

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
        signingService: any LocalSigningService
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
        let part = try payload.part(of: signer.anywhere)
        return payload.compact(placement, part, try signer.signature(for: part))
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
        let part = try payload.part(of: signer.anywhere)
        let signature = try signer.signature(for: part)
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
        let parts = try signers.map { signer throws(TokenError) in try payload.part(of: signer.anywhere) }
        let signatures = try zip(signers, parts).map { signer, part in
            (part, try signer.signature(for: part))
        }
        return JWSPayload.generalJSON(member, signatures)
    }

    private func onlySigner(_ form: String) throws(TokenError) -> JWSSigner {
        guard let signer = signers.first, signers.count == 1 else {
            throw TokenError(
                .unencodableContent,
                "\(form) has exactly one signature, but there are \(signers.count) signers"
            )
        }
        return signer
    }

    /// Creates a compact JWS with a key anywhere
    /// ([RFC 7515 §7.1](https://www.rfc-editor.org/rfc/rfc7515#section-7.1)).
    ///
    /// ```swift
    /// let text = try await JWSGenerator.makeCompact(
    ///     payload: document,
    ///     signingService: cloudKey
    /// )
    /// ```
    ///
    /// - Parameters:
    ///   - payload: The payload.
    ///   - payloadEncoding: The encoding of the payload. The default is base64url.
    ///   - header: Members of the protected header in addition to `alg` and `kid`.
    ///   - placement: Indicates whether the JWS contains the payload, as it does by default.
    ///   - signingService: The service that signs.
    /// - Returns: The compact JWS.
    /// - Throws: ``TokenError`` as ``compact(_:)`` does. Wrong headers and payloads are rejected
    ///   before the request to the service.
    public static func makeCompact(
        payload: Data,
        payloadEncoding: JWSPayloadEncoding = .base64url,
        header: JSONObject = [:],
        placement: JWSPayloadPlacement = .attached,
        signingService: any SigningService
    ) async throws -> String {
        let payload = JWSPayload(payload, payloadEncoding)
        try payload.checkCompact(placement, unprotectedHeader: [:])
        let part = try payload.part(of: RemoteJWSSigner(signingService: signingService, header: header))
        return payload.compact(placement, part, try await signingService.checkedSignature(for: part.input))
    }

    /// Creates a flattened JSON serialization with a key anywhere
    /// ([RFC 7515 §7.2.2](https://www.rfc-editor.org/rfc/rfc7515#section-7.2.2)).
    ///
    /// - Parameters:
    ///   - payload: The payload.
    ///   - payloadEncoding: The encoding of the payload. The default is base64url.
    ///   - header: Members of the protected header in addition to `alg` and `kid`.
    ///   - unprotectedHeader: Members of the unprotected header, which anyone can change. If it has
    ///     `kid`, the protected header doesn't.
    ///   - placement: Indicates whether the JWS contains the payload, as it does by default.
    ///   - signingService: The service that signs.
    /// - Returns: The JSON object.
    /// - Throws: ``TokenError`` as ``flattenedJSON(_:)`` does. Wrong headers and payloads are
    ///   rejected before the request to the service.
    public static func makeFlattenedJSON(
        payload: Data,
        payloadEncoding: JWSPayloadEncoding = .base64url,
        header: JSONObject = [:],
        unprotectedHeader: JSONObject = [:],
        placement: JWSPayloadPlacement = .attached,
        signingService: any SigningService
    ) async throws -> JSONObject {
        let payload = JWSPayload(payload, payloadEncoding)
        let member = try payload.member(placement)
        let part = try payload.part(
            of: RemoteJWSSigner(signingService: signingService, header: header, unprotectedHeader: unprotectedHeader)
        )
        let signature = try await signingService.checkedSignature(for: part.input)
        return JWSPayload.flattenedJSON(member, part, signature)
    }

    /// Creates a general JSON serialization with keys anywhere
    /// ([RFC 7515 §7.2.1](https://www.rfc-editor.org/rfc/rfc7515#section-7.2.1)).
    ///
    /// All headers are checked first. Then the services sign concurrently; the first failure
    /// cancels the others.
    ///
    /// - Parameters:
    ///   - payload: The payload.
    ///   - payloadEncoding: The encoding of the payload. The default is base64url.
    ///   - placement: Indicates whether the JWS contains the payload, as it does by default.
    ///   - signers: The signers, in the order of the signatures.
    /// - Returns: The JSON object.
    /// - Throws: ``TokenError`` as ``generalJSON(_:)`` does. Wrong headers and payloads are
    ///   rejected before any signer signs.
    public static func makeGeneralJSON(
        payload: Data,
        payloadEncoding: JWSPayloadEncoding = .base64url,
        placement: JWSPayloadPlacement = .attached,
        signers: [RemoteJWSSigner]
    ) async throws -> JSONObject {
        guard !signers.isEmpty else { throw TokenError(.unencodableContent, "a JWS must have at least one signer") }
        let payload = JWSPayload(payload, payloadEncoding)
        let member = try payload.member(placement)
        let parts = try signers.map { signer throws(TokenError) in try payload.part(of: signer) }
        let signatures = try await withThrowingTaskGroup(of: (Int, [UInt8]).self) { group in
            for (index, signer) in signers.enumerated() {
                let input = parts[index].input
                group.addTask { (index, try await signer.signingService.checkedSignature(for: input)) }
            }
            var octets = [[UInt8]](repeating: [], count: parts.count)
            for try await (index, signature) in group { octets[index] = signature }
            return octets
        }
        return JWSPayload.generalJSON(member, Array(zip(parts, signatures)))
    }
}

/// A signer of a JWS: a signing service, and the headers of its signature.
public struct JWSSigner: Sendable {
    let signingService: any LocalSigningService
    let header: JSONObject
    let unprotectedHeader: JSONObject

    /// Creates a signer.
    ///
    /// - Parameters:
    ///   - signingService: The service that signs.
    ///   - header: Members of the protected header in addition to `alg` and `kid`. `cty` describes
    ///     the payload. `x5c`, `x5t#S256`, `jku` or `jwk` can identify the key for a verifier. If
    ///     verifiers must understand an extension, name it in `crit`.
    ///   - unprotectedHeader: Members of the unprotected header, which only a JSON serialization
    ///     has, and which anyone can change. If it has `kid`, the protected header doesn't.
    public init(
        signingService: any LocalSigningService,
        header: JSONObject = [:],
        unprotectedHeader: JSONObject = [:]
    ) {
        self.signingService = signingService
        self.header = header
        self.unprotectedHeader = unprotectedHeader
    }

    fileprivate var anywhere: RemoteJWSSigner {
        RemoteJWSSigner(signingService: signingService, header: header, unprotectedHeader: unprotectedHeader)
    }

    fileprivate func signature(for part: JWSPayload.UnsignedPart) throws -> [UInt8] {
        try signingService.checkedSignature(for: part.input, with: signingService.localKey)
    }
}

/// A signer of a JWS whose key can be anywhere, and the headers of its signature.
///
/// Use it with ``JWSGenerator/makeGeneralJSON(payload:payloadEncoding:placement:signers:)``.
public struct RemoteJWSSigner: Sendable {
    let signingService: any SigningService
    let header: JSONObject
    let unprotectedHeader: JSONObject

    /// Creates a signer.
    ///
    /// - Parameters:
    ///   - signingService: The service that signs.
    ///   - header: Members of the protected header in addition to `alg` and `kid`.
    ///   - unprotectedHeader: Members of the unprotected header, as for a ``JWSSigner``.
    public init(
        signingService: any SigningService,
        header: JSONObject = [:],
        unprotectedHeader: JSONObject = [:]
    ) {
        self.signingService = signingService
        self.header = header
        self.unprotectedHeader = unprotectedHeader
    }
}
