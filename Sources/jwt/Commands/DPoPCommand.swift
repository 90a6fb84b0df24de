import TokenGeneration

struct DPoPCommand {
    private static let token = SecretOptions(
        "access-token",
        noun: "access token",
        file: "The access token for the request; the proof contains its hash",
        environment: "The environment variable with the access token"
    )
    private static let nonce = Option<String>("nonce", "The nonce from the server's DPoP-Nonce")

    static let definition = CommandDefinition(
        name: "dpop",
        summary: "Create a DPoP proof for one request",
        discussion: [
            """
            Prints a proof (RFC 9449) for the request's DPoP header field. Each request needs a new proof. The proof \
            omits the URL's query and fragment, as the RFC requires.
            """
        ],
        options: [token, nonce, KeySource.signingOptions],
        operands: [
            OperandDefinition(name: "METHOD", isRequired: true, summary: "The request method, such as GET"),
            OperandDefinition(name: "URL", isRequired: true, summary: "The request URL"),
        ],
        examples: [
            "Call an API with a DPoP-bound token": """
            curl -H "Authorization: DPoP $T" -H "DPoP: $(jwt dpop GET "$U" -k key.pem --access-token-env T)" "$U"
            """,
            "Print the thumbprint that servers bind tokens to": "jwt key thumbprint key.pem",
        ],
        exitCodes: [
            0: "The proof is printed",
            2: "The key or the token is unusable, or a file can't be read",
        ],
        action: { try run($0, $1) }
    )

    private static func run(_ arguments: ParsedArguments, _ console: Console) throws {
        let method = arguments.operands.first ?? ""
        let url = arguments.operands.last ?? ""
        let source = try KeySource.required(arguments)
        let algorithm = arguments.value(of: KeySource.algorithm)
        let tokenSource = try PasswordSource(arguments, token)
        let nonce = arguments.value(of: nonce)
        // The method must be a token (RFC 9110). Lowercase text is most likely a missing METHOD.
        guard !method.isEmpty, method.utf8.allSatisfy({ (0x41...0x5A).contains($0) || $0 == UInt8(ascii: "-") }) else {
            throw arguments.usageError("METHOD must be uppercase, such as GET")
        }
        try arguments.checkStandardInput(
            [source.takesStandardInput, tokenSource?.isStandardInput],
            "the key and the access token can't both come from standard input"
        )
        let key = try source.signingKey(for: algorithm, console).key
        let accessToken = try tokenSource?.read(warningOn: console)
        do {
            let generator = try DPoPProofGenerator(key: key)
            let proof = try generator.proof(method: method, url: url, accessToken: accessToken, nonce: nonce)
            guard console.writesJSON else { return try console.print(proof) }
            try console.print(["proof": .string(proof), "thumbprint": .string(generator.thumbprint)])
        } catch let error as TokenError where error.code == .targetMismatch {
            throw arguments.usageError(
                url.contains("://")
                    ? "URL must be an absolute http or https URL" : "URL has no scheme; begin it with https://"
            )
        }
    }
}
