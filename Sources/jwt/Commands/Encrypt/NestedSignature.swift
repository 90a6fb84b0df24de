import TokenGeneration

/// The signature of a token that is signed before it's encrypted.
struct NestedSignature {
    private static let section = "Nested token"

    static let nested = Flag(
        "nested",
        section: section,
        """
        Create a nested JWT: sign the claims with --sign-key, then encrypt the signed token; without --sign-key, the \
        input is a signed token
        """
    )
    private static let key = Option<InputFile>(
        "sign-key",
        value: "FILE",
        section: section,
        "The private key that signs: PEM, DER or JWK; its kid is that of the JWK"
    )
    private static let algorithm = Option<KeyAlgorithm>(
        "sign-alg",
        value: "ALG",
        section: section,
        "The signature algorithm, for a key that doesn't state it"
    )
    private static let passwordFile = Option<InputFile>(
        "sign-password-file",
        value: "FILE",
        section: section,
        "The file with the password of --sign-key"
    )
    private static let passwordEnvironment = Option<EnvironmentVariable>(
        "sign-password-env",
        value: "NAME",
        section: section,
        "The environment variable with the password of --sign-key"
    )

    static let options = [
        nested.definition, key.definition, algorithm.definition, passwordFile.definition,
        passwordEnvironment.definition,
    ]

    private let source: KeySource
    private let algorithm: JWSAlgorithm?

    /// Creates the signature, or returns `nil` without `--sign-key`.
    ///
    /// - Throws: ``UsageError`` if an option needs `--nested` or `--sign-key`.
    init?(_ arguments: ParsedArguments) throws(UsageError) {
        let isNested = arguments.contains(Self.nested)
        for option in Self.options.dropFirst() where !isNested && arguments.contains(option) {
            throw arguments.usageError("\(option.spelling) requires --nested")
        }
        algorithm = try arguments.value(of: Self.algorithm)?.algorithm
        let password = try PasswordSource(
            arguments,
            file: Self.passwordFile,
            environment: Self.passwordEnvironment
        )
        guard let file = try arguments.value(of: Self.key) else {
            for option in Self.options.dropFirst(2) where arguments.contains(option) {
                throw arguments.usageError("\(option.spelling) requires --sign-key")
            }
            return nil
        }
        source = try KeySource(
            arguments,
            file: file,
            password: password,
            algorithmOption: Self.algorithm.definition.spelling
        )
    }

    /// A Boolean value that indicates whether the key or its password is read from standard input.
    var takesStandardInput: Bool { source.takesStandardInput }

    /// Signs claims.
    ///
    /// - Returns: The signed token.
    /// - Throws: ``CommandFailure`` if the key can't sign.
    func token(_ claims: JSONObject, _ console: Console) throws(CommandFailure) -> String {
        let file = try source.read(warningOn: console)
        let (key, keyID) = try file.signingKey(for: algorithm)
        file.warn(on: console)
        return try KeyFile.describing(file.name) {
            try JWTGenerator(header: [:], payload: claims, signingService: key.identified(by: keyID)).token()
        }
    }
}
