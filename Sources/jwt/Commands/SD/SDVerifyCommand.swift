import TokenGeneration

struct SDVerifyCommand {
    static let definition = CommandDefinition(
        name: "verify",
        summary: "Verify a presented SD-JWT and print its claims",
        discussion: [
            """
            Verifies the issuer's signature and the disclosures, and validates the claims like jwt verify. A claim that \
            the holder didn't disclose is absent, so name the claims that you need with --require. Prints the claims \
            without digests if the presentation is valid, and otherwise one line on standard error.
            """,
            """
            You decide whether the holder must prove that the SD-JWT is theirs. With --nonce and --kb-aud, the \
            presentation must have a key binding that was made for this nonce and audience. Use a nonce once: the \
            command doesn't remember it.
            """,
        ],
        options: [VerificationKeys.options.without(KeySource.secret), KeyBindingOptions.options, policyOptions],
        operands: [TokenInput.operand],
        examples: [
            "Verify a presentation with a key binding, and extract a claim": """
            jwt sd verify -k issuer.pub --nonce "$N" --kb-aud https://shop.example --require name < presentation | jq -r .name
            """,
            "Verify with the keys that an issuer publishes, without a key binding":
                "jwt sd verify --discover https://id.example.org --allow-no-key-binding < presentation",
        ],
        exitCodes: [
            0: "The presentation is valid",
            1: "The presentation was rejected",
            2: VerificationKeys.failure,
        ],
        action: { try run($0, $1) }
    )

    private static let policyOptions = PolicyOptions.options.describing([
        "aud": """
        The required audience of the SD-JWT itself; without it, SD-JWTs with an audience are rejected (the audience of \
        the key binding is --kb-aud)
        """,
        "typ": "The required type in the header (default: sd-jwt, or any type that ends with +sd-jwt)",
    ])

    private static func run(_ arguments: ParsedArguments, _ console: Console) throws {
        let keys = try VerificationKeys(arguments)
        let binding = try KeyBindingOptions(arguments)
        let options = try PolicyOptions(arguments, keyIssuer: keys.issuer)
        let token = try TokenInput(arguments)
        if keys.takesStandardInput, token.isStandardInput {
            throw arguments.usageError("the key and the token can't both come from standard input")
        }
        let verifier = try keys.selectiveVerifier(options.policy, console)
        let input = try SDInput(token, insteadOf: "jwt verify")
        let verified: VerifiedSDJWT
        do throws(TokenError) {
            verified =
                input.isJSON
                ? try verifier.verify(json: input.data, keyBinding: binding.rule)
                : try verifier.verify(input.text, keyBinding: binding.rule)
        } catch {
            throw CommandFailure(.rejected, explanation(of: error, input, options), cause: error)
        }
        guard console.writesJSON else { return try console.show(verified.claims.prettyPrinted()) }
        try console.print(result(verified))
    }

    private static func explanation(of error: TokenError, _ input: SDInput, _ options: PolicyOptions) -> String {
        // The policy's options don't apply to the key binding.
        guard !error.message.contains("key binding") else { return error.message }
        let claims = try? input.unverified().unverifiedPayload
        return options.explained(error).message + PolicyOptions.advice(for: error, in: claims)
    }

    private static func result(_ verified: VerifiedSDJWT) -> JSONObject {
        var result: JSONObject = [
            "valid": true, "header": .object(verified.header), "claims": .object(verified.claims),
            "disclosed": .array(verified.disclosedPaths.map { .string(ClaimPathArgument.text(of: $0)) }),
        ]
        result["keyBinding"] = verified.keyBinding.map { .object($0.claims) }
        return result
    }
}

struct KeyBindingOptions {
    private static let nonce = Option<String>("nonce")
    private static let audience = Option<String>("kb-aud")
    private static let maximumAge = Option<TimeSpan>("kb-max-age")
    private static let notRequired = Flag("allow-no-key-binding")

    static let options = OptionDefinition.table([
        nonce: "The nonce that you sent to the holder; requires a key binding",
        audience: "The name that the holder knows you by, the required audience of the key binding",
        maximumAge: "The maximum time since the holder signed the key binding (default: 5m)",
        notRequired: """
        Accept presentations with and without a key binding, which is ignored; anyone who has a copy can present the \
        SD-JWT
        """,
    ]).section("Key binding")

    let rule: KeyBindingRule

    init(_ arguments: ParsedArguments) throws(UsageError) {
        let nonce = arguments.value(of: Self.nonce)
        let audience = arguments.value(of: Self.audience)
        let maximumAge = arguments.value(of: Self.maximumAge)
        let allowsNone = arguments.contains(Self.notRequired)
        if allowsNone, let option = Self.options.dropLast().first(where: { arguments.contains($0) }) {
            throw arguments.usageError("--allow-no-key-binding and \(option.spelling) can't be combined")
        }
        switch (nonce, audience, allowsNone) {
        case (_, _, true): rule = .notRequired
        case (let nonce?, let audience?, false):
            rule = .required(nonce: nonce, audience: audience, maximumAge: maximumAge?.duration ?? .seconds(300))
        case (_?, nil, false):
            throw arguments.usageError("--nonce needs --kb-aud TEXT, the audience of the key binding")
        case (nil, _?, false): throw arguments.usageError("--kb-aud needs --nonce TEXT, which you sent to the holder")
        case (nil, nil, false):
            throw arguments.usageError(
                """
                missing rule for key bindings; pass --nonce TEXT and --kb-aud TEXT, or --allow-no-key-binding if anyone \
                who has a copy may present the SD-JWT
                """
            )
        }
    }
}
