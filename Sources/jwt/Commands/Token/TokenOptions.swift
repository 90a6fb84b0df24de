import Networking
import OAuth2

/// The options for getting a token, from the command line and the profile.
struct TokenOptions: Sendable {
    /// The token options that a profile can set.
    static let members =
        ServerOptions.members + ClientOptions.members + GrantOptions.members + BindingOptions.members
        + CacheOptions.members

    static let options =
        [ConfigurationFile.profile.definition, ConfigurationFile.option.definition] + members.map(\.definition)

    private static let alternatives =
        ClientOptions.alternatives + GrantOptions.alternatives + BindingOptions.alternatives
        + CacheOptions.alternatives

    /// The command line, completed by the profile.
    let arguments: ParsedArguments
    let server: ServerOptions
    let binding: BindingOptions
    private let client: ClientOptions
    private let grant: GrantOptions
    private let cache: CacheOptions
    private let warnings: [String]

    /// Parses the command line and the profile, if any.
    ///
    /// - Parameters:
    ///   - arguments: The command line.
    ///   - others: Additional members that a profile can have.
    /// - Throws: ``UsageError``, and ``CommandFailure`` if the configuration file is invalid.
    init(_ arguments: ParsedArguments, others: [ProfileMember] = []) throws {
        let configuration = try arguments.value(of: ConfigurationFile.option)
        guard let name = try arguments.value(of: ConfigurationFile.profile)?.text else {
            if configuration != nil { throw arguments.usageError("--config needs --profile NAME") }
            try self.init(arguments, [], warnings: [])
            return
        }
        let file = try ConfigurationFile(configuration)
        let profile = try file.profile(name, members: Self.members + others)
        try self.init(
            arguments.completed(by: profile, alternatives: Self.alternatives),
            [name],
            warnings: [file.warning].compactMap(\.self)
        )
    }

    /// Parses a profile that another profile refers to.
    ///
    /// - Parameters:
    ///   - arguments: The command line. Only its configuration file applies.
    ///   - name: The name of the profile.
    ///   - profiles: The names of the referring profiles.
    /// - Throws: The errors of ``init(_:others:)``.
    init(_ arguments: ParsedArguments, ofProfile name: String, in profiles: [String]) throws {
        let file = try ConfigurationFile(arguments.value(of: ConfigurationFile.option))
        // The profile may contain the options of other commands.
        let profile = try file.profile(name, members: Self.members + RequestOptions.members)
        var own = ParsedArguments(path: arguments.path)
        if let configuration = try arguments.value(of: ConfigurationFile.option) {
            own.add(configuration.path, to: ConfigurationFile.option.definition)
        }
        try self.init(
            own.completed(by: profile, alternatives: []),
            profiles + [name],
            warnings: []
        )
    }

    private init(_ arguments: ParsedArguments, _ profiles: [String], warnings: [String]) throws {
        self.arguments = arguments
        self.warnings = warnings
        server = try ServerOptions(arguments)
        grant = try GrantOptions(arguments, in: profiles)
        client = try ClientOptions(arguments, isPublicByDefault: grant.kind.isInteractive)
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
    ///
    /// - Throws: ``CommandFailure`` if a key, secret, store or server is unusable.
    func access(_ console: Console, isForced: Bool = false) throws -> TokenAccess {
        for warning in warnings { console.warn(warning) }
        let clientAuthentication = try client.authentication(for: server, console)
        let grant = try self.grant.grant(console)
        let store = try cache.store(console)
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

extension UserAgent {
    static let command = UserAgent(applicationName: "jwt", applicationVersion: Program.version)
}
