import OAuth2
import TokenGeneration

/// The options that say who the client is, and how it proves that.
struct ClientOptions: Sendable {
    /// The names of RFC 7591 §2 and RFC 8705 §2.
    enum Method: String, CaseIterable, ArgumentValue {
        case clientSecretBasic = "client_secret_basic"
        case privateKeyJWT = "private_key_jwt"
    }

    static let section = "Client"

    private static let clientID = Option<NonEmptyText>(
        "client-id",
        value: "ID",
        section: section,
        "Who the client is to the server"
    )
    private static let methodOption = Option<Method>(
        "auth-method",
        value: "METHOD",
        section: section,
        """
        How the client proves it: \(Method.allCases.map(\.rawValue).joined(separator: ", ")) (default: \
        client_secret_basic with a secret, private_key_jwt with a key)
        """
    )
    private static let secretFile = Option<InputFile>(
        "client-secret-file",
        value: "FILE",
        section: section,
        "The file of the client's secret"
    )
    private static let secretEnvironment = Option<EnvironmentVariable>(
        "client-secret-env",
        value: "NAME",
        section: section,
        "The environment variable that holds the client's secret"
    )
    private static let key = Option<InputFile>(
        "key",
        aliases: ["key-file"],
        short: "k",
        value: "FILE",
        section: KeySource.section,
        "The client's private key: PEM, DER or JWK"
    )
    private static let keyID = Option<NonEmptyText>(
        "kid",
        value: "ID",
        section: KeySource.section,
        "The key's ID at the server; auto is its RFC 7638 thumbprint (default: the kid of a JWK)"
    )
    private static let audience = Option<NonEmptyText>(
        "assertion-aud",
        value: "TEXT",
        section: section,
        "Whom assertions are addressed to (default: the issuer, or the token endpoint if no issuer is given)"
    )

    static let members = [
        ProfileMember(clientID), ProfileMember(methodOption), ProfileMember(secretFile),
        ProfileMember(secretEnvironment),
        ProfileMember(key), ProfileMember(KeySource.environment), ProfileMember(KeySource.algorithm),
        ProfileMember(keyID), ProfileMember(KeySource.passwordFile), ProfileMember(KeySource.passwordEnvironment),
        ProfileMember(audience),
    ]

    /// Options of which one stands for the other.
    static let alternatives = [
        [
            secretFile.definition.longName, secretEnvironment.definition.longName, key.definition.longName,
            KeySource.environment.definition.longName,
        ],
        [KeySource.passwordFile.definition.longName, KeySource.passwordEnvironment.definition.longName],
    ]

    private let clientID: String
    private let method: Method
    private let secret: PasswordSource?
    private let key: KeySource?
    private let algorithm: JWSAlgorithm?
    private let keyID: String?
    private let audience: String?

    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard let clientID = try arguments.value(of: Self.clientID)?.text else {
            throw arguments.usageError("who asks? --client-id ID or --profile NAME says it")
        }
        self.clientID = clientID
        secret = try PasswordSource(
            arguments,
            file: Self.secretFile,
            environment: Self.secretEnvironment,
            noun: "secret"
        )
        key = try KeySource(arguments, key: Self.key)
        algorithm = try arguments.value(of: KeySource.algorithm)?.algorithm
        keyID = try arguments.value(of: Self.keyID)?.text
        audience = try arguments.value(of: Self.audience)?.text
        method = try Self.chosenMethod(arguments, hasSecret: secret != nil, hasKey: key != nil)
    }

    private static func chosenMethod(
        _ arguments: ParsedArguments,
        hasSecret: Bool,
        hasKey: Bool
    ) throws(UsageError) -> Method {
        let named = try arguments.value(of: methodOption)
        switch (named, hasSecret, hasKey) {
        case (nil, true, false), (.clientSecretBasic, true, false): return .clientSecretBasic
        case (nil, false, true), (.privateKeyJWT, false, true): return .privateKeyJWT
        case (_, true, true):
            throw arguments.usageError("the client has a secret and a key; leave one of them out")
        case (.privateKeyJWT, _, _):
            throw arguments.usageError("private_key_jwt needs a key: --key FILE or --key-env NAME")
        case (.clientSecretBasic, _, _):
            throw arguments.usageError(
                "client_secret_basic needs a secret: --client-secret-file FILE or --client-secret-env NAME"
            )
        case (nil, false, false):
            throw arguments.usageError(
                "how does the client prove who it is? With --client-secret-file FILE, --client-secret-env NAME or --key FILE"
            )
        }
    }

    /// How many of the client's options read standard input.
    var standardInputReaders: Int {
        [secret?.isStandardInput ?? false, key?.takesStandardInput ?? false].count { $0 }
    }

    /// Reads the client's secret or key.
    ///
    /// - Parameters:
    ///   - server: Who is asked.
    ///   - console: Where a warning goes.
    /// - Returns: What authenticates the client.
    /// - Throws: ``CommandFailure`` if it can't be used.
    func authentication(
        for server: ServerOptions,
        _ console: Console
    ) throws(CommandFailure) -> any ClientAuthentication {
        if let secret {
            return .clientSecretBasic(clientID: clientID, secret: try secret.readSecret(warningOn: console))
        }
        guard let key else { throw CommandFailure(.failed, "the client has neither a secret nor a key") }
        let file = try key.read()
        if let warning = file.permissionWarning { console.warn(warning) }
        let (signingKey, ownID) = try file.signingKey(for: algorithm)
        guard !signingKey.algorithm.isSymmetric else {
            throw CommandFailure(.failed, "\(file.name): a secret; private_key_jwt needs a private key")
        }
        let service = KeySigningService(
            key: signingKey,
            keyID: keyID == "auto" ? signingKey.verificationKey.thumbprint : keyID ?? ownID
        )
        let audience: PrivateKeyJWT.Audience =
            if let audience { .custom(audience) } else { server.hasIssuer ? .issuer : .tokenEndpoint }
        return .privateKeyJWT(clientID: clientID, signingService: service, audience: audience)
    }
}
