import OAuth2

/// The options that say what entitles the client to a token, and what the token is for.
struct GrantOptions: Sendable {
    /// The names of the grants, RFC 8693's by the end of its URN.
    enum Kind: String, CaseIterable, ArgumentValue {
        case clientCredentials = "client_credentials"
        case refreshToken = "refresh_token"
        case tokenExchange = "token_exchange"
        case deviceCode = "device_code"
        case authorizationCode = "authorization_code"

        /// Whether somebody has to sign in.
        var isInteractive: Bool { self == .deviceCode || self == .authorizationCode }
    }

    /// A type of tokens ([RFC 8693 §3](https://www.rfc-editor.org/rfc/rfc8693#section-3)): the end of its URN, or another URN.
    struct SubjectTokenType: ArgumentValue {
        private static let prefix = "urn:ietf:params:oauth:token-type:"
        private static let names = ["access_token", "refresh_token", "id_token", "jwt", "saml1", "saml2"]
        static let valueKind = OptionDefinition.ValueKind.choice(names)

        static let accessToken = SubjectTokenType(identifier: prefix + "access_token")

        let identifier: String

        private init(identifier: String) {
            self.identifier = identifier
        }

        init(argument: String) throws(ValueError) {
            if Self.names.contains(argument) {
                identifier = Self.prefix + argument
            } else if argument.contains(":") {
                identifier = argument
            } else {
                throw ValueError(message: "must be \(Self.names.joined(separator: ", ")) or a URI")
            }
        }
    }

    static let section = "Grant"

    private static let kind = Option<Kind>(
        "grant",
        value: "GRANT",
        section: section,
        """
        What entitles the client: \(Kind.allCases.map(\.rawValue).joined(separator: ", ")) (default: what the options \
        below are for, or else client_credentials); with the last two somebody signs in
        """
    )
    private static let scope = Option<NonEmptyText>(
        "scope",
        value: "SCOPE",
        isRepeatable: true,
        section: section,
        "What the token shall be good for; names with spaces between them"
    )
    private static let audience = Option<NonEmptyText>(
        "audience",
        value: "NAME",
        section: section,
        "The service that the token is for, as the server calls it"
    )
    private static let resource = Option<NonEmptyText>(
        "resource",
        value: "URI",
        section: section,
        "The service that the token is for, by its URI (RFC 8707)"
    )
    private static let refreshTokenFile = Option<InputFile>(
        "refresh-token-file",
        value: "FILE",
        section: section,
        "The file of the first refresh token; those that follow it are kept beside the access token"
    )
    private static let refreshTokenEnvironment = Option<EnvironmentVariable>(
        "refresh-token-env",
        value: "NAME",
        section: section,
        "The environment variable that holds the first refresh token"
    )
    private static let subjectTokenFile = Option<InputFile>(
        "subject-token-file",
        value: "FILE",
        section: section,
        "The file of a token to exchange for another (RFC 8693)"
    )
    private static let subjectTokenEnvironment = Option<EnvironmentVariable>(
        "subject-token-env",
        value: "NAME",
        section: section,
        "The environment variable that holds a token to exchange"
    )
    private static let subjectProfile = Option<NonEmptyText>(
        "subject-profile",
        value: "NAME",
        section: section,
        "The profile whose token is exchanged; it is fetched and kept as well"
    )
    private static let subjectTokenType = Option<SubjectTokenType>(
        "subject-token-type",
        value: "TYPE",
        section: section,
        "What the token to exchange is: access_token (default), refresh_token, id_token, jwt, saml1, saml2 or a URI"
    )

    static let members =
        [
            ProfileMember(kind), ProfileMember(scope), ProfileMember(audience), ProfileMember(resource),
            ProfileMember(refreshTokenFile), ProfileMember(refreshTokenEnvironment), ProfileMember(subjectTokenFile),
            ProfileMember(subjectTokenEnvironment), ProfileMember(subjectProfile), ProfileMember(subjectTokenType),
        ] + SignInOptions.members

    /// Options of which one stands for the other.
    static let alternatives = [
        [refreshTokenFile.definition.longName, refreshTokenEnvironment.definition.longName],
        [
            subjectTokenFile.definition.longName, subjectTokenEnvironment.definition.longName,
            subjectProfile.definition.longName,
        ],
    ]

    private indirect enum Subject {
        case token(PasswordSource)
        case profile(TokenOptions)
    }

    let kind: Kind
    private let scope: String?
    private let audience: String?
    private let resource: String?
    private let refreshToken: PasswordSource?
    private let subject: Subject?
    private let subjectTokenType: SubjectTokenType
    private let signInOptions: SignInOptions

    /// - Parameters:
    ///   - arguments: The command line and the profile.
    ///   - profiles: The names of the profiles that this grant stands in, which a chain of exchanges must not come back to.
    /// - Throws: ``UsageError`` or, for what is wrong with the configuration file, ``CommandFailure``.
    init(_ arguments: ParsedArguments, in profiles: [String]) throws {
        let scopes = try arguments.values(of: Self.scope).map(\.text)
        scope = scopes.isEmpty ? nil : scopes.joined(separator: " ")
        audience = try arguments.value(of: Self.audience)?.text
        resource = try arguments.value(of: Self.resource)?.text
        refreshToken = try PasswordSource(
            arguments,
            file: Self.refreshTokenFile,
            environment: Self.refreshTokenEnvironment,
            noun: "refresh token"
        )
        subject = try Self.subject(arguments, in: profiles)
        subjectTokenType = try arguments.value(of: Self.subjectTokenType) ?? .accessToken
        let implied: Kind =
            refreshToken != nil ? .refreshToken : subject != nil ? .tokenExchange : .clientCredentials
        kind = try arguments.value(of: Self.kind) ?? implied
        signInOptions = try SignInOptions(arguments, for: kind)
        try check(arguments)
    }

    private static func subject(_ arguments: ParsedArguments, in profiles: [String]) throws -> Subject? {
        let source = try PasswordSource(
            arguments,
            file: subjectTokenFile,
            environment: subjectTokenEnvironment,
            noun: "token"
        )
        guard let name = try arguments.value(of: subjectProfile)?.text else { return source.map(Subject.token) }
        guard source == nil else {
            throw arguments.usageError("--subject-profile and a token to exchange exclude each other")
        }
        guard !profiles.contains(name) else {
            throw arguments.usageError("--subject-profile leads back to the profile “\(name)”")
        }
        return .profile(try TokenOptions(arguments, ofProfile: name, in: profiles))
    }

    private func check(_ arguments: ParsedArguments) throws(UsageError) {
        if refreshToken != nil, subject != nil {
            throw arguments.usageError("a refresh token and a token to exchange are two grants; leave one of them out")
        }
        switch kind {
        case .clientCredentials, .deviceCode, .authorizationCode:
            guard refreshToken == nil, subject == nil else {
                throw arguments.usageError("--grant \(kind.rawValue) needs no token; leave it out")
            }
        case .refreshToken:
            guard refreshToken != nil else {
                throw arguments.usageError(
                    "--grant refresh_token needs a token: --refresh-token-file FILE or --refresh-token-env NAME"
                )
            }
            guard scope == nil, audience == nil, resource == nil else {
                throw arguments.usageError(
                    "a refresh token is for what was granted: leave the scope and the service out"
                )
            }
        case .tokenExchange:
            guard subject != nil else {
                throw arguments.usageError(
                    """
                    --grant token_exchange needs a token: --subject-token-file FILE, --subject-token-env NAME or \
                    --subject-profile NAME
                    """
                )
            }
        }
        if kind != .tokenExchange, arguments.contains(Self.subjectTokenType.definition) {
            throw arguments.usageError("--subject-token-type is about a token to exchange, and there is none")
        }
    }

    /// How many of the grant's options read standard input.
    var standardInputReaders: Int {
        var count = refreshToken?.isStandardInput ?? false ? 1 : 0
        switch subject {
        case .token(let source)? where source.isStandardInput: count += 1
        default: break
        }
        return count
    }

    /// Whether a token that follows the first one has to be kept somewhere.
    var needsStore: Bool { kind == .refreshToken }

    /// How somebody signs in, if the grant is for that.
    var signIn: SignIn? {
        let place: SignIn.Place
        switch kind {
        case .deviceCode: place = .device
        case .authorizationCode:
            place = .browser(
                path: signInOptions.redirectPath,
                port: signInOptions.redirectPort,
                opens: signInOptions.opensBrowser
            )
        default: return nil
        }
        return SignIn(
            place: place,
            scope: scope,
            audience: audience,
            resources: [resource].compactMap(\.self),
            timeout: signInOptions.timeout
        )
    }

    /// Reads the tokens that the grant begins with.
    ///
    /// - Parameter console: Where a warning goes.
    /// - Returns: The grant.
    /// - Throws: ``CommandFailure`` if one can't be used.
    func grant(_ console: Console) throws -> any Grant {
        switch (kind, subject) {
        case (.refreshToken, _):
            guard let refreshToken else { break }
            return RefreshTokenGrant(refreshToken: try refreshToken.readSecret(warningOn: console))
        case (.tokenExchange, .token(let source)?):
            let secret = try source.readSecret(warningOn: console)
            // The token itself says whose it is; its digest keeps what comes of it apart.
            let name = "token " + secret.fingerprint.map { String($0, radix: 16) }.joined(separator: ".")
            return exchange(StaticTokenSource(AccessToken(value: secret, requested: .now)), name)
        case (.tokenExchange, .profile(let options)?):
            let access = try options.access(console)
            return exchange(access.source, access.identifier)
        case (.clientCredentials, _):
            let fields = [("audience", audience), ("resource", resource)].compactMap { field in
                field.1.map { (name: field.0, value: $0) }
            }
            return fields.isEmpty
                ? ClientCredentialsGrant(scope: scope)
                : AddressedGrant(ClientCredentialsGrant(scope: scope), fields: fields)
        case (.deviceCode, _), (.authorizationCode, _):
            let services = [resource, audience.map { "audience=\($0)" }].compactMap(\.self)
            let parts = [kind.rawValue, scope ?? ""] + services
            return SignInGrant(identifier: parts.joined(separator: "\n"))
        case (.tokenExchange, nil): break
        }
        throw CommandFailure(.failed, "there is nothing to ask for a token with")
    }

    private func exchange(_ subject: any TokenSource, _ name: String) -> TokenExchangeGrant {
        TokenExchangeGrant(
            subject: subject,
            subjectTokenType: TokenType(subjectTokenType.identifier),
            identifier: name,
            audiences: audience.map { [$0] } ?? [],
            resources: resource.map { [$0] } ?? [],
            scope: scope
        )
    }
}
