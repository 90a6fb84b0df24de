/// A signer of a JWS: a signing service, and the headers of its signature.
public struct JWSSigner: Sendable {
    let signingService: any SigningService
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
        signingService: any SigningService,
        header: JSONObject = [:],
        unprotectedHeader: JSONObject = [:]
    ) {
        self.signingService = signingService
        self.header = header
        self.unprotectedHeader = unprotectedHeader
    }
}
