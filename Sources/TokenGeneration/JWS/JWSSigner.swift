/// One who signs a JWS: a signing service, and the headers that go with its signature.
public struct JWSSigner: Sendable {
    /// What signs.
    public let signingService: any SigningService
    /// Members of the protected header besides `alg` and `kid`.
    ///
    /// `cty` says what the payload is; `x5c`, `x5t#S256`, `jku` or `jwk` can tell a verifier which key it is; an extension
    /// that verifiers must understand is named in `crit`.
    public let header: JSONObject
    /// Members of the unprotected header, which only a JSON serialization has, and which anybody can change.
    ///
    /// If `kid` is among them, it is not in the protected header.
    public let unprotectedHeader: JSONObject

    /// Makes a signer.
    ///
    /// - Parameters:
    ///   - signingService: What signs.
    ///   - header: Members of the protected header besides `alg` and `kid`.
    ///   - unprotectedHeader: Members of the unprotected header.
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

extension JWSSigner {
    /// The protected header, complete.
    ///
    /// - Throws: ``TokenError`` with the code `algorithmMismatch`, `unprotectedParameter` or `unencodableContent`.
    func protectedHeader(_ encoding: JWSPayloadEncoding) throws(TokenError) -> JSONObject {
        var header = header
        try Self.set("alg", to: signingService.algorithm.rawValue, in: &header)
        if let keyID = signingService.keyID {
            var other = unprotectedHeader
            if other["kid"] != nil {
                try Self.set("kid", to: keyID, in: &other)
            } else {
                try Self.set("kid", to: keyID, in: &header)
            }
        }
        guard header["b64"] == nil else {
            throw TokenError(.unencodableContent, "the header has “b64”: state the payload's encoding instead")
        }
        if encoding == .unencoded {
            header["b64"] = false
            header["crit"] = .array((header["crit"]?.array ?? []) + ["b64"])
        }
        do throws(TokenError) {
            _ = try ProtectedHeader(header)
            _ = try CriticalExtensions(of: header)
        } catch {
            throw TokenError(.unencodableContent, error.message, cause: error)
        }
        try checkUnprotectedHeader(beside: header)
        return header
    }

    private func checkUnprotectedHeader(beside header: JSONObject) throws(TokenError) {
        for name in ["alg", "crit", "b64"] where unprotectedHeader[name] != nil {
            throw TokenError(.unprotectedParameter, "“\(name)” must not stand in the unprotected header")
        }
        for member in unprotectedHeader where header[member.name] != nil {
            let name = TokenError.shown(member.name)
            throw TokenError(.unencodableContent, "\(name) stands in the protected and in the unprotected header")
        }
    }

    private static func set(_ name: String, to value: String, in header: inout JSONObject) throws(TokenError) {
        guard let stated = header[name] else {
            header[name] = .string(value)
            return
        }
        guard stated == .string(value) else {
            throw TokenError(
                .algorithmMismatch,
                "“\(name)” of the header contradicts the signing service, which has \(TokenError.shown(value)); leave it out"
            )
        }
    }
}
