package import TokenGeneration

/// The keys of an issuer, remote or local.
package enum IssuerKeys: Sendable {
    case remote(RemoteJWTVerifier)
    case fixed(JWTVerifier)

    package init(_ keys: RemoteKeySet, _ selection: KeySelection) {
        self = .remote(RemoteJWTVerifier(keys: keys, selection: selection))
    }

    package init(_ keys: JWKSet, _ selection: KeySelection) {
        self = .fixed(JWTVerifier(keys: keys, selection: selection))
    }

    /// Fetches the keys unless valid ones are cached.
    ///
    /// - Throws: ``OAuth2Error`` or `CancellationError` without keys.
    package func prepare() async throws {
        guard case .remote(let verifier) = self, verifier.keys.current() == nil else { return }
        _ = try await verifier.keys.loaded()
    }

    /// Verifies a token.
    ///
    /// - Throws: `TokenError` if the token is invalid; ``OAuth2Error`` or `CancellationError`
    ///   without keys.
    package func verify(_ token: String, against policy: ValidationPolicy) async throws -> VerifiedToken {
        switch self {
        case .remote(let verifier): try await verifier.verify(token, against: policy)
        case .fixed(let verifier): try verifier.verify(token, against: policy)
        }
    }
}
