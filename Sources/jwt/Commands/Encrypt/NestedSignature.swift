import TokenGeneration

/// The signature of a token that is signed before it's encrypted.
struct NestedSignature {
    static let nested = Flag(
        "nested",
        """
        Create a nested JWT: sign the claims with --sign-key, then encrypt the signed token; without --sign-key, the \
        input is a signed token
        """
    )
    private static let key = Option<InputFile>(
        "sign-key",
        "The private key that signs: PEM, DER or JWK; its kid is that of the JWK"
    )
    private static let algorithm = Option<JWSAlgorithm>(
        "sign-alg",
        "The signature algorithm, for a key that doesn't state it"
    )
    private static let password = SecretOptions(
        "sign-password",
        file: "The file with the password of --sign-key",
        environment: "The environment variable with the password of --sign-key"
    )

    static let options = OptionDefinition.section("Nested token", [nested, key, algorithm, password])

    private let source: KeySource
    private let algorithm: JWSAlgorithm?

    /// Creates the signature, or returns `nil` without `--sign-key`.
    init?(_ arguments: ParsedArguments) throws(UsageError) {
        let isNested = arguments.contains(Self.nested)
        for option in Self.options.dropFirst() where !isNested && arguments.contains(option) {
            throw arguments.usageError("\(option.spelling) requires --nested")
        }
        algorithm = try arguments.value(of: Self.algorithm)
        let password = try PasswordSource(arguments, Self.password)
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

    func token(_ claims: JSONObject, _ console: Console) throws(CommandFailure) -> String {
        let (key, keyID) = try source.signingKey(for: algorithm, console)
        return try CommandFailure.reporting(at: source.name) {
            try JWTGenerator(header: [:], payload: claims, signingService: key.identified(by: keyID)).token()
        }
    }
}
