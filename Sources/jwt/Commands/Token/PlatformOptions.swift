import OAuth2
import TokenGeneration
import WorkloadIdentity

/// The options for the token that the platform issues to this workload.
struct PlatformOptions: Sendable {
    static let from = Option<PlatformSource>(
        "from",
        """
        The platform's token: \(PlatformSource.forms). It's the client's assertion, or the token for --grant \
        token_exchange or jwt_bearer; without an authorization server, it's printed
        """
    )
    static let audience = Option<NonEmptyText>(
        "from-audience",
        aliases: ["from-aud"],
        "The audience that the platform's token must have (default: the issuer)"
    )

    static let members = OptionDefinition.section("Platform", [from, audience])

    /// A platform's token and where to get the next one.
    struct Identity: Sendable {
        let token: AccessToken
        let source: any TokenSource
        /// A name without secrets that keeps the tokens of different workloads apart.
        let name: String
    }

    let address: PlatformSource
    private let requiredAudience: String?
    private let timeout: Duration

    /// Creates the options, or returns `nil` without a source.
    init?(_ arguments: ParsedArguments, issuer: String?) throws(UsageError) {
        let audience = try arguments.value(of: Self.audience)?.text
        guard let address = try arguments.value(of: Self.from) else {
            if audience != nil { throw arguments.usageError("--from-audience requires --from SOURCE") }
            return nil
        }
        self.address = address
        requiredAudience = audience ?? issuer
        timeout = try ServerOptions.timeout(in: arguments)
        guard !address.needsAudience || requiredAudience != nil else {
            throw arguments.usageError("this --from needs the token's audience; pass --from-audience TEXT")
        }
    }

    /// A Boolean value that indicates whether the token is of use only to the service that issues
    /// it, and must not be sent to an authorization server.
    var isForIssuerOnly: Bool {
        if case .vault = address.kind { true } else { false }
    }

    var isSPIFFE: Bool {
        if case .spiffe = address.kind { true } else { false }
    }

    private func source(at address: PlatformSource) throws(CommandFailure) -> any TokenSource {
        let audience = requiredAudience ?? ""
        switch address.kind {
        case .kubernetes(nil): return KubernetesServiceAccountSource(audience: audience)
        case .kubernetes(let path?): return KubernetesServiceAccountSource(audience: audience, path: path)
        case .gitHubActions: return GitHubActionsSource(audience: requiredAudience)
        case .gitLab(nil): return GitLabSource(audience: audience)
        case .gitLab(let variable?): return GitLabSource(audience: audience, variable: variable)
        case .spiffe(let path): return SPIFFEFileSource(audience: audience, path: path)
        case .file(let path): return FileTokenSource(path: path, audience: requiredAudience)
        case .environment(let variable): return EnvironmentTokenSource(variable, audience: requiredAudience)
        case .azure(nil): return AzureManagedIdentitySource(resource: audience)
        case .azure(let id?): return AzureManagedIdentitySource(resource: audience, identity: .clientID(id))
        case .google: return GoogleIdentityTokenSource(audience: audience)
        case .vault(let role, let mount, let jwt):
            return try VaultEnvironment.source(role: role, mount: mount, jwt: source(at: jwt))
        }
    }

    /// Reads or requests the token.
    func identity(_ console: Console) throws(CommandFailure) -> Identity {
        let source = try source(at: address)
        let timeout = timeout
        let token = try CommandFailure.reporting(at: address.name) {
            do {
                return try AsynchronousWork.result {
                    try await source.token(for: TokenRequirements(deadline: .now + timeout))
                }
            } catch let error as WorkloadIdentityError where error.code == .platformRejected {
                throw CommandFailure(.rejected, "\(address.name): \(error.message)", cause: error)
            }
        }
        warnOfReaders(console)
        let first = ClosureTokenSource { requirements in
            // Most commands need one token only.
            guard requirements.isUnwanted(token.value) || token.expiry.map({ $0 <= .now }) == true else { return token }
            return try await source.token(for: requirements)
        }
        return Identity(token: token, source: first, name: Self.name(of: token))
    }

    private func warnOfReaders(_ console: Console) {
        guard case .file(let path) = address.kind,
            let status = try? FileDescriptor(reading: path).status(path: path),
            let warning = status.warning(path, unwanted: 0o044, "other users can read this token", remedy: "go-r")
        else { return }
        console.warn(warning)
    }

    /// Returns a name for the token's subject.
    ///
    /// The claims aren't verified. A workload that invents them only reads what it has stored for
    /// itself, because the cache belongs to one user.
    private static func name(of token: AccessToken) -> String {
        let claims = token.value.expose { try? UnverifiedToken($0).unverifiedClaims }
        guard let claims, let subject = claims["sub"]?.string else {
            return "platform " + token.value.fingerprint.hexadecimal
        }
        return "platform \(claims["iss"]?.string ?? "") \(subject)"
    }
}
