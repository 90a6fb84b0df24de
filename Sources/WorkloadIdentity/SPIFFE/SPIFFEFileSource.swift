public import OAuth2

/// A token source for a SPIFFE identity document that `spiffe-helper` or another agent writes to a
/// file ([JWT-SVID](https://github.com/spiffe/spiffe/blob/main/standards/JWT-SVID.md)).
///
/// ```swift
/// let authentication = SignedAssertionAuthentication(
///     clientID: "spiffe://example.org/reports",
///     assertion: SPIFFEFileSource(
///         audience: "https://as.example",
///         path: "/run/spiffe/jwt_svid.token"
///     ),
///     type: .jwtSPIFFE
/// )
/// ```
///
/// The file must contain only the JWT, with a SPIFFE ID as its subject, an audience, an expiry and
/// a signature of the family RS, PS or ES.
public struct SPIFFEFileSource: TokenSource {
    private let file: FileTokenSource

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - audience: The audience that the agent requests.
    ///   - path: The path of the file.
    ///   - environment: The clocks.
    public init(audience: String, path: String, environment: WorkloadEnvironment = WorkloadEnvironment()) {
        file = FileTokenSource(
            path: path,
            form: .svid,
            audience: audience,
            missing: """
                check that the agent runs; spiffe-helper writes the file with “jwt_svids = [{ jwt_audience = \
                "\(audience)", jwt_svid_file_name = … }]”
                """,
            audienceAdvice: "set “jwt_audience” in the configuration of spiffe-helper to it",
            environment
        )
    }

    /// Reads the document, as ``FileTokenSource`` does.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        try await file.token(for: requirements)
    }
}
