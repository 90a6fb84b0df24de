import TokenGeneration

struct SDIssueCommand {
    private static let defaultType = "sd-jwt"

    private static let disclosable = Option<ClaimPathArgument>("disclosable", short: "d", isRepeatable: true)
    private static let decoys = Option<DecoyCount>("decoys", value: "NUMBER|MIN-MAX")
    private static let hash = Option<NamedHash>(
        "hash",
        choices: ["sha-256": .sha256, "sha-384": .sha384, "sha-512": .sha512]
    )
    private static let holderKey = Option<InputFile>("holder-key")

    static let definition = CommandDefinition(
        name: "issue",
        summary: "Issue an SD-JWT, some of whose claims the holder can hide",
        discussion: [
            """
            Prints only the SD-JWT with all its disclosures, which is for the holder. Claims come from a file, from \
            options, or both, as for jwt sign. Claims without --disclosable are visible to every verifier. If a claim \
            and a claim inside it are disclosable, the holder can show the outer one alone.
            """,
            """
            The claims iss, exp, nbf, cnf, status and vct, and aud as a whole, can't be hidden, because they control \
            the validity. Without --holder-key, anyone who has a copy can present the token.
            """,
        ],
        options: [
            KeySource.signingOptions.without(KeySource.secret),
            OptionDefinition.table([
                holderKey: """
                The holder's public key: PEM, DER, JWK or certificate; verifiers can then require a key binding, a proof that \
                the presenter has the private key
                """
            ]).section(KeySource.section),
            OptionDefinition.table([
                disclosable: """
                A claim that the holder can hide: name, address.locality, nationalities[0], nationalities[*] for every element, \
                or a JSON array such as '["a.b",0,null]' for names with periods or brackets
                """,
                decoys: """
                The number of digests without a claim, in each object and array with claims that can be hidden, so that \
                verifiers don't learn how many claims are hidden (default: 0)
                """,
                hash: "The hash algorithm of the digests (default: sha-256)",
            ]).section("Disclosures"), headerOptions,
            ClaimOptions.optionsForOneToken,
            SDForm.options,
        ],
        examples: [
            "Issue a token for a holder's key, whose name and nationalities can be hidden": """
            jwt sd issue -k issuer.pem --holder-key holder.pub --claims claims.json -d name -d 'nationalities[*]'
            """,
            "Issue a token from options":
                "jwt sd issue -k issuer.pem --iss https://id.example -c name=Alice -d name --expires-in 52w > sd-jwt",
            "Pipe in claims, and hide how many of them are hidden":
                "jq .claims user.json | jwt sd issue -k issuer.pem --claims - -d address.locality --decoys 2-5",
        ],
        exitCodes: [
            0: "The SD-JWT was printed",
            2: "A key or the claims are unusable, or standard output is closed",
        ],
        action: { try SDIssueCommand($0).run(on: $1) }
    )

    private static let headerOptions = HeaderOptions.options.describing([
        "typ": "The type: \(defaultType) (default), or one that ends with +sd-jwt, such as dc+sd-jwt"
    ])

    private let arguments: ParsedArguments
    private let source: KeySource
    private let header: HeaderOptions
    private let type: String
    private let claims: ClaimOptions

    private var algorithm: JWSAlgorithm? { arguments.value(of: KeySource.algorithm) }
    private var holder: InputFile? { arguments.value(of: Self.holderKey) }
    private var paths: [ClaimPath] { arguments.values(of: Self.disclosable).map(\.path) }
    private var decoyCount: DecoyCount? { arguments.value(of: Self.decoys) }
    private var claimsFile: InputFile? { arguments.value(of: ClaimOptions.claims) }

    private init(_ arguments: ParsedArguments) throws(UsageError) {
        self.arguments = arguments
        source = try KeySource.required(arguments)
        header = try HeaderOptions(arguments, payloadAdvice: "the payload of an SD-JWT is always encoded")
        type = try Self.type(in: header.parameters, arguments)
        claims = try ClaimOptions(arguments)
        if let algorithm, algorithm.isSymmetric {
            throw arguments.usageError(
                "--alg \(algorithm) needs a shared secret, with which every verifier could issue SD-JWTs"
            )
        }
        if decoyCount != nil, paths.isEmpty {
            throw arguments.usageError("--decoys needs --disclosable; decoys are added next to disclosable claims")
        }
        try arguments.checkStandardInput(
            [source.takesStandardInput, holder?.isStandardInput, claimsFile?.isStandardInput],
            "only one of the keys and the claims can come from standard input"
        )
    }

    private static func type(in parameters: JSONObject, _ arguments: ParsedArguments) throws(UsageError) -> String {
        guard let value = parameters["typ"] else { return defaultType }
        guard let type = value.string, TypeRule.isSDJWT(type) else {
            throw arguments.usageError("--typ must be \(defaultType), or end with +sd-jwt, such as dc+sd-jwt")
        }
        return type
    }

    private func run(on console: Console) throws {
        if claimsFile == nil, !source.takesStandardInput, holder?.isStandardInput != true {
            try claims.checkStandardInput(arguments)
        }
        let file = try source.read(warningOn: console)
        try file.checkIsKeyPair(for: "the issuer's key")
        let (key, keyID) = try file.signingKey(for: algorithm)
        file.warn(on: console)
        let holderFile = try holder.map { file throws(CommandFailure) in try KeyFile(file.name, file.read()) }
        let holderKey = try holderFile?.holderKey()
        holderFile?.warn(on: console)
        let token: SDJWT
        do {
            let service = key.identified(by: header.keyID(of: key, own: keyID))
            var issuer = try SDJWTIssuer(type: type, signingService: service)
            issuer.hashAlgorithm = arguments.value(of: Self.hash) ?? .sha256
            if let decoyCount { issuer.decoys = decoyCount.range }
            token = try issuer.issue(
                claims.claims(adding: claimsFile, arguments),
                disclosable: paths,
                holderKey: holderKey,
                header: header.parameters
            )
        } catch let error as TokenError {
            throw failure(error)
        }
        if paths.isEmpty {
            console.warn("the holder can't hide any claim; choose claims with --disclosable PATH")
        }
        try SDForm.form(arguments).print(token, on: console)
    }

    private func failure(_ error: TokenError) -> any Error {
        let message = error.code == .missingClaim ? "--disclosable: \(error.message)" : error.message
        switch error.code {
        case .missingClaim, .prohibitedClaim, .malformedClaim:
            guard let claimsFile else { return arguments.usageError(message) }
            let place = error.code == .malformedClaim ? "\(claimsFile.name): " : ""
            return CommandFailure(.failed, place + message, cause: error)
        default: return CommandFailure(.failed, error)
        }
    }
}
