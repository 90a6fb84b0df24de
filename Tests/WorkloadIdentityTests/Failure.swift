import OAuth2
import Testing
import WorkloadIdentity

/// Returns the error with which a source fails.
func failure(
    of source: some TokenSource,
    _ requirements: TokenRequirements = TokenRequirements(),
    sourceLocation: SourceLocation = #_sourceLocation
) async -> WorkloadIdentityError? {
    await #expect(throws: WorkloadIdentityError.self, sourceLocation: sourceLocation) {
        _ = try await source.token(for: requirements)
    }
}

/// Returns the text of a token.
func text(_ token: AccessToken) -> String { token.value.expose { $0 } }
