import Foundation
import OAuth2
import TokenGeneration

struct GrantOptions: Sendable {
    enum Kind: String, CaseIterable, NamedValue {
        case clientCredentials = "client_credentials"
        case refreshToken = "refresh_token"
        case tokenExchange = "token_exchange"
        case jwtBearer = "jwt_bearer"
        case deviceCode = "device_code"
        case authorizationCode = "authorization_code"

        var isInteractive: Bool { self == .deviceCode || self == .authorizationCode }
    }

    private static let kind = Option<Kind>("grant", aliases: ["grant-type"], value: "GRANT")
    private static let scope = Option<String>("scope", value: "SCOPE", isRepeatable: true)
    private static let audience = Option<String>("audience", value: "NAME")
    private static let resource = Option<String>("resource", value: "URI")
    private static let refreshToken = SecretOptions(
        "refresh-token",
        noun: "refresh token",
        file: "The file with the first refresh token; rotated refresh tokens are cached with the access token",
        environment: "The environment variable with the first refresh token"
    )
    private static let subjectToken = SecretOptions(
        "subject-token",
        noun: "token",
        file: "The file with a token to exchange for another (RFC 8693)",
        environment: "The environment variable with a token to exchange"
    )
    private static let subjectProfile = Option<String>("subject-profile", value: "NAME")
    private static let subjectTokenTypes = ["access_token", "refresh_token", "id_token", "jwt", "saml1", "saml2"]
    private static let subjectTokenType = Option<TokenType>(
        "subject-token-type",
        value: "TYPE",
        kind: .choice(subjectTokenTypes)
    ) { text throws(ValueError) in
        if subjectTokenTypes.contains(text) { return TokenType("urn:ietf:params:oauth:token-type:\(text)") }
        guard text.contains(":") else {
            throw ValueError(message: "must be \(subjectTokenTypes.joined(separator: ", ")) or a URI")
        }
        return TokenType(text)
    }

    static let members =
        OptionDefinition.table([
            kind: """
            The grant: \(Kind.allCases.map(\.rawValue).joined(separator: ", ")) (default: the grant of the options \
            below, or else client_credentials); the last two require a user to sign in
            """,
            scope: "The requested scope: names separated by spaces",
            audience: "The service for the token, by the server's name for it",
            resource: "The service for the token, by its URI (RFC 8707)",
            refreshToken: nil,
            subjectToken: nil,
            subjectProfile: "The profile whose token to exchange; that token is cached and refreshed, too",
            subjectTokenType: """
            The type of the token to exchange: access_token (default), refresh_token, id_token, jwt (default with --from), \
            saml1, saml2 or a URI
            """,
        ]) + SignInOptions.members

    static let alternatives: [[any CommandOption]] = [[refreshToken], [subjectToken, subjectProfile]]

    private indirect enum Subject {
        case token(PasswordSource)
        case profile(TokenOptions)
        case platform
    }

    let kind: Kind
    private let scope: String?
    private let arguments: ParsedArguments
    private let refreshToken: PasswordSource?
    private let subject: Subject?

    private var audience: String? { arguments.value(of: Self.audience) }
    private var resource: String? { arguments.value(of: Self.resource) }
    private var resources: [String] { arguments.values(of: Self.resource) }

    /// Reads the options of a grant; the profiles in a chain of exchanges must not form a cycle.
    init(_ arguments: ParsedArguments, in profiles: [String], hasPlatform: Bool) throws {
        let scopes = arguments.values(of: Self.scope)
        scope = scopes.isEmpty ? nil : scopes.joined(separator: " ")
        self.arguments = arguments
        refreshToken = try PasswordSource(arguments, Self.refreshToken)
        let named = arguments.value(of: Self.kind)
        let given = try Self.subject(arguments, in: profiles)
        // Next to another token, the platform's token authenticates the client.
        let usesPlatform = hasPlatform && given == nil && (named == .tokenExchange || named == .jwtBearer)
        let subject = usesPlatform ? .platform : given
        self.subject = subject
        let implied: Kind =
            refreshToken != nil ? .refreshToken : subject != nil ? .tokenExchange : .clientCredentials
        kind = named ?? implied
        try SignInOptions.check(arguments, for: kind)
        try check()
    }

    private static func subject(_ arguments: ParsedArguments, in profiles: [String]) throws -> Subject? {
        let source = try PasswordSource(arguments, subjectToken)
        guard let name = arguments.value(of: subjectProfile) else { return source.map(Subject.token) }
        try arguments.reject([
            "--subject-profile and a token to exchange can't be combined": source != nil,
            "--subject-profile forms a cycle with profile “\(name)”": profiles.contains(name),
        ])
        return .profile(try TokenOptions(arguments, ofProfile: name, in: profiles))
    }

    private func check() throws(UsageError) {
        let takesNoToken = [.clientCredentials, .deviceCode, .authorizationCode].contains(kind)
        try arguments.reject([
            "a refresh token and a token to exchange can't be combined; remove one of them":
                refreshToken != nil && subject != nil,
            "--grant \(kind.rawValue) doesn't take a token; remove it":
                takesNoToken && (refreshToken != nil || subject != nil),
            "--grant refresh_token needs a token: --refresh-token-file FILE or --refresh-token-env NAME":
                kind == .refreshToken && refreshToken == nil,
            "a refresh token keeps its original grant; remove --scope, --audience and --resource":
                kind == .refreshToken && (scope != nil || audience != nil || resource != nil),
            "--grant jwt_bearer needs the platform's token: --from SOURCE": kind == .jwtBearer && !usesPlatform,
            """
            --grant token_exchange needs a token: --subject-token-file FILE, --subject-token-env NAME, \
            --subject-profile NAME or --from SOURCE
            """: kind == .tokenExchange && subject == nil,
            "--subject-token-type requires a token to exchange":
                kind != .tokenExchange && arguments.contains(Self.subjectTokenType),
        ])
    }

    var usesPlatform: Bool {
        if case .platform? = subject { true } else { false }
    }

    var needsStore: Bool { kind == .refreshToken }

    var signIn: SignIn? {
        guard kind.isInteractive else { return nil }
        return SignIn(
            usesBrowser: kind == .authorizationCode,
            options: SignInOptions(arguments: arguments),
            scope: scope,
            audience: audience,
            resources: resources
        )
    }

    func grant(_ console: Console, platform: PlatformOptions.Identity?) throws -> any Grant {
        switch (kind, subject) {
        case (.tokenExchange, .platform?):
            guard let platform else { break }
            return exchange(platform.source, platform.name)
        case (.jwtBearer, _):
            guard let platform else { break }
            let grant = JWTBearerGrant(
                assertion: platform.source,
                identifier: platform.name,
                scope: scope,
                resources: resources
            )
            guard let audience else { return grant }
            return IdentifiedGrant(grant: grant, name: "audience=\(audience)", fields: [("audience", audience)])
        case (.refreshToken, _):
            guard let refreshToken else { break }
            return RefreshTokenGrant(refreshToken: Secret(try refreshToken.read(warningOn: console)))
        case (.tokenExchange, .token(let source)?):
            let secret = Secret(try source.read(warningOn: console))
            // The digest of the subject token separates the cached tokens of different subjects.
            let name = "token " + secret.fingerprint.map { String($0, radix: 16) }.joined(separator: ".")
            return exchange(StaticTokenSource(AccessToken(value: secret, requested: .now)), name)
        case (.tokenExchange, .profile(let options)?):
            let access = try options.access(console)
            return exchange(access.source, access.identifier)
        case (.clientCredentials, _):
            return ClientCredentialsGrant(
                scope: scope,
                resources: resources,
                additionalParameters: audience.map { ["audience": $0] } ?? [:]
            )
        case (.deviceCode, _), (.authorizationCode, _):
            let services = [resource, audience.map { "audience=\($0)" }].compactMap(\.self)
            let parts = [kind.rawValue, scope ?? ""] + services
            // The sign-in stores the tokens, which are then refreshed.
            return UserGrant(identifier: parts.joined(separator: "\n"))
        case (.tokenExchange, nil): break
        }
        throw CommandFailure(.failed, "missing credentials for the grant")
    }

    private func exchange(_ subject: any TokenSource, _ name: String) -> TokenExchangeGrant {
        TokenExchangeGrant(
            subject: subject,
            subjectTokenType: arguments.value(of: Self.subjectTokenType) ?? (usesPlatform ? .jwt : .accessToken),
            identifier: name,
            audiences: audience.map { [$0] } ?? [],
            resources: resources,
            scope: scope
        )
    }
}

struct BindingOptions: Sendable {
    private static let isBound = Flag("dpop")
    private static let key = Option<InputFile>("dpop-key")

    static let members = OptionDefinition.table([
        isBound: "Bind the token to a new key that is cached with it; jwt request creates the proofs",
        key: "Bind the token to this private key; jwt dpop can create proofs with it",
    ])

    static let alternatives: [[any CommandOption]] = [[isBound, key]]

    let arguments: ParsedArguments

    var isKeyKept: Bool { arguments.contains(Self.isBound) && !arguments.contains(Self.key) }

    func key(_ console: Console) throws(CommandFailure) -> DPoPKey? {
        guard let key = arguments.value(of: Self.key) else { return isKeyKept ? .generated() : nil }
        let file = try KeyFile(key.name, key.read())
        file.warn(on: console)
        let signingKey = try file.signingKey(for: nil).key
        return try KeyFile.describing(key.name) { try .key(signingKey) }
    }
}

/// A grant whose cached tokens belong to one target service, or to one of the client's identities.
struct IdentifiedGrant: DetailedGrant {
    let grant: any Grant
    /// The name of the service or identity, without secrets.
    let name: String
    var fields: [(name: String, value: String)] = []

    var identifier: String { grant.identifier + "\n" + name }
    var isRepeatable: Bool { grant.isRepeatable }
    var refreshToken: Secret? { grant.details?.refreshToken }

    func parameters(at date: Date) async throws -> [(name: String, value: String)]? {
        try await grant.parameters(at: date).map { $0 + fields }
    }

    func renewedParameters(at date: Date) async throws -> [(name: String, value: String)]? {
        try await grant.details?.renewedParameters(at: date).map { $0 + fields }
    }

    func parametersWereNotSent() { grant.details?.parametersWereNotSent() }

    func refreshParameters() throws -> [(name: String, value: String)] { try grant.details?.refreshParameters() ?? [] }

    func reducedRefreshParameters(after error: OAuth2Error) -> [(name: String, value: String)]? {
        grant.details?.reducedRefreshParameters(after: error)
    }
}
