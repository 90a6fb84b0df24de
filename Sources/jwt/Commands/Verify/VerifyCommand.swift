import TokenGeneration

/// The `jwt verify` command: verifies a token and prints its claims.
struct VerifyCommand {
    static let definition = CommandDefinition(
        name: "verify",
        summary: "Verify a token and print its claims",
        discussion: [
            """
            Verifies the signature, and validates the claims exp, nbf, iat and aud and the requirements of the \
            options. A token with an audience is rejected unless --aud names that audience or --any-aud is given. \
            Prints the claims as JSON if the token is valid, and otherwise one line on standard error. The key \
            determines the algorithm, never the token.
            """,
            """
            With --batch, each line of standard input is a token and produces one line of JSON, in the same order: \
            {"valid":true,"header":{…},"claims":{…}}, or {"valid":false,"error":{"code":"…","message":"…"}}.
            """,
        ],
        options: [VerificationKeys.options, PolicyOptions.options, BatchRun.flag],
        operands: [TokenInput.operand],
        examples: [
            "Verify a token and extract a claim": "jwt verify --key public.pem --aud api < token | jq -r .sub",
            "Verify with the keys that an issuer publishes":
                "jwt verify --discover https://id.example.org --aud api < token",
            "Check whether a token was valid at a given time":
                "jwt verify --key public.pem --aud api --at 2026-01-31T12:00:00Z < token",
            "Print the error codes of the invalid tokens":
                "jwt verify --jwks keys.jwks --aud api --batch < tokens | jq -r 'select(.valid | not) | .error.code'",
        ],
        exitCodes: [
            0: "The token is valid",
            1: "The token was rejected; with --batch: at least one was",
            2: VerificationKeys.failure,
        ],
        action: { try run($0, $1) }
    )

    private static func run(_ arguments: ParsedArguments, _ console: Console) throws {
        let keys = try VerificationKeys(arguments)
        let input = try TokenInput(arguments)
        let options = try PolicyOptions(arguments, keyIssuer: keys.issuer)
        if keys.takesStandardInput, input.isStandardInput {
            throw arguments.usageError("the key and the token can't both come from standard input")
        }
        let verifier = try keys.verifier(options.policy, console)
        if arguments.contains(BatchRun.flag) { return try runBatch(verifier, options, console) }
        let token = try input.read()
        if let error = refusal(token) { throw CommandFailure(.rejected, error) }
        let verified: VerifiedToken
        do throws(TokenError) {
            verified = try verifier.verify(token)
        } catch {
            throw options.rejection(error, of: token)
        }
        if console.writesJSON {
            try console.print(result(verified))
        } else {
            try console.show(verified.claims.prettyPrinted())
        }
    }

    private static func runBatch(_ verifier: JWTVerifier, _ options: PolicyOptions, _ console: Console) throws {
        try BatchRun(input: .standardInput).run(on: console) { line in
            do {
                let token = try BatchRun.token(in: line)
                if let error = refusal(token) { throw error }
                return .object(result(try verifier.verify(token)))
            } catch let error as TokenError {
                let failure = CommandFailure(.rejected, options.explained(error))
                return .refused(["valid": false, "error": .object(failure.report)])
            }
        }
    }

    /// Returns the error for a token of another kind.
    private static func refusal(_ token: String) -> TokenError? {
        EncryptedInput.refusal(token) ?? SDInput.refusal(token, SDInput.verificationAdvice)
    }

    static func result(_ token: VerifiedToken) -> JSONObject {
        ["valid": true, "header": .object(token.header), "claims": .object(token.claims)]
    }
}
