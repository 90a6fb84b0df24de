import TokenGeneration

/// The `jwt key jwks add` command: adds a key to a JWK Set.
struct KeySetAddCommand {
    private static let keyID = Option<NonEmptyText>(
        "kid",
        value: "ID",
        "The kid in the set (default: the key's kid, or its RFC 7638 thumbprint)"
    )
    private static let isPrivate = Flag("private", "Include the private key; the file becomes readable only by you")
    private static let force = Flag("force", short: "f", "Replace a key with the same kid")

    static let definition = CommandDefinition(
        name: "add",
        summary: "Add the public part of a key to a JWK Set",
        discussion: [
            """
            Creates the file if it doesn't exist. The entry states use: sig and the algorithm, so that verifiers \
            don't have to guess. Prints the kid.
            """
        ],
        options: [keyID, KeySource.algorithm, isPrivate, force, KeySource.options],
        operands: [KeySetGroup.set, KeyGroup.operand],
        examples: [
            "Add a public key to a JWK Set": "jwt key jwks add keys.jwks key.pem",
            "Choose the kid": "jwt key jwks add keys.jwks rsa.pem --alg RS256 --kid 2026-11",
        ],
        exitCodes: KeySetGroup.exitCodes,
        action: { try KeySetAddCommand($0).run(on: $1) }
    )

    private let file: InputFile
    private let source: KeySource
    private let keyID: String?
    private let algorithm: JWSAlgorithm?
    private let isPrivate: Bool
    private let force: Bool

    private init(_ arguments: ParsedArguments) throws(UsageError) {
        file = try KeySetGroup.file(arguments)
        if file.isStandardInput { throw arguments.usageError("SET must be a file, not standard input") }
        source = try KeyGroup.source(arguments, operand: 1)
        keyID = try arguments.value(of: Self.keyID)?.text
        algorithm = try arguments.value(of: KeySource.algorithm)
        isPrivate = arguments.contains(Self.isPrivate)
        force = arguments.contains(Self.force)
    }

    private func run(on console: Console) throws {
        let keyFile = try source.read(warningOn: console)
        keyFile.warn(on: console)
        let jwk = try entry(keyFile)
        let name = jwk.keyID ?? ""
        try KeySetFile.change(file, mayBeMissing: true, isSecret: isPrivate) { set in
            if set.contains(name) {
                guard force else {
                    throw CommandFailure(
                        .rejected,
                        "\(file.name): already has a key with this kid; use --force to replace it, or --kid to choose another",
                        cause: TokenError(.ambiguousKey, "")
                    )
                }
                set.remove(name)
            }
            set.entries.append(.object(jwk.members))
        }
        try console.writesJSON ? console.print(["kid": .string(name)]) : console.print(VisibleText.line(name))
    }

    private func entry(_ file: KeyFile) throws(CommandFailure) -> JWK {
        try CommandFailure.reporting(at: file.name) {
            let key = try AnyKey(file, algorithm: algorithm)
            guard isPrivate || !key.isSymmetric else {
                throw TokenError(
                    .unsupportedKey,
                    "a secret has no public part to publish; use --private to add the secret itself"
                )
            }
            guard key.statesAlgorithm || key.isForEncryption else {
                throw TokenError(
                    .algorithmRequired,
                    "the key doesn't state its algorithm; pass it with --alg"
                )
            }
            let part = isPrivate ? key : try key.publicPart()
            var jwk = try part.jwk(keyID: keyID)
            if jwk.keyID == nil { jwk.keyID = try key.thumbprint }
            if jwk.use == nil { jwk.use = "sig" }
            return jwk
        }
    }
}
