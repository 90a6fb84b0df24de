import TokenGeneration

struct SDPresentCommand {
    private static let disclose = Option<ClaimPathArgument>("disclose", short: "d", isRepeatable: true)
    private static let everything = Flag("disclose-all")
    private static let type = Option<String>("typ", value: "TYPE")
    private static let unverified = Flag("unverified")

    static let definition = CommandDefinition(
        name: "present",
        summary: "Present some claims of an SD-JWT to a verifier",
        discussion: [
            """
            Prints only the presentation. It contains the claims that the issuer made visible, and those of --disclose. \
            The issuer's signature is verified first, and an SD-JWT that has expired or isn't valid yet is rejected.
            """,
            """
            With --key, --nonce and --kb-aud, the presentation has a key binding: a signature of the holder for one \
            verifier and one transaction. Without them, anyone who gets a copy can present it again to verifiers that \
            don't require a key binding.
            """,
        ],
        options: [
            OptionDefinition.table([
                disclose: "A claim to show to the verifier, with the claims around it; jwt sd show prints the paths",
                everything: "Show every claim",
            ]).section("Disclosures"), HolderBinding.options,
            OptionDefinition.table([
                SignerKeys.options: nil,
                type: "The required type in the header (default: sd-jwt, or any type that ends with +sd-jwt)",
                unverified:
                    "Don't verify the issuer's signature and the times, for an SD-JWT that you verified when you received it",
            ]).section("Issuer"), SDForm.options,
        ],
        operands: [TokenInput.operand],
        examples: [
            "Present the name, with a key binding for a verifier's nonce": """
            jwt sd present --verify-key issuer.pub -d name -k holder.pem --nonce "$N" --kb-aud https://shop.example < sd-jwt
            """,
            "Present two nationalities without a key binding":
                "jwt sd present --jwks issuer.jwks -d 'nationalities[0]' -d 'nationalities[2]' < sd-jwt",
            "Present an SD-JWT from your own storage without the issuer's key":
                "jwt sd present --unverified -d address.locality < sd-jwt",
        ],
        exitCodes: [
            0: "The presentation was printed",
            1: "The SD-JWT was rejected",
            2: "A key or a path doesn't fit the SD-JWT, or a file, a pipe or the network failed",
        ],
        action: { try SDPresentCommand($0).run(on: $1) }
    )

    private let arguments: ParsedArguments
    private let token: TokenInput
    private let binding: HolderBinding?
    /// The issuer's keys, or `nil` to verify nothing.
    private let keys: VerificationKeys?

    private init(_ arguments: ParsedArguments) throws(UsageError) {
        self.arguments = arguments
        if arguments.contains(Self.everything), arguments.contains(Self.disclose) {
            throw arguments.usageError("--disclose and --disclose-all can't be combined")
        }
        binding = try HolderBinding(arguments)
        keys = try Self.keys(arguments)
        token = try TokenInput(arguments)
        try arguments.checkStandardInput(
            [token.isStandardInput, keys?.takesStandardInput, binding?.takesStandardInput],
            "only one of the keys and the SD-JWT can come from standard input"
        )
    }

    private static func keys(_ arguments: ParsedArguments) throws(UsageError) -> VerificationKeys? {
        guard arguments.contains(unverified) else {
            return try SignerKeys.keys(
                arguments,
                advice: """
                    pass the issuer's with --verify-key FILE, --jwks FILE|URL or --discover ISSUER, or --unverified if you \
                    have verified the SD-JWT before
                    """
            )
        }
        if let other = (type.definitions + SignerKeys.options).first(where: arguments.contains) {
            throw arguments.usageError("--unverified and \(other.spelling) can't be combined")
        }
        return nil
    }

    private func run(on console: Console) throws {
        let key = try binding.map { binding throws(CommandFailure) in try binding.key(console) }
        let verifier = try keys.map { keys throws(CommandFailure) in
            try keys.selectiveVerifier(policy(of: keys), console)
        }
        let input = try SDInput(token, insteadOf: "jwt decode")
        let holder: SDJWTHolder
        do throws(TokenError) {
            holder = try Self.holder(of: input, verifier)
        } catch {
            let claims = try? input.unverified().unverifiedPayload
            throw CommandFailure(.rejected, error.message + PolicyOptions.advice(for: error, in: claims), cause: error)
        }
        let form = SDForm.form(arguments)
        let paths =
            arguments.contains(Self.everything)
            ? holder.disclosablePaths : arguments.values(of: Self.disclose).map(\.path)
        do {
            guard let binding, let key else {
                return try form.print(holder.presentation(disclosing: paths), on: console)
            }
            let presentation = try holder.presentation(
                disclosing: paths,
                nonce: binding.nonce,
                audience: binding.audience,
                signingService: key
            )
            try form.print(presentation, on: console)
        } catch let error as TokenError {
            throw Self.failure(error)
        }
    }

    private static func holder(of input: SDInput, _ verifier: SDJWTVerifier?) throws(TokenError) -> SDJWTHolder {
        switch (verifier, input.isJSON) {
        case (let verifier?, false): try SDJWTHolder(input.text, verifiedBy: verifier)
        case (let verifier?, true): try SDJWTHolder(json: input.data, verifiedBy: verifier)
        case (nil, false): try SDJWTHolder(unverified: input.text)
        case (nil, true): try SDJWTHolder(unverifiedJSON: input.data)
        }
    }

    /// Returns the holder's policy, without the audience, which verifiers check.
    private func policy(of keys: VerificationKeys) -> ValidationPolicy {
        ValidationPolicy(
            issuer: keys.issuer.map { .exactly($0) } ?? .skipIssuerCheck,
            audience: .skipAudienceCheck,
            type: arguments.value(of: Self.type).map { .exactly($0) } ?? .any,
            expiration: .optional
        )
    }

    private static func failure(_ error: TokenError) -> CommandFailure {
        switch error.code {
        case .missingClaim:
            CommandFailure(.failed, "--disclose: \(error.message); jwt sd show prints the paths", cause: error)
        case .signatureInvalid, .algorithmMismatch:
            CommandFailure(.failed, "the key isn't the holder's, which the SD-JWT has in “cnf”", cause: error)
        case .confirmationMismatch:
            CommandFailure(.failed, "\(error.message); present it without --key, --nonce and --kb-aud", cause: error)
        default: CommandFailure(.failed, error)
        }
    }
}

struct HolderBinding {
    private static let key = KeySource.key()
    static let nonce = Option<String>("nonce")
    static let audience = Option<String>("kb-aud")

    static let options = OptionDefinition.table([
        key: "The holder's private key: PEM, DER or JWK; requires --nonce and --kb-aud",
        KeySource.options.without(KeySource.secret): nil,
        KeySource.algorithm: nil,
        nonce: "The nonce that the verifier sent for this transaction",
        audience: "The verifier's name, the audience of the key binding",
    ]).section("Key binding")

    let nonce: String
    let audience: String
    private let source: KeySource
    private let algorithm: JWSAlgorithm?

    init?(_ arguments: ParsedArguments) throws(UsageError) {
        let source = try KeySource(arguments, key: Self.key)
        let nonce = arguments.value(of: Self.nonce)
        let audience = arguments.value(of: Self.audience)
        algorithm = arguments.value(of: KeySource.algorithm)
        guard source != nil || nonce != nil || audience != nil else {
            if algorithm != nil { throw arguments.usageError("--alg requires a key") }
            return nil
        }
        guard let source, let nonce, let audience else {
            let missing = [source == nil ? "--key FILE" : nil, nonce == nil ? "--nonce TEXT" : nil]
            let names = (missing + [audience == nil ? "--kb-aud TEXT" : nil]).compactMap(\.self)
            throw arguments.usageError("a key binding also needs \(names.joined(separator: " and "))")
        }
        self.source = source
        self.nonce = nonce
        self.audience = audience
    }

    var takesStandardInput: Bool { source.takesStandardInput }

    func key(_ console: Console) throws(CommandFailure) -> SigningKey {
        try source.signingKey(for: algorithm, console).key
    }
}
