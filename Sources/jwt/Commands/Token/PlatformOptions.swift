import Foundation
import Networking
import OAuth2
internal import OpenSSLCrypto
import TokenGeneration
import WorkloadIdentity

struct PlatformOptions: Sendable {
    static let from = Option<PlatformSource>("from")
    static let audience = Option<String>("from-audience", aliases: ["from-aud"])

    static let members = OptionDefinition.table([
        from: """
        The platform's token: \(PlatformSource.forms). It's the client's assertion, or the token for --grant \
        token_exchange or jwt_bearer; without an authorization server, it's printed
        """,
        audience: "The audience that the platform's token must have (default: the issuer)",
    ])

    struct Identity: Sendable {
        let token: AccessToken
        let source: any TokenSource
        /// A name without secrets that keeps the tokens of different workloads apart.
        let name: String
    }

    let address: PlatformSource
    private let requiredAudience: String?
    private let timeout: Duration

    init?(_ arguments: ParsedArguments, issuer: String?) throws(UsageError) {
        let audience = arguments.value(of: Self.audience)
        guard let address = arguments.value(of: Self.from) else {
            if audience != nil { throw arguments.usageError("--from-audience requires --from SOURCE") }
            return nil
        }
        self.address = address
        requiredAudience = audience ?? issuer
        timeout = ServerOptions.timeout(in: arguments)
        guard !address.needsAudience || requiredAudience != nil else {
            throw arguments.usageError("this --from needs the token's audience; pass --from-audience TEXT")
        }
    }

    /// A Boolean value that indicates whether only the issuer may receive the token.
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

    /// Names the token's subject by unverified claims; a workload that invents them only reads what
    /// it has stored for itself.
    private static func name(of token: AccessToken) -> String {
        let claims = token.value.expose { try? UnverifiedToken($0).unverifiedClaims }
        guard let claims, let subject = claims["sub"]?.string else {
            return "platform " + token.value.fingerprint.hexadecimal
        }
        return "platform \(claims["iss"]?.string ?? "") \(subject)"
    }
}

struct PlatformSource: ArgumentValue, Equatable {
    static let placeholder = "SOURCE"

    enum Kind: Equatable {
        /// A projected token in a file; `nil` is the path of the token for the API server.
        case kubernetes(path: String?)
        case gitHubActions
        /// An ID token in a variable; `nil` is the default name.
        case gitLab(variable: String?)
        case spiffe(path: String)
        case file(path: String)
        case environment(variable: String)
        /// A managed identity; `nil` is the one that Azure created with the machine.
        case azure(clientID: String?)
        case google
        indirect case vault(role: String, mount: String, jwt: PlatformSource)
    }

    static let forms =
        """
        kubernetes[:PATH], github-actions, gitlab[:NAME], spiffe:PATH, azure[:CLIENT_ID], gcp, file:PATH, env:NAME or \
        vault:ROLE,SOURCE
        """

    let kind: Kind
    let name: String

    var needsAudience: Bool {
        switch kind {
        case .kubernetes, .gitLab, .spiffe, .azure, .google: true
        case .gitHubActions, .file, .environment: false
        case .vault(_, _, let jwt): jwt.needsAudience
        }
    }

    init(argument: String) throws(ValueError) {
        let parts = argument.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let rest = parts.count == 2 ? parts[1] : nil
        switch (parts[0], rest) {
        case ("kubernetes", let path): kind = .kubernetes(path: try path.map(Self.path))
        case ("github-actions", nil): kind = .gitHubActions
        case ("gitlab", let name): kind = .gitLab(variable: try name.map(Self.variable))
        case ("spiffe", let path?): kind = .spiffe(path: try Self.path(path))
        case ("file", let path?): kind = .file(path: try Self.path(path))
        case ("azure", let id): kind = .azure(clientID: try id.map(String.init(argument:)))
        case ("gcp", nil): kind = .google
        case ("vault", let login?): kind = try Self.vault(login)
        case ("env", let name?): kind = .environment(variable: try Self.variable(name))
        default: throw ValueError(message: "must be \(Self.forms)")
        }
        name = argument
    }

    /// Returns an absolute path, because a profile and a command line have different folders.
    private static func path(_ text: String) throws(ValueError) -> String {
        guard text.hasPrefix("/") else { throw ValueError(message: "must have an absolute path after the colon") }
        return text
    }

    /// Parses a role, with the path of the authentication method before it unless that's `jwt`, and
    /// the source of the platform's token.
    private static func vault(_ text: String) throws(ValueError) -> Kind {
        let parts = text.split(separator: ",", maxSplits: 1).map(String.init)
        let path = parts.first?.split(separator: "/").map(String.init) ?? []
        guard parts.count == 2, let role = path.last else {
            throw ValueError(message: "must name a role and a source, such as vault:reports,kubernetes:/path")
        }
        let source = try PlatformSource(argument: parts[1])
        if case .vault = source.kind {
            throw ValueError(message: "can't log in to Vault with a token of Vault")
        }
        let mount = path.dropLast().joined(separator: "/")
        return .vault(role: role, mount: mount.isEmpty ? "jwt" : mount, jwt: source)
    }

    private static func variable(_ text: String) throws(ValueError) -> String {
        try EnvironmentVariable(argument: text).name
    }
}

enum VaultEnvironment {
    static let address = "VAULT_ADDR"

    static func source(role: String, mount: String, jwt: any TokenSource) throws(CommandFailure) -> VaultLoginSource {
        guard let server = try EnvironmentVariable.text(of: address).flatMap(URL.init(string:)) else {
            throw CommandFailure(.failed, "\(address) isn't a URL; set it to the address of the Vault server")
        }
        let namespace = try EnvironmentVariable.text(of: "VAULT_NAMESPACE")
        let environment = try environment()
        return try CommandFailure.reporting {
            try VaultLoginSource(
                server: server,
                role: role,
                jwt: jwt,
                mount: mount,
                namespace: namespace,
                environment: environment
            )
        }
    }

    private static func environment() throws(CommandFailure) -> WorkloadEnvironment {
        guard let roots = try EnvironmentVariable.text(of: "VAULT_CACERT") else { return WorkloadEnvironment() }
        let tls = TLSConfiguration(trustRoots: try RootsOption.roots(InputFile(path: roots)))
        return try CommandFailure.reporting {
            WorkloadEnvironment(transport: try CurlTransport(configuration: .init(proxy: .none, tls: tls)))
        }
    }
}
