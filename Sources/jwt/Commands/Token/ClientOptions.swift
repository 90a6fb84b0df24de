import Networking
import OAuth2
import TokenGeneration

struct ClientOptions: Sendable {
    enum Method: String, CaseIterable, NamedValue {
        case clientSecretBasic = "client_secret_basic"
        case clientSecretPost = "client_secret_post"
        case clientSecretJWT = "client_secret_jwt"
        case privateKeyJWT = "private_key_jwt"
        case tlsClientAuth = "tls_client_auth"
        case selfSignedTLSClientAuth = "self_signed_tls_client_auth"
        case none

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
        case secret, key, certificate, platform

        var options: String {
            switch self {
            case .secret: "a secret: --client-secret-file FILE or --client-secret-env NAME"
            case .key: "a key: --key FILE or --key-env NAME"
            case .certificate: "a certificate: --cert FILE"
            case .platform: "the platform's token: --from SOURCE"
            }
        }
    }

    private static let clientID = Option<String>("client-id", value: "ID")
    private static let methodOption = Option<Method>("auth-method", value: "METHOD")
    private static let secret = SecretOptions("client-secret", noun: "secret", "the client secret")
    private static let basicEncoding = Option<StandardClientAuthentication.Encoding>(
        "basic-encoding",
        value: "ENCODING",
        choices: ["form": .form, "raw": .raw]
    )
    private static let key = KeySource.key()
    private static let keyID = KeySource.keyID()
    private static let audience = Option<String>("assertion-audience", aliases: ["assertion-aud"])
    private static let assertionCertificate = Option<InputFile>("assertion-cert")
    private static let assertionType = Option<StandardClientAuthentication.AssertionType>(
        "assertion-type",
        value: "TYPE",
        choices: ["jwt-bearer": .jwtBearer, "jwt-spiffe": .jwtSPIFFE]
    )
    private static let certificate = Option<InputFile>("cert")
    private static let certificateKey = Option<InputFile>("cert-key")

    static let members =
        OptionDefinition.table([
            clientID: "The client ID",
            methodOption: """
            The client authentication method: \(Method.allCases.map(\.rawValue).joined(separator: ", ")) (default: \
            client_secret_basic with a secret, private_key_jwt with a key, tls_client_auth with a certificate, none if a \
            user signs in)
            """,
            secret: nil,
            basicEncoding:
                "The encoding of the ID and secret for client_secret_basic: form (default), or raw for servers that don't decode it",
            key: "The client's private key: PEM, DER or JWK",
            KeySource.environment: nil,
            KeySource.algorithm: nil,
            keyID: "The ID of the key at the server; auto is the RFC 7638 thumbprint (default: the JWK's kid)",
            KeySource.password: nil,
            audience:
                "The audience of client assertions (default: the issuer, or the token endpoint without an issuer)",
            assertionCertificate:
                "The key's certificate in PEM: client assertions name it and have the typ JWT, as for Entra ID",
            assertionType:
                "The type of the platform's assertion: jwt-bearer, jwt-spiffe (default: jwt-spiffe with --from spiffe:PATH)",
            certificate: "The client certificate and its chain in PEM, sent to every server (RFC 8705)",
            certificateKey: "The private key of the certificate (default: in the certificate file)",
        ])

    /// The groups of mutually exclusive options.
    static let alternatives: [[any CommandOption]] = [[secret, key, KeySource.environment], [KeySource.password]]

    private let arguments: ParsedArguments
    private let clientID: String
    private let method: Method
    private let secret: PasswordSource?
    private let key: KeySource?
    private let platformType: StandardClientAuthentication.AssertionType?

    private var algorithm: JWSAlgorithm? { arguments.value(of: KeySource.algorithm) }
    private var assertionCertificate: InputFile? { arguments.value(of: Self.assertionCertificate) }
    private var certificate: InputFile? { arguments.value(of: Self.certificate) }
    private var certificateKey: InputFile? { arguments.value(of: Self.certificateKey) }

    init(_ arguments: ParsedArguments, isPublicByDefault: Bool, platform: PlatformOptions?) throws(UsageError) {
        self.arguments = arguments
        guard let clientID = arguments.value(of: Self.clientID) else {
            throw arguments.usageError("missing client ID; pass --client-id ID or --profile NAME")
        }
        self.clientID = clientID
        secret = try PasswordSource(arguments, Self.secret)
        key = try KeySource(arguments, key: Self.key)
        let hasCertificate = arguments.contains(Self.certificate)
        let assertionType = arguments.value(of: Self.assertionType)
        try arguments.reject([
            "--cert-key requires --cert FILE": arguments.contains(Self.certificateKey) && !hasCertificate,
            "--assertion-cert requires --key FILE": arguments.contains(Self.assertionCertificate) && key == nil,
            "the client can have a secret or a key, but not both": secret != nil && key != nil,
            """
            --from authenticates the client, like a secret or a key; remove one of them, or use the platform's token \
            with --grant token_exchange or jwt_bearer
            """: platform != nil && (secret != nil || key != nil),
            "--assertion-type requires --from SOURCE that authenticates the client":
                assertionType != nil && platform == nil,
        ])
        platformType = platform.map { assertionType ?? ($0.isSPIFFE ? .jwtSPIFFE : .jwtBearer) }
        var proofs: [Proof] = []
        if platform != nil { proofs.append(.platform) }
        if secret != nil { proofs.append(.secret) }
        if key != nil { proofs.append(.key) }
        if hasCertificate { proofs.append(.certificate) }
        method = try Self.chosenMethod(arguments, proofs, isPublicByDefault)
        guard !arguments.contains(Self.basicEncoding) || method == .clientSecretBasic else {
            throw arguments.usageError("--basic-encoding requires client_secret_basic; remove it")
        }
    }

    private static func chosenMethod(
        _ arguments: ParsedArguments,
        _ proofs: [Proof],
        _ isPublicByDefault: Bool
    ) throws(UsageError) -> Method {
        guard let named = arguments.value(of: methodOption) else {
            switch proofs.first {
            case .secret: return .clientSecretBasic
            case .key, .platform: return .privateKeyJWT
            case .certificate: return .tlsClientAuth
            case nil where isPublicByDefault: return .none
            case nil:
                throw arguments.usageError(
                    """
                    missing client credentials; pass --client-secret-file FILE, --client-secret-env NAME, --key FILE, \
                    --cert FILE or --from SOURCE
                    """
                )
            }
        }
        guard let proof = named.proof else {
            guard proofs.allSatisfy({ $0 == .certificate }) else {
                throw arguments.usageError("--auth-method none doesn't use credentials; remove the secret or key")
            }
            return named
        }
        if named == .privateKeyJWT, proofs.contains(.platform) { return named }
        guard proofs.contains(proof) else { throw arguments.usageError("\(named.rawValue) needs \(proof.options)") }
        // The certificate may be for the API.
        guard proofs.allSatisfy({ $0 == proof || $0 == .certificate }) else {
            throw arguments.usageError(
                "\(named.rawValue) needs \(proof.options); remove the client's other credentials"
            )
        }
        return named
    }

    var usesPlatform: Bool { platformType != nil }

    /// The name of the credential in messages, or `nil` for a public client.
    var credential: String? {
        switch method.proof {
        case .secret: "secret"
        case .key where usesPlatform: "the platform's token"
        case .key: "key"
        case .certificate: "certificate"
        case .platform, nil: nil
        }
    }

    /// Reads the credentials; a certificate in addition to a secret or key binds tokens to it.
    func authentication(
        for server: ServerOptions,
        platform: PlatformOptions.Identity?,
        _ console: Console
    ) throws(CommandFailure) -> any ClientAuthentication {
        let audience: AssertionAudience =
            if let audience = arguments.value(of: Self.audience) { .custom(audience) } else {
                server.hasIssuer ? .issuer : .tokenEndpoint
            }
        let authentication: any ClientAuthentication
        if let platformType, let platform {
            authentication = .signedAssertion(
                clientID: clientID,
                assertion: platform.source,
                type: platformType
            )
        } else {
            authentication = try self.authentication(audience, console)
        }
        guard certificate != nil, !authentication.usesMutualTLS else { return authentication }
        return .mutualTLS(authentication)
    }

    private func authentication(
        _ audience: AssertionAudience,
        _ console: Console
    ) throws(CommandFailure) -> any ClientAuthentication {
        let secret = try secret.map { source throws(CommandFailure) in Secret(try source.read(warningOn: console)) }
        switch (method, secret, key) {
        case (.clientSecretBasic, let secret?, _):
            let encoding = arguments.value(of: Self.basicEncoding) ?? .form
            return .clientSecretBasic(clientID: clientID, secret: secret, encoding: encoding)
        case (.clientSecretPost, let secret?, _): return .clientSecretPost(clientID: clientID, secret: secret)
        case (.clientSecretJWT, let secret?, _):
            return try CommandFailure.reporting {
                try .clientSecretJWT(
                    clientID: clientID,
                    secret: secret,
                    algorithm: algorithm ?? .hs256,
                    audience: audience
                )
            }
        case (.privateKeyJWT, _, let key?): return try authentication(key, audience, console)
        case (.tlsClientAuth, _, _), (.selfSignedTLSClientAuth, _, _): return .tlsClientAuth(clientID: clientID)
        case (.none, _, _): return .none(clientID: clientID)
        default: throw CommandFailure(.failed, "missing client credentials")
        }
    }

    func identity(_ console: Console) throws(CommandFailure) -> ClientIdentity? {
        guard let certificate else { return nil }
        let chain = try certificate.read()
        let text = String(decoding: chain.bytes, as: UTF8.self)
        guard certificateKey != nil || text.contains("PRIVATE KEY-----") else {
            throw CommandFailure(.failed, "\(certificate.name): contains no private key; pass it with --cert-key FILE")
        }
        let file = certificateKey ?? certificate
        let key = file == certificate ? chain : try file.read()
        try KeyFile(file.name, key).warn(on: console)
        if file != certificate { try KeyFile(certificate.name, chain).warn(on: console) }
        return try CommandFailure.reporting(at: certificate.name) {
            try ClientIdentity(certificateChain: text, privateKey: String(decoding: key.bytes, as: UTF8.self))
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
            throw CommandFailure(.failed, "\(file.name): contains a secret, but private_key_jwt needs a private key")
        }
        let keyID = arguments.value(of: Self.keyID)
        let service = signingKey.identified(
            by: keyID == "auto" ? signingKey.verificationKey.thumbprint : keyID ?? ownID
        )
        var header: JSONObject = [:]
        if let assertionCertificate {
            let certificate = String(decoding: try assertionCertificate.read().bytes, as: UTF8.self)
            header["typ"] = "JWT"
            header["x5t#S256"] = try CommandFailure.reporting(at: assertionCertificate.name) {
                .string(try signingKey.thumbprint(ofCertificate: certificate))
            }
        }
        return .privateKeyJWT(clientID: clientID, signingService: service, audience: audience, header: header)
    }
}
