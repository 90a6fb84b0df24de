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

    /// A token type ([RFC 8693 §3](https://www.rfc-editor.org/rfc/rfc8693#section-3)): the end of
    /// its URN, or another URI.
    struct SubjectTokenType: ArgumentValue {
        private static let prefix = "urn:ietf:params:oauth:token-type:"
        private static let names = ["access_token", "refresh_token", "id_token", "jwt", "saml1", "saml2"]
        static let valueKind = OptionDefinition.ValueKind.choice(names)

        static let accessToken = SubjectTokenType(identifier: prefix + "access_token")
        static let jwt = SubjectTokenType(identifier: prefix + "jwt")

        let identifier: String

        private init(identifier: String) { self.identifier = identifier }

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
        aliases: ["grant-type"],
        value: "GRANT",
        """
        The grant: \(Kind.allCases.map(\.rawValue).joined(separator: ", ")) (default: the grant of the options \
        below, or else client_credentials); the last two require a user to sign in
        """
    )
    private static let scope = Option<NonEmptyText>(
        "scope",
        value: "SCOPE",
        isRepeatable: true,
        "The requested scope: names separated by spaces"
    )
    private static let audience = Option<NonEmptyText>(
        "audience",
        value: "NAME",
        "The service for the token, by the server's name for it"
    )
    private static let resource = Option<NonEmptyText>(
        "resource",
        value: "URI",
        "The service for the token, by its URI (RFC 8707)"
    )
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
    private static let subjectProfile = Option<NonEmptyText>(
        "subject-profile",
        value: "NAME",
        "The profile whose token to exchange; that token is cached and refreshed, too"
    )
    private static let subjectTokenType = Option<SubjectTokenType>(
        "subject-token-type",
        value: "TYPE",
        """
        The type of the token to exchange: access_token (default), refresh_token, id_token, jwt (default with --from), \
        saml1, saml2 or a URI
        """
    )

    static let members =
        OptionDefinition.section(
            section,
            [kind, scope, audience, resource, refreshToken, subjectToken, subjectProfile, subjectTokenType]
        ) + SignInOptions.members

    static let alternatives: [[any CommandOption]] = [[refreshToken], [subjectToken, subjectProfile]]

    private indirect enum Subject {
        case token(PasswordSource)
        case profile(TokenOptions)
        case platform
    }

    let kind: Kind
    private let scope: String?
    private let audience: String?
    private let resource: String?
    private let refreshToken: PasswordSource?
    private let subject: Subject?
    private let subjectTokenType: SubjectTokenType
    private let signInOptions: SignInOptions

    /// Reads the options of a grant; the profiles in a chain of exchanges must not form a cycle.
    init(_ arguments: ParsedArguments, in profiles: [String], hasPlatform: Bool) throws {
        let scopes = try arguments.values(of: Self.scope).map(\.text)
        scope = scopes.isEmpty ? nil : scopes.joined(separator: " ")
        audience = try arguments.value(of: Self.audience)?.text
        resource = try arguments.value(of: Self.resource)?.text
        refreshToken = try PasswordSource(arguments, Self.refreshToken)
        let named = try arguments.value(of: Self.kind)
        let given = try Self.subject(arguments, in: profiles)
        // Next to another token, the platform's token authenticates the client.
        let usesPlatform = hasPlatform && given == nil && (named == .tokenExchange || named == .jwtBearer)
        let subject = usesPlatform ? .platform : given
        self.subject = subject
        subjectTokenType = try arguments.value(of: Self.subjectTokenType) ?? (usesPlatform ? .jwt : .accessToken)
        let implied: Kind =
            refreshToken != nil ? .refreshToken : subject != nil ? .tokenExchange : .clientCredentials
        kind = named ?? implied
        signInOptions = try SignInOptions(arguments, for: kind)
        try check(arguments)
    }

    private static func subject(_ arguments: ParsedArguments, in profiles: [String]) throws -> Subject? {
        let source = try PasswordSource(arguments, subjectToken)
        guard let name = try arguments.value(of: subjectProfile)?.text else { return source.map(Subject.token) }
        try arguments.reject([
            "--subject-profile and a token to exchange can't be combined": source != nil,
            "--subject-profile forms a cycle with profile “\(name)”": profiles.contains(name),
        ])
        return .profile(try TokenOptions(arguments, ofProfile: name, in: profiles))
    }

    private func check(_ arguments: ParsedArguments) throws(UsageError) {
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
                resources: resource.map { [$0] } ?? []
            )
            return audience.map { grant.adding([("audience", $0)]) } ?? grant
        case (.refreshToken, _):
            guard let refreshToken else { break }
            return RefreshTokenGrant(refreshToken: try refreshToken.readSecret(warningOn: console))
        case (.tokenExchange, .token(let source)?):
            let secret = try source.readSecret(warningOn: console)
            // The digest of the subject token separates the cached tokens of different subjects.
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
                : ClientCredentialsGrant(scope: scope).adding(fields)
        case (.deviceCode, _), (.authorizationCode, _):
            let services = [resource, audience.map { "audience=\($0)" }].compactMap(\.self)
            let parts = [kind.rawValue, scope ?? ""] + services
            return SignInGrant(identifier: parts.joined(separator: "\n"))
        case (.tokenExchange, nil): break
        }
        throw CommandFailure(.failed, "missing credentials for the grant")
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

struct BindingOptions: Sendable {
    private static let isBound = Flag(
        "dpop",
        "Bind the token to a new key that is cached with it; jwt request creates the proofs"
    )
    private static let key = Option<InputFile>(
        "dpop-key",
        "Bind the token to this private key; jwt dpop can create proofs with it"
    )

    static let members = OptionDefinition.section(GrantOptions.section, [isBound, key])

    static let alternatives: [[any CommandOption]] = [[isBound, key]]

    private let isBound: Bool
    private let key: InputFile?

    init(_ arguments: ParsedArguments) throws(UsageError) {
        isBound = arguments.contains(Self.isBound)
        key = try arguments.value(of: Self.key)
    }

    var isKeyKept: Bool { isBound && key == nil }
    func key(_ console: Console) throws(CommandFailure) -> DPoPKey? {
        guard let key else { return isBound ? .generated() : nil }
        let file = try KeyFile(key.name, key.read())
        file.warn(on: console)
        let signingKey = try file.signingKey(for: nil).key
        return try KeyFile.describing(key.name) { try .key(signingKey) }
    }
}

/// A grant whose cached tokens belong to one target service, or to one of the client's identities.
struct IdentifiedGrant: Grant {
    let grant: any Grant
    /// The name of the service or identity, without secrets.
    let name: String
    var fields: [(name: String, value: String)] = []

    var identifier: String { grant.identifier + "\n" + name }
    var isRepeatable: Bool { grant.isRepeatable }
    var refreshToken: Secret? { grant.refreshToken }

    func parameters(at date: Date) async throws -> [(name: String, value: String)]? {
        try await grant.parameters(at: date).map { $0 + fields }
    }

    func renewedParameters(at date: Date) async throws -> [(name: String, value: String)]? {
        try await grant.renewedParameters(at: date).map { $0 + fields }
    }

    func parametersWereNotSent() { grant.parametersWereNotSent() }

    func refreshParameters() throws -> [(name: String, value: String)] { try grant.refreshParameters() }

    func reducedRefreshParameters(after error: OAuth2Error) -> [(name: String, value: String)]? {
        grant.reducedRefreshParameters(after: error)
    }
}

extension Grant {
    /// Returns the grant for a target service: `resource` ([RFC
    /// 8707](https://www.rfc-editor.org/rfc/rfc8707)), or `audience` at several servers.
    func adding(_ fields: [(name: String, value: String)]) -> IdentifiedGrant {
        let name = fields.map { "\($0.name)=\($0.value)" }.joined(separator: "\n")
        return IdentifiedGrant(grant: self, name: name, fields: fields)
    }
}
