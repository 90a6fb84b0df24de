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

    private enum BasicEncoding: String, CaseIterable, NamedValue {
        case form
        case raw
    }

    private enum AssertionType: String, CaseIterable, NamedValue {
        case jwtBearer = "jwt-bearer"
        case jwtSPIFFE = "jwt-spiffe"
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

    private static let clientID = Option<NonEmptyText>("client-id", value: "ID", "The client ID")
    private static let methodOption = Option<Method>(
        "auth-method",
        value: "METHOD",
        """
        The client authentication method: \(Method.allCases.map(\.rawValue).joined(separator: ", ")) (default: \
        client_secret_basic with a secret, private_key_jwt with a key, tls_client_auth with a certificate, none if a \
        user signs in)
        """
    )
    private static let secret = SecretOptions(
        "client-secret",
        noun: "secret",
        file: "The file with the client secret",
        environment: "The environment variable with the client secret"
    )
    private static let basicEncoding = Option<BasicEncoding>(
        "basic-encoding",
        value: "ENCODING",
        "The encoding of the ID and secret for client_secret_basic: form (default), or raw for servers that don't decode it"
    )
    private static let key = KeySource.key("The client's private key: PEM, DER or JWK")
    private static let keyID = Option<NonEmptyText>(
        "kid",
        aliases: ["keyid", "key-id"],
        value: "ID",
        "The ID of the key at the server; auto is the RFC 7638 thumbprint (default: the JWK's kid)"
    )
    private static let audience = Option<NonEmptyText>(
        "assertion-audience",
        aliases: ["assertion-aud"],
        "The audience of client assertions (default: the issuer, or the token endpoint without an issuer)"
    )
    private static let assertionCertificate = Option<InputFile>(
        "assertion-cert",
        "The key's certificate in PEM: client assertions name it and have the typ JWT, as for Entra ID"
    )
    private static let assertionType = Option<AssertionType>(
        "assertion-type",
        value: "TYPE",
        "The type of the platform's assertion: jwt-bearer, jwt-spiffe (default: jwt-spiffe with --from spiffe:PATH)"
    )
    private static let certificate = Option<InputFile>(
        "cert",
        "The client certificate and its chain in PEM, sent to every server (RFC 8705)"
    )
    private static let certificateKey = Option<InputFile>(
        "cert-key",
        "The private key of the certificate (default: in the certificate file)"
    )

    static let members =
        OptionDefinition.section("Client", [clientID, methodOption, secret, basicEncoding])
        + OptionDefinition.section(
            KeySource.section,
            [key, KeySource.environment, KeySource.algorithm, keyID, KeySource.password]
        )
        + OptionDefinition.section(
            "Client",
            [audience, assertionCertificate, assertionType, certificate, certificateKey]
        )

    /// The groups of mutually exclusive options.
    static let alternatives: [[any CommandOption]] = [[secret, key, KeySource.environment], [KeySource.password]]

    private let clientID: String
    private let method: Method
    private let secret: PasswordSource?
    private let basicEncoding: ClientSecretBasic.Encoding
    private let key: KeySource?
    private let algorithm: JWSAlgorithm?
    private let keyID: String?
    private let audience: String?
    private let assertionCertificate: InputFile?
    private let platformType: SignedAssertionAuthentication.AssertionType?
    private let certificate: InputFile?
    private let certificateKey: InputFile?

    init(_ arguments: ParsedArguments, isPublicByDefault: Bool, platform: PlatformOptions?) throws(UsageError) {
        guard let clientID = try arguments.value(of: Self.clientID)?.text else {
            throw arguments.usageError("missing client ID; pass --client-id ID or --profile NAME")
        }
        self.clientID = clientID
        secret = try PasswordSource(arguments, Self.secret)
        let basicEncoding = try arguments.value(of: Self.basicEncoding)
        self.basicEncoding = basicEncoding == .raw ? .raw : .form
        key = try KeySource(arguments, key: Self.key)
        algorithm = try arguments.value(of: KeySource.algorithm)
        keyID = try arguments.value(of: Self.keyID)?.text
        audience = try arguments.value(of: Self.audience)?.text
        assertionCertificate = try arguments.value(of: Self.assertionCertificate)
        certificate = try arguments.value(of: Self.certificate)
        certificateKey = try arguments.value(of: Self.certificateKey)
        let assertionType = try arguments.value(of: Self.assertionType)
        try arguments.reject([
            "--cert-key requires --cert FILE": certificateKey != nil && certificate == nil,
            "--assertion-cert requires --key FILE": assertionCertificate != nil && key == nil,
            "the client can have a secret or a key, but not both": secret != nil && key != nil,
            """
            --from authenticates the client, like a secret or a key; remove one of them, or use the platform's token \
            with --grant token_exchange or jwt_bearer
            """: platform != nil && (secret != nil || key != nil),
            "--assertion-type requires --from SOURCE that authenticates the client":
                assertionType != nil && platform == nil,
        ])
        platformType = platform.map { platform in
            (assertionType ?? (platform.isSPIFFE ? .jwtSPIFFE : .jwtBearer)) == .jwtSPIFFE ? .jwtSPIFFE : .jwtBearer
        }
        var proofs: [Proof] = []
        if platform != nil { proofs.append(.platform) }
        if secret != nil { proofs.append(.secret) }
        if key != nil { proofs.append(.key) }
        if certificate != nil { proofs.append(.certificate) }
        method = try Self.chosenMethod(arguments, proofs, isPublicByDefault)
        guard basicEncoding == nil || method == .clientSecretBasic else {
            throw arguments.usageError("--basic-encoding requires client_secret_basic; remove it")
        }
    }

    private static func chosenMethod(
        _ arguments: ParsedArguments,
        _ proofs: [Proof],
        _ isPublicByDefault: Bool
    ) throws(UsageError) -> Method {
        guard let named = try arguments.value(of: methodOption) else {
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
            if let audience { .custom(audience) } else { server.hasIssuer ? .issuer : .tokenEndpoint }
        let authentication: any ClientAuthentication
        if let platformType, let platform {
            authentication = SignedAssertionAuthentication(
                clientID: clientID,
                assertion: platform.source,
                type: platformType
            )
        } else {
            authentication = try self.authentication(audience, console)
        }
        guard certificate != nil, !authentication.usesMutualTLS else { return authentication }
        return MutualTLSAuthentication(authentication)
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
        throw CommandFailure(.failed, "missing client credentials")
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
        _ secret: Secret,
        _ audience: AssertionAudience
    ) throws(CommandFailure) -> any ClientAuthentication {
        switch method {
        case .clientSecretJWT:
            try CommandFailure.reporting {
                try .clientSecretJWT(
                    clientID: clientID,
                    secret: secret,
                    algorithm: algorithm ?? .hs256,
                    audience: audience
                )
            }
        case .clientSecretPost: .clientSecretPost(clientID: clientID, secret: secret)
        default: .clientSecretBasic(clientID: clientID, secret: secret, encoding: basicEncoding)
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
