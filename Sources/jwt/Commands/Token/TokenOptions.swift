import Networking
import OAuth2

/// Where a token comes from, as options and a profile say together.
struct TokenOptions: Sendable {
    /// The options that a profile can have.
    static let members =
        ServerOptions.members + ClientOptions.members + GrantOptions.members + BindingOptions.members
        + CacheOptions.members

    static let options =
        [ConfigurationFile.profile.definition, ConfigurationFile.option.definition] + members.map(\.definition)

    private static let alternatives =
        ClientOptions.alternatives + GrantOptions.alternatives + BindingOptions.alternatives
        + CacheOptions.alternatives

    /// The command line with what the profile adds to it.
    let arguments: ParsedArguments
    let server: ServerOptions
    let binding: BindingOptions
    private let client: ClientOptions
    private let grant: GrantOptions
    private let cache: CacheOptions
    private let warnings: [String]

    /// Reads the command line and the profile that it names, if it names one.
    ///
    /// - Parameters:
    ///   - arguments: The command line.
    ///   - others: What a profile may have besides the options of tokens.
    /// - Throws: ``UsageError`` or, for what is wrong with the configuration file, ``CommandFailure``.
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

    /// Reads a profile that another names.
    ///
    /// - Parameters:
    ///   - arguments: The command line, for the place of the configuration file alone.
    ///   - name: The profile's name.
    ///   - profiles: The names of the profiles that led here.
    /// - Throws: As ``init(_:others:)``.
    init(_ arguments: ParsedArguments, ofProfile name: String, in profiles: [String]) throws {
        let file = try ConfigurationFile(arguments.value(of: ConfigurationFile.option))
        // What another command takes besides is no mistake here.
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

    /// Whether somebody has to sign in.
    var isInteractive: Bool { grant.kind.isInteractive }

    /// How many of the options read standard input.
    var standardInputReaders: Int {
        (server.takesStandardInput ? 1 : 0) + client.standardInputReaders + grant.standardInputReaders
            + binding.standardInputReaders + cache.standardInputReaders
    }

    /// Reads keys and secrets, opens the store and finds the server.
    ///
    /// - Parameters:
    ///   - console: Where warnings go.
    ///   - isForced: Whether the server is asked about itself even if it has said it before.
    /// - Returns: The way to a token.
    /// - Throws: ``CommandFailure`` if something can't be used.
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
    /// What the command says about itself.
    static let command = UserAgent(applicationName: "jwt", applicationVersion: Program.version)
}
