import Networking
import OAuth2

/// The options for getting a token, from the command line and the profile.
struct TokenOptions: Sendable {
    /// The token options that a profile can set.
    static let members =
        ServerOptions.members + ClientOptions.members + PlatformOptions.members + GrantOptions.members
        + BindingOptions.members + CacheOptions.members

    static let options = ConfigurationFile.options + members

    /// The options that a profile can set, which the commands share.
    private static let profileMembers = members + RequestOptions.members

    private static let alternatives: [[any CommandOption]] =
        ClientOptions.alternatives + GrantOptions.alternatives + BindingOptions.alternatives
        + CacheOptions.alternatives

    /// The command line, completed by the profile.
    let arguments: ParsedArguments
    let server: ServerOptions
    let binding: BindingOptions
    private let client: ClientOptions
    private let grant: GrantOptions
    private let platform: PlatformOptions?
    private let cache: CacheOptions
    private let warnings: [String]

    /// A command line that is completed by its profile, if any.
    struct Completed {
        let arguments: ParsedArguments
        let warnings: [String]
        fileprivate let profiles: [String]

        /// A Boolean value that indicates whether an option says how to get a token.
        var requestsToken: Bool {
            arguments.contains(TokenOptions.members.without(ServerOptions.connectionOptions))
        }
    }

    /// Parses a profile of the configuration file that other profiles refer to.
    init(_ arguments: ParsedArguments, ofProfile name: String, in profiles: [String]) throws {
        let file = try ConfigurationFile(arguments.value(of: ConfigurationFile.option))
        let profile = try file.profile(name, members: Self.profileMembers)
        var own = ParsedArguments(path: arguments.path)
        if let configuration = try arguments.value(of: ConfigurationFile.option) {
            own.add(configuration.path, to: ConfigurationFile.option.definition)
        }
        try self.init(
            Completed(
                arguments: own.completed(by: profile, alternatives: []),
                warnings: [],
                profiles: profiles + [name]
            )
        )
    }

    /// Parses a command line that is completed by its profile.
    init(_ completed: Completed) throws {
        arguments = completed.arguments
        warnings = completed.warnings
        server = try ServerOptions(arguments)
        platform = try PlatformOptions(arguments, issuer: arguments.value(of: ServerOptions.issuer)?.text)
        if platform?.isForIssuerOnly == true {
            throw arguments.usageError("a token of Vault is for Vault alone; remove the options of the other server")
        }
        grant = try GrantOptions(arguments, in: completed.profiles, hasPlatform: platform != nil)
        client = try ClientOptions(
            arguments,
            isPublicByDefault: grant.kind.isInteractive || grant.usesPlatform,
            platform: grant.usesPlatform ? nil : platform
        )
        binding = try BindingOptions(arguments)
        cache = try CacheOptions(arguments, needsStore: grant.needsStore)
        if standardInputReaders > 1 {
            throw arguments.usageError("only one key or secret can come from standard input")
        }
    }

    var isInteractive: Bool { grant.kind.isInteractive }

    var standardInputReaders: Int {
        (server.takesStandardInput ? 1 : 0) + client.standardInputReaders + grant.standardInputReaders
            + binding.standardInputReaders + cache.standardInputReaders
    }

    /// Reads keys and secrets, opens the store and finds the server, with new metadata if
    /// `isForced` is `true`.
    func access(_ console: Console, isForced: Bool = false) throws -> TokenAccess {
        for warning in warnings { console.warn(warning) }
        let identity = try platform?.identity(console)
        let clientAuthentication = try client.authentication(for: server, platform: identity, console)
        var grant = try self.grant.grant(console, platform: identity)
        if client.usesPlatform, let identity { grant = IdentifiedGrant(grant: grant, name: identity.name) }
        let store = try cache.store(console, timeout: server.timeout) { () throws(CommandFailure) in
            try server.transport(nil)
        }
        let transport = try server.transport(client.identity(console))
        let asking = NetworkClient(
            transport: transport,
            options: NetworkClient.Options(timeout: server.timeout, maximumBodySize: 1 << 20, userAgent: .command)
        )
        return TokenAccess(
            server,
            server: try server.server(asking, cache.isOff ? .none : isForced ? .renewed : .kept),
            clientAuthentication: clientAuthentication,
            grant: grant,
            signIn: self.grant.signIn,
            store: store,
            dpop: try binding.key(console),
            transport: transport,
            client: asking,
            leastLifetime: cache.leastLifetime,
            console: console
        )
    }
}

extension TokenOptions.Completed {
    /// Reads the profile.
    init(_ arguments: ParsedArguments) throws {
        let configuration = try arguments.value(of: ConfigurationFile.option)
        guard let name = try arguments.value(of: ConfigurationFile.profile)?.text else {
            if configuration != nil { throw arguments.usageError("--config needs --profile NAME") }
            self.init(arguments: arguments, warnings: [], profiles: [])
            return
        }
        let file = try ConfigurationFile(configuration)
        let profile = try file.profile(name, members: TokenOptions.profileMembers)
        self.init(
            arguments: arguments.completed(by: profile, alternatives: TokenOptions.alternatives),
            warnings: [file.warning].compactMap(\.self),
            profiles: [name]
        )
    }
}

extension UserAgent {
    static let command = UserAgent(applicationName: "jwt", applicationVersion: Program.version)
}
