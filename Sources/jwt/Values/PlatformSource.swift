/// The source of a token that the platform issues to this workload.
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
        /// A client token of Vault for the token of another source.
        indirect case vault(role: String, mount: String, jwt: PlatformSource)
    }

    static let forms =
        """
        kubernetes[:PATH], github-actions, gitlab[:NAME], spiffe:PATH, azure[:CLIENT_ID], gcp, file:PATH, env:NAME or \
        vault:ROLE,SOURCE
        """

    let kind: Kind
    /// The text that the user entered.
    let name: String

    /// A Boolean value that indicates whether the source must know the token's audience.
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
        case ("azure", let id): kind = .azure(clientID: try id.map(Self.text))
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

    /// Parses a login at Vault: a role, with the path of the authentication method before it unless
    /// that's `jwt`, and the source of the platform's token.
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

    private static func text(_ text: String) throws(ValueError) -> String {
        try NonEmptyText(argument: text).text
    }

    private static func variable(_ text: String) throws(ValueError) -> String {
        try EnvironmentVariable(argument: text).name
    }
}
