import Networking
import OAuth2
import TokenGeneration

/// The options that say who the client is, and how it proves that.
struct ClientOptions: Sendable {
    /// The names of RFC 7591 §2 and RFC 8705 §2.
    enum Method: String, CaseIterable, ArgumentValue {
        case clientSecretBasic = "client_secret_basic"
        case clientSecretPost = "client_secret_post"
        case clientSecretJWT = "client_secret_jwt"
        case privateKeyJWT = "private_key_jwt"
        case tlsClientAuth = "tls_client_auth"
        case selfSignedTLSClientAuth = "self_signed_tls_client_auth"
        case none

        /// What proves the client.
        fileprivate var proof: Proof? {
            switch self {
            case .clientSecretBasic, .clientSecretPost, .clientSecretJWT: .secret
            case .privateKeyJWT: .key
            case .tlsClientAuth, .selfSignedTLSClientAuth: .certificate
            case .none: nil
            }
        }
    }

    fileprivate enum Proof {
        case secret, key, certificate

        /// The options that say where it is.
        var options: String {
            switch self {
            case .secret: "a secret: --client-secret-file FILE or --client-secret-env NAME"
            case .key: "a key: --key FILE or --key-env NAME"
            case .certificate: "a certificate: --cert FILE"
            }
        }
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
        client_secret_basic with a secret, private_key_jwt with a key, tls_client_auth with a certificate, none if a user \
        signs in)
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
        "assertion-audience",
        aliases: ["assertion-aud"],
        value: "TEXT",
        section: section,
        "Whom assertions are addressed to (default: the issuer, or the token endpoint if no issuer is given)"
    )
    private static let certificate = Option<InputFile>(
        "cert",
        value: "FILE",
        section: section,
        "The client's certificate, and those of its issuers, in PEM: shown to every server (RFC 8705)"
    )
    private static let certificateKey = Option<InputFile>(
        "cert-key",
        value: "FILE",
        section: section,
        "The certificate's private key (default: in the same file)"
    )

    static let members = [
        ProfileMember(clientID), ProfileMember(methodOption), ProfileMember(secretFile),
        ProfileMember(secretEnvironment),
        ProfileMember(key), ProfileMember(KeySource.environment), ProfileMember(KeySource.algorithm),
        ProfileMember(keyID), ProfileMember(KeySource.passwordFile), ProfileMember(KeySource.passwordEnvironment),
        ProfileMember(audience), ProfileMember(certificate), ProfileMember(certificateKey),
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
    private let certificate: InputFile?
    private let certificateKey: InputFile?

    /// - Parameters:
    ///   - arguments: The command line and the profile.
    ///   - isPublicByDefault: Whether a client without any proof is one that has none, as a program on a user's machine is.
    /// - Throws: ``UsageError``.
    init(_ arguments: ParsedArguments, isPublicByDefault: Bool) throws(UsageError) {
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
        certificate = try arguments.value(of: Self.certificate)
        certificateKey = try arguments.value(of: Self.certificateKey)
        if certificateKey != nil, certificate == nil {
            throw arguments.usageError("--cert-key is the key of a certificate, and there is none: --cert FILE")
        }
        if secret != nil, key != nil {
            throw arguments.usageError("the client has a secret and a key; leave one of them out")
        }
        var proofs: [Proof] = []
        if secret != nil { proofs.append(.secret) }
        if key != nil { proofs.append(.key) }
        if certificate != nil { proofs.append(.certificate) }
        method = try Self.chosenMethod(arguments, proofs, isPublicByDefault)
    }

    private static func chosenMethod(
        _ arguments: ParsedArguments,
        _ proofs: [Proof],
        _ isPublicByDefault: Bool
    ) throws(UsageError) -> Method {
        guard let named = try arguments.value(of: methodOption) else {
            switch proofs.first {
            case .secret: return .clientSecretBasic
            case .key: return .privateKeyJWT
            case .certificate: return .tlsClientAuth
            case nil where isPublicByDefault: return .none
            case nil:
                throw arguments.usageError(
                    """
                    how does the client prove who it is? With --client-secret-file FILE, --client-secret-env NAME, --key FILE \
                    or --cert FILE
                    """
                )
            }
        }
        guard let proof = named.proof else {
            guard !proofs.contains(.secret), !proofs.contains(.key) else {
                throw arguments.usageError("--auth-method none proves nothing; leave the secret and the key out")
            }
            return named
        }
        guard proofs.contains(proof) else { throw arguments.usageError("\(named.rawValue) needs \(proof.options)") }
        // A certificate may be there for the API.
        guard proofs.allSatisfy({ $0 == proof || $0 == .certificate }) else {
            throw arguments.usageError(
                "\(named.rawValue) needs \(proof.options), and nothing else that proves the client"
            )
        }
        return named
    }

    /// How many of the client's options read standard input.
    var standardInputReaders: Int {
        [
            secret?.isStandardInput ?? false, key?.takesStandardInput ?? false, certificate?.isStandardInput ?? false,
            certificateKey?.isStandardInput ?? false,
        ].count { $0 }
    }

    /// Reads the client's secret or key.
    ///
    /// Whoever shows a certificate besides has tokens bound to it, and asks where the server wants certificates to be shown.
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
        let audience: AssertionAudience =
            if let audience { .custom(audience) } else { server.hasIssuer ? .issuer : .tokenEndpoint }
        let authentication = try authentication(audience, console)
        guard certificate != nil, !authentication.usesMutualTLS else { return authentication }
        return CertificateBoundAuthentication(authentication)
    }

    private func authentication(
        _ audience: AssertionAudience,
        _ console: Console
    ) throws(CommandFailure) -> any ClientAuthentication {
        switch method {
        case .clientSecretBasic, .clientSecretPost, .clientSecretJWT:
            guard let secret else { break }
            return try authentication(try secret.readSecret(warningOn: console), audience)
        case .privateKeyJWT:
            guard let key else { break }
            return try authentication(key, audience, console)
        case .tlsClientAuth, .selfSignedTLSClientAuth: return .tlsClientAuth(clientID: clientID)
        case .none: return .none(clientID: clientID)
        }
        throw CommandFailure(.failed, "there is nothing that proves the client")
    }

    /// What the client shows in the handshake, to the authorization server and to the API.
    ///
    /// - Parameter console: Where a warning goes.
    /// - Returns: The identity; `nil` if there is none.
    /// - Throws: ``CommandFailure`` if it can't be used.
    func identity(_ console: Console) throws(CommandFailure) -> ClientIdentity? {
        guard let certificate else { return nil }
        let chain = try certificate.read()
        let text = String(decoding: chain.bytes, as: UTF8.self)
        guard certificateKey != nil || text.contains("PRIVATE KEY-----") else {
            throw CommandFailure(.failed, "\(certificate.name): no private key in it; --cert-key FILE names its file")
        }
        let file = certificateKey ?? certificate
        let key = file == certificate ? chain : try file.read()
        try KeyFile(file.name, key).warn(on: console)
        if file != certificate { try KeyFile(certificate.name, chain).warn(on: console) }
        do {
            return try ClientIdentity(
                certificateChain: text,
                privateKey: String(decoding: key.bytes, as: UTF8.self)
            )
        } catch let error as TrustConfigurationError {
            throw CommandFailure(.failed, "\(certificate.name): \(error.message)", cause: error)
        } catch {
            throw CommandFailure(.failed, "\(certificate.name): \(error)", cause: error)
        }
    }

    private func authentication(
        _ secret: Secret,
        _ audience: AssertionAudience
    ) throws(CommandFailure) -> any ClientAuthentication {
        switch method {
        case .clientSecretJWT:
            do {
                return try .clientSecretJWT(
                    clientID: clientID,
                    secret: secret,
                    algorithm: algorithm ?? .hs256,
                    audience: audience
                )
            } catch let error as TokenError {
                throw CommandFailure(.failed, error)
            } catch {
                throw CommandFailure(.failed, "the client's secret can't be used", cause: error)
            }
        case .clientSecretPost: return .clientSecretPost(clientID: clientID, secret: secret)
        default: return .clientSecretBasic(clientID: clientID, secret: secret)
        }
    }

    private func authentication(
        _ key: KeySource,
        _ audience: AssertionAudience,
        _ console: Console
    ) throws(CommandFailure) -> any ClientAuthentication {
        let file = try key.read(warningOn: console)
        file.warn(on: console)
        let (signingKey, ownID) = try file.signingKey(for: algorithm)
        guard !signingKey.algorithm.isSymmetric else {
            throw CommandFailure(.failed, "\(file.name): a secret; private_key_jwt needs a private key")
        }
        let service = signingKey.identified(
            by: keyID == "auto" ? signingKey.verificationKey.thumbprint : keyID ?? ownID
        )
        return .privateKeyJWT(clientID: clientID, signingService: service, audience: audience)
    }
}
