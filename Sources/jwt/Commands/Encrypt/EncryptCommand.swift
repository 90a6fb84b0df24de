import Foundation
import TokenGeneration

struct EncryptCommand {
    static let contentLimit = BodySource.sizeLimit

    static let definition = CommandDefinition(
        name: "encrypt",
        summary: "Encrypt claims, a signed token or any content",
        discussion: [
            """
            Prints only the encrypted token, a JWE (RFC 7516). The content is a file or standard input, byte for byte, \
            or the claims from options, as for jwt sign. The recipient's key determines the algorithm, so most keys \
            need no options.
            """,
            """
            Encryption hides the content, but doesn't prove who wrote it: everyone can encrypt with a public key. Use \
            --nested to sign first. Several keys make a token for several recipients, each of whom can decrypt it.
            """,
        ],
        options: [
            RecipientOptions.options, HeaderOptions.options, ClaimOptions.optionsForOneToken, NestedSignature.options,
            EncryptionForm.options,
        ],
        operands: [
            OperandDefinition(
                name: "CONTENT",
                kind: .file,
                summary: "The file to encrypt; without claims, reads standard input if it is - or omitted"
            )
        ],
        examples: [
            "Encrypt a file": "jwt encrypt --key public.jwk file > file.jwe",
            "Sign claims and encrypt them for the key that a server publishes":
                "jwt encrypt --jwks https://id.example.org/jwks --nested --sign-key key.pem --sub alice --expires-in 5m",
            "Encrypt with a password": "jwt encrypt --password file > file.jwe",
            "Encrypt for two recipients": "jwt encrypt --key alice.jwk --key bob.pem --format general file",
        ],
        exitCodes: [
            0: "The token was printed",
            2: "A key or the content is unusable, or a file, a pipe or the network failed",
        ],
        action: { try EncryptCommand($0).run(on: $1) }
    )

    private enum Content {
        case claims
        case octets
        case signedToken
    }

    private let arguments: ParsedArguments
    private let recipients: RecipientOptions
    private let header: HeaderOptions
    private let claims: ClaimOptions
    private let claimsFile: InputFile?
    private let signature: NestedSignature?
    private let form: EncryptionForm
    private let content: Content
    private let file: InputFile
    private let readsInput: Bool

    private init(_ arguments: ParsedArguments) throws(UsageError) {
        self.arguments = arguments
        header = try HeaderOptions(arguments)
        recipients = try RecipientOptions(arguments, keyID: header.statedKeyID)
        claims = try ClaimOptions(arguments)
        signature = try NestedSignature(arguments)
        form = try EncryptionForm(arguments, recipientCount: recipients.count)
        let claimsFile = arguments.value(of: ClaimOptions.claims)
        let hasClaims = claimsFile != nil || !claims.isEmpty
        if arguments.contains(NestedSignature.nested) {
            content = signature == nil ? .signedToken : .claims
            try arguments.reject([
                "--nested makes a JWT, which is always compact and for one recipient": form.serialization != .compact,
                "--nested sets cty; remove --header cty": header.parameters["cty"] != nil,
                "claims need --sign-key; without it, --nested encrypts a signed token": signature == nil && hasClaims,
            ])
        } else {
            content = hasClaims ? .claims : .octets
        }
        for name in ["enc", "epk", "iv", "tag", "p2s", "p2c", "zip"] where header.parameters[name] != nil {
            let advice =
                switch name {
                case "enc": "use --enc"
                case "zip": "compressed content isn't supported"
                default: "the encryption sets it"
                }
            throw arguments.usageError("--header can't set \(name); \(advice)")
        }
        file = try arguments.operand(named: "CONTENT") ?? .standardInput
        try arguments.reject([
            "the content is either CONTENT or the claims from options": hasClaims && !arguments.operands.isEmpty
        ])
        // Claims to sign can also be the content.
        self.claimsFile = hasClaims ? claimsFile : content == .claims ? file : nil
        let readsContent = hasClaims ? claimsFile?.isStandardInput ?? false : file.isStandardInput
        let readers = [
            recipients.takesStandardInput, signature?.takesStandardInput, form.takesStandardInput, readsContent,
        ]
        readsInput = readers.contains(true)
        try arguments.checkStandardInput(
            readers,
            "only one of the keys, the password and the content can come from standard input"
        )
    }

    private func run(on console: Console) throws {
        var header = header.parameters
        let plaintext: [UInt8]
        switch content {
        case .octets:
            plaintext = try file.read(limit: Self.contentLimit).bytes
        case .claims:
            if !readsInput, self.claimsFile == nil { try self.claims.checkStandardInput(arguments) }
            let claims = try claims.claims(adding: claimsFile, arguments)
            plaintext = try signature.map { Array(try $0.token(claims, console).utf8) } ?? claims.serializedBytes()
            if form.serialization == .compact, header["typ"] == nil { header["typ"] = "JWT" }
        case .signedToken:
            plaintext = try signedToken()
            if header["typ"] == nil { header["typ"] = "JWT" }
        }
        if arguments.contains(NestedSignature.nested) { header["cty"] = "JWT" }
        let token = try form.encrypt(
            Data(plaintext),
            recipients.encryption,
            header: header,
            for: recipients.recipients(console)
        )
        try SignatureForm.print(token, as: "jwe", on: console)
    }

    /// Reads a signed token, which isn't verified.
    private func signedToken() throws(CommandFailure) -> [UInt8] {
        let bytes = TokenInput.trimmed(try file.read().bytes)
        return try KeyFile.describing(file.name) {
            let token = TokenInput.unwrapped(String(decoding: bytes, as: UTF8.self))
            _ = try UnverifiedToken(token, maximumSize: TokenInput.sizeLimit)
            return Array(token.utf8)
        }
    }
}

struct EncryptionForm {
    private static let serialization = Option<SignatureForm.Serialization>("format")
    private static let additionalData = Option<BodySource>("aad")

    static let options = OptionDefinition.table([
        serialization: """
        A single line with five parts (default), or JSON: flattened (default with --aad), or general with a list of \
        recipients (default with several)
        """,
        additionalData: "Data that the token authenticates and carries unencrypted; requires JSON",
    ]).section("Form")

    let serialization: SignatureForm.Serialization
    private let additionalData: BodySource?

    init(_ arguments: ParsedArguments, recipientCount: Int) throws(UsageError) {
        additionalData = arguments.value(of: Self.additionalData)
        let stated = arguments.value(of: Self.serialization)
        let isGeneral = recipientCount > 1
        serialization = stated ?? (isGeneral ? .general : additionalData == nil ? .compact : .json)
        try arguments.reject([
            "several recipients need --format general": serialization != .general && isGeneral,
            "--aad needs --format json or general": serialization == .compact && additionalData != nil,
        ])
    }

    var takesStandardInput: Bool { additionalData?.isStandardInput ?? false }

    func encrypt(
        _ content: Data,
        _ encryption: JWEEncryption?,
        header: JSONObject,
        for recipients: [JWERecipient]
    ) throws -> JSONValue {
        let generator = JWEGenerator(
            plaintext: content,
            encryption: encryption,
            header: header,
            additionalData: try additionalData.map { source throws(CommandFailure) in
                Data(try source.octets(limit: InputFile.sizeLimit))
            },
            recipients: recipients
        )
        return switch serialization {
        case .compact: .string(try generator.compact())
        case .json: .object(try generator.flattenedJSON())
        case .general: .object(try generator.generalJSON())
        }
    }
}

struct NestedSignature {
    static let nested = Flag("nested")
    private static let key = Option<InputFile>("sign-key")
    private static let algorithm = Option<JWSAlgorithm>("sign-alg")
    private static let password = SecretOptions("sign-password", "the password of --sign-key")

    static let options = OptionDefinition.table([
        nested: """
        Create a nested JWT: sign the claims with --sign-key, then encrypt the signed token; without --sign-key, the \
        input is a signed token
        """,
        key: "The private key that signs: PEM, DER or JWK; its kid is that of the JWK",
        algorithm: "The signature algorithm, for a key that doesn't state it",
        password: nil,
    ]).section("Nested token")

    private let source: KeySource
    private let algorithm: JWSAlgorithm?

    init?(_ arguments: ParsedArguments) throws(UsageError) {
        let isNested = arguments.contains(Self.nested)
        for option in Self.options.dropFirst() where !isNested && arguments.contains(option) {
            throw arguments.usageError("\(option.spelling) requires --nested")
        }
        algorithm = arguments.value(of: Self.algorithm)
        let password = try PasswordSource(arguments, Self.password)
        guard let file = arguments.value(of: Self.key) else {
            for option in Self.options.dropFirst(2) where arguments.contains(option) {
                throw arguments.usageError("\(option.spelling) requires --sign-key")
            }
            return nil
        }
        source = try KeySource(
            arguments,
            file: file,
            password: password,
            algorithmOption: Self.algorithm.spelling
        )
    }

    var takesStandardInput: Bool { source.takesStandardInput }

    func token(_ claims: JSONObject, _ console: Console) throws(CommandFailure) -> String {
        let (key, keyID) = try source.signingKey(for: algorithm, console)
        return try CommandFailure.reporting(at: source.name) {
            try JWTGenerator(header: [:], payload: claims, signingService: key.identified(by: keyID)).token()
        }
    }
}
