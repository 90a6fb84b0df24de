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
