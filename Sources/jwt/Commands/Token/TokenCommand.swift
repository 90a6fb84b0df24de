import Networking
import OAuth2
import TokenGeneration

struct TokenCommand {
    private static let isForced = Flag("refresh")
    private static let isSignIn = Flag("sign-in")
    private static let isSignOut = Flag("sign-out")

    static let definition = CommandDefinition(
        name: "token",
        summary: "Get an access token from an authorization server",
        discussion: [
            """
            Prints only the access token (OAuth 2.0, RFC 6749). The token is cached for you alone and printed again \
            while it's valid. Concurrent calls send a single request to the server. Rotated refresh tokens are \
            cached, too.
            """
        ],
        details: [
            """
            A profile is an object in the configuration file. Its members are the options without dashes: \
            {"profiles": {"prod": {"token-endpoint": "https://id.example/token", "client-id": "reports", \
            "client-secret-file": "secret", "scope": "read"}}}. File names are relative to the configuration file; \
            ~/ is your home folder.
            """,
            """
            With device_code and authorization_code, the user signs in once, and the refresh token serves later \
            calls. The instructions are printed on standard error. If standard error isn't a terminal, the command \
            fails with exit code 1 unless you pass --sign-in.
            """,
            """
            With --json, prints the members of the server's response on one line: {"access_token": "…", \
            "token_type": "Bearer", "expires_in": 299, "scope": "…", "cached": true}.
            """,
        ],
        options: [
            TokenOptions.options.showing([
                "profile": "A profile in the configuration file", "issuer": "The authorization server's issuer, a URL",
                "token-endpoint": "The token endpoint, without the issuer's metadata", "client-id": "The client ID",
                "client-secret-file": "The file with the client secret",
                "client-secret-env": "The environment variable with the client secret",
                "key": "The client's private key, instead of a secret",
                "from": "The identity of a pod or a CI job, instead",
                "grant": "The grant (default: client_credentials)", "scope": "The requested scope",
                "dpop": "Bind the token to a new key, for jwt request",
            ]),
            OptionDefinition.table([
                isForced: "Get a new token even if the cached one is valid",
                isSignIn: """
                Ask the user to sign in even with a cached token or without a terminal (device_code and authorization_code)
                """,
                isSignOut: "Remove the tokens, including the refresh token, from the cache; doesn't notify the server",
            ]).showing([
                "refresh": "Get a new token even if the cached one is valid",
                "sign-in": "Ask the user to sign in again, without a terminal, too",
                "sign-out": "Remove the tokens from the cache",
            ]),
        ],
        examples: [
            "Call an API": #"curl -H "Authorization: Bearer $(jwt token --profile prod)" https://api.example/reports"#,
            "Get a token without a profile": """
            jwt token --token-endpoint https://id.example/token --client-id reports --client-secret-env SECRET
            """,
            "Sign in with a browser":
                "jwt token --issuer https://id.example --client-id cli --grant authorization_code",
        ],
        manualExamples: [
            "Authenticate with a key instead of a secret (private_key_jwt)":
                "jwt token --token-endpoint https://id.example/token --client-id reports --key key.pem",
            "Authenticate with the identity of a pod, without a secret": """
            jwt token --issuer https://id.example --client-id reports --from kubernetes:/var/run/secrets/tokens/as
            """,
            "Log in to Vault with the identity of a pod, at VAULT_ADDR": """
            jwt token --from vault:reports,kubernetes:/var/run/secrets/tokens/vault --from-audience https://vault.example
            """,
            "Sign in on another device, such as a phone":
                "jwt token --issuer https://id.example --client-id cli --grant device_code",
            "Require ten more minutes of validity": "jwt token --profile prod --min-valid 10m",
            "Get a new token after a change of permissions": "jwt token --profile prod --refresh",
        ],
        exitCodes: [
            0: "The token was printed",
            1: "The authorization server or the user denied the request, or nobody signed in",
            2: "The server can't be reached, or a file, a key or the configuration is unusable",
        ],
        action: { try run($0, $1) }
    )

    private static func run(_ arguments: ParsedArguments, _ console: Console) throws {
        let isForced = arguments.contains(isForced)
        let isSignOut = arguments.contains(isSignOut)
        let isSignIn = arguments.contains(isSignIn)
        try arguments.reject([
            "--sign-in can't be combined with --refresh or --sign-out": isSignIn && (isForced || isSignOut),
            "--refresh and --sign-out can't be combined": isForced && isSignOut,
        ])
        let completed = try TokenOptions.Completed(arguments)
        if let platform = try platform(completed.arguments) {
            guard !isForced, !isSignIn, !isSignOut else {
                throw arguments.usageError("the platform's token isn't cached; pass an authorization server")
            }
            return try print(platform.identity(console).token, on: console)
        }
        let options = try TokenOptions(completed)
        if isSignIn, !options.isInteractive {
            throw arguments.usageError("--sign-in requires --grant device_code or authorization_code")
        }
        let access = try options.access(console, isForced: isForced)
        if isSignOut {
            try access.signOut()
            if console.writesJSON { try console.print(["signedOut": true]) }
            return
        }
        let token =
            isSignIn ? try access.signedIn() : try access.token(isForced: isForced, asksUser: Console.isAtTerminal)
        if options.binding.isKeyKept {
            console.warn(
                "the token is bound to a key in the token cache: call the API with jwt request, or use a key file with --dpop-key"
            )
        }
        try print(token, on: console)
    }

    private static func platform(_ arguments: ParsedArguments) throws(UsageError) -> PlatformOptions? {
        guard arguments.contains(PlatformOptions.from), !arguments.contains(ServerOptions.tokenEndpoint),
            !arguments.contains(ServerOptions.issuer)
        else { return nil }
        let own = PlatformOptions.members + [ServerOptions.timeout.definition]
        if let other = TokenOptions.members.without(own).first(where: arguments.contains) {
            throw arguments.usageError(
                "\(other.spelling) requires an authorization server; pass --issuer ISSUER or --token-endpoint URL"
            )
        }
        return try PlatformOptions(arguments, issuer: nil)
    }

    private static func print(_ token: AccessToken, on console: Console) throws {
        guard console.writesJSON else { return try console.print(token.value.expose { $0 }) }
        var result: JSONObject = [
            "access_token": .string(token.value.expose { $0 }), "token_type": .string(token.type),
        ]
        if let expiry = token.expiry {
            let seconds = (expiry - .now).components.seconds
            result["expires_in"] = .number(JSONNumber(Int(max(0, seconds))))
        }
        result["scope"] = token.scope.map(JSONValue.string)
        result["cached"] = .bool(token.isFound)
        try console.print(result)
    }
}

struct TokenOptions: Sendable {
    static let members =
        ServerOptions.members + ClientOptions.members + PlatformOptions.members + GrantOptions.members
        + BindingOptions.members + CacheOptions.members

    static let options = ConfigurationFile.options + members

    private static let profileMembers = members + RequestOptions.members

    private static let alternatives: [[any CommandOption]] =
        ClientOptions.alternatives + GrantOptions.alternatives + BindingOptions.alternatives
        + CacheOptions.alternatives

    let arguments: ParsedArguments
    let server: ServerOptions
    let binding: BindingOptions
    private let client: ClientOptions
    private let grant: GrantOptions
    private let platform: PlatformOptions?
    private let cache: CacheOptions
    private let warnings: [String]

    struct Completed {
        let arguments: ParsedArguments
        let warnings: [String]
        fileprivate let profiles: [String]

        /// A Boolean value that indicates whether an option says how to get a token.
        var requestsToken: Bool {
            arguments.contains(TokenOptions.members.without(ServerOptions.connectionOptions))
        }
    }

    init(_ arguments: ParsedArguments, ofProfile name: String, in profiles: [String]) throws {
        var own = ParsedArguments(path: arguments.path)
        own.add(name, to: ConfigurationFile.profile.definition)
        if let configuration = arguments.value(of: ConfigurationFile.option) {
            own.add(configuration.path, to: ConfigurationFile.option.definition)
        }
        try self.init(Completed(own, in: profiles))
    }

    init(_ completed: Completed) throws {
        arguments = completed.arguments
        warnings = completed.warnings
        server = try ServerOptions(arguments)
        platform = try PlatformOptions(arguments, issuer: arguments.value(of: ServerOptions.issuer))
        if platform?.isForIssuerOnly == true {
            throw arguments.usageError("a token of Vault is for Vault alone; remove the options of the other server")
        }
        grant = try GrantOptions(arguments, in: completed.profiles, hasPlatform: platform != nil)
        client = try ClientOptions(
            arguments,
            isPublicByDefault: grant.kind.isInteractive || grant.usesPlatform,
            platform: grant.usesPlatform ? nil : platform
        )
        binding = BindingOptions(arguments: arguments)
        cache = try CacheOptions(arguments, needsStore: grant.needsStore)
        if arguments.standardInputCount(in: Self.members) > 1 {
            throw arguments.usageError("only one key or secret can come from standard input")
        }
    }

    var isInteractive: Bool { grant.kind.isInteractive }
    /// The client's credential in messages, or `nil` for a public client.
    var credential: String? { client.credential }
    var signIn: SignIn? { grant.signIn }
    var leastLifetime: Duration { cache.leastLifetime }

    func access(
        _ console: Console,
        isForced: Bool = false,
        interceptors: [any Interceptor] = []
    ) throws -> TokenAccess {
        for warning in warnings { console.warn(warning) }
        let identity = try platform?.identity(console)
        let clientAuthentication = try client.authentication(for: server, platform: identity, console)
        var grant = try self.grant.grant(console, platform: identity)
        if client.usesPlatform, let identity { grant = IdentifiedGrant(grant: grant, name: identity.name) }
        let needsStore = self.grant.needsStore || isInteractive
        let store = try cache.store(console, timeout: server.timeout, isRequired: needsStore) {
            () throws(CommandFailure) in
            try ServerOptions.transport(roots: server.roots)
        }
        let transport = try ServerOptions.transport(roots: server.roots, client.identity(console))
        let losses = StoreLosses()
        let network = NetworkClient(
            transport: transport,
            interceptors: interceptors,
            options: NetworkClient.Options(
                timeout: server.timeout,
                maximumBodySize: 1 << 20,
                userAgent: .command,
                observers: [losses]
            )
        )
        let found = try server.server(network, cache.isOff ? .none : isForced ? .renewed : .kept)
        let client = OAuth2Client(
            server: found,
            clientAuthentication: clientAuthentication,
            dpop: try binding.key(console),
            client: network,
            timing: OAuth2Timing(timeout: server.timeout)
        )
        return TokenAccess(
            options: self,
            losses: losses,
            identifier: [found.issuer, clientAuthentication.clientID, grant.identifier].joined(separator: " "),
            grant: grant,
            grantSource: GrantTokenSource(client: client, grant: grant, store: store),
            store: store,
            transport: transport,
            network: network,
            client: client,
            console: console
        )
    }
}

extension TokenOptions.Completed {
    init(_ arguments: ParsedArguments, in profiles: [String] = []) throws {
        let configuration = arguments.value(of: ConfigurationFile.option)
        guard let name = arguments.value(of: ConfigurationFile.profile) else {
            if configuration != nil { throw arguments.usageError("--config needs --profile NAME") }
            self.init(arguments: arguments, warnings: [], profiles: [])
            return
        }
        let file = try ConfigurationFile(configuration)
        let profile = try file.profile(name, members: TokenOptions.profileMembers)
        self.init(
            arguments: arguments.completed(by: profile, alternatives: TokenOptions.alternatives),
            // The other profiles are in the same file.
            warnings: profiles.isEmpty ? [file.warning].compactMap(\.self) : [],
            profiles: profiles + [name]
        )
    }
}

extension UserAgent {
    static let command = UserAgent(applicationName: "jwt", applicationVersion: Program.version)
}
