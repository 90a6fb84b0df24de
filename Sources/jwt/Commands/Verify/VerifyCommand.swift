import Foundation
import TokenGeneration

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
        try BatchRun(input: .standardInput, failureMembers: ["valid": false]).run(on: console) { line in
            do {
                let token = try BatchRun.token(in: line)
                if let error = refusal(token) { throw error }
                return .object(result(try verifier.verify(token)))
            } catch let error as TokenError {
                throw options.explained(error)
            }
        }
    }

    private static func refusal(_ token: String) -> TokenError? {
        EncryptedInput.refusal(token) ?? SDInput.refusal(token, SDInput.verificationAdvice)
    }

    static func result(_ token: VerifiedToken) -> JSONObject {
        ["valid": true, "header": .object(token.header), "claims": .object(token.claims)]
    }
}

struct PolicyOptions {
    private static let issuer = Option<String>("iss", aliases: ["issuer"])
    private static let audience = Option<String>("aud", aliases: ["audience"], isRepeatable: true)
    private static let anyAudience = Flag("any-aud")
    private static let subject = Option<String>("sub", aliases: ["subject"])
    private static let type = Option<String>("typ", value: "TYPE")
    private static let claim = Option<Assignment>("claim", short: "c", isRepeatable: true)
    private static let required = Option<String>("require", value: "NAME", isRepeatable: true)
    private static let prohibited = Option<String>("prohibit", value: "NAME", isRepeatable: true)
    private static let maximumAge = Option<TimeSpan>("max-age")
    private static let maximumLifetime = Option<TimeSpan>("max-lifetime")
    static let leeway = Option<TimeSpan>("leeway", "The tolerance for clock differences (default: 60s)")
    static let time = Option<Timestamp>("at", "Check as of this time: 2026-01-31T12:00:00Z, or seconds since 1970")
    private static let allowNoExpiration = Flag("allow-no-exp")

    static let options = OptionDefinition.table([
        issuer: "The required issuer",
        audience: "The required audience, one of several if repeated; without it, tokens with an audience are rejected",
        anyAudience: "Accept tokens with any audience",
        subject: "The required subject",
        type: "The required type in the header, such as at+jwt",
        claim: "A claim with a required value, which is JSON if it parses as JSON",
        required: "A claim that must be present",
        prohibited: "A claim that must not be present",
        maximumAge: "The maximum time since the token was issued; requires the claim iat",
        maximumLifetime: "The maximum time from iat to exp",
        leeway: nil,
        time: nil,
        allowNoExpiration: "Accept tokens without expiration",
    ]).section("Checks")

    let policy: ValidationPolicy

    init(_ arguments: ParsedArguments, keyIssuer: String?) throws(UsageError) {
        // Also accept the tokens that `jwt sign` creates from large claims files.
        var policy = ValidationPolicy(maximumTokenSize: TokenInput.sizeLimit)
        if let issuer = arguments.value(of: Self.issuer) {
            if let keyIssuer, Array(keyIssuer.utf8) != Array(issuer.utf8) {
                throw arguments.usageError("--iss and --discover name different issuers")
            }
            policy.issuer = .exactly(issuer)
        } else {
            policy.issuer = keyIssuer.map { .exactly($0) } ?? .skipIssuerCheck
        }
        policy.audience = try Self.audience(arguments)
        policy.subject = arguments.value(of: Self.subject).map { .exactly($0) } ?? .any
        if let type = arguments.value(of: Self.type) { policy.type = .exactly(type) }
        policy.expiration = arguments.contains(Self.allowNoExpiration) ? .optional : .required
        policy.requiredClaims = arguments.values(of: Self.required)
        policy.prohibitedClaims = arguments.values(of: Self.prohibited)
        policy.maximumAge = arguments.value(of: Self.maximumAge).map { $0.duration }
        policy.maximumLifetime = arguments.value(of: Self.maximumLifetime).map { $0.duration }
        if let leeway = arguments.value(of: Self.leeway) { policy.leeway = leeway.duration }
        if let date = arguments.value(of: Self.time)?.date { policy.currentDate = { date } }
        policy.checks = arguments.values(of: Self.claim).map { expected in
            ClaimsCheck("--claim \(expected.name)") { subject in
                guard subject.claims[expected.name] != expected.value else { return true }
                let isMissing = subject.claims[expected.name] == nil
                let fault = isMissing ? "is missing, but --claim requires it" : "doesn't have the value of --claim"
                throw TokenError(.checkFailed, "the claim “\(VisibleText.line(expected.name))” \(fault)")
            }
        }
        self.policy = policy
    }

    private static func audience(_ arguments: ParsedArguments) throws(UsageError) -> AudienceRule {
        let audiences = arguments.values(of: audience)
        let acceptsAny = arguments.contains(anyAudience)
        if !audiences.isEmpty {
            guard !acceptsAny else { throw arguments.usageError("--aud and --any-aud can't be combined") }
            return .containsAny(of: audiences)
        }
        if acceptsAny { return .skipAudienceCheck }
        // Without either option, the verifier would reject every token with the claim.
        let names = arguments.values(of: required) + arguments.values(of: claim).map(\.name)
        guard !names.contains("aud") else {
            throw arguments.usageError("a token with the claim aud needs --aud TEXT, or --any-aud for every audience")
        }
        return .absent
    }

    func explained(_ error: TokenError) -> TokenError {
        if error.message.contains("`assumedAlgorithms`") {
            let reason = error.message.prefix { $0 != ";" }
            return TokenError(error.code, "\(reason); name the algorithm of such a key with --alg", cause: error)
        }
        guard error.code == .audienceMismatch, policy.audience == .absent else { return error }
        return TokenError(
            error.code,
            "the token has an audience (“aud”): pass yours with --aud TEXT, or accept any audience with --any-aud",
            cause: error
        )
    }

    func rejection(_ error: TokenError, of token: String) -> CommandFailure {
        let claims = try? UnverifiedToken(token, maximumSize: TokenInput.sizeLimit).unverifiedClaims
        return CommandFailure(.rejected, explained(error).message + Self.advice(for: error, in: claims), cause: error)
    }

    static func advice(for error: TokenError, in claims: JSONObject?) -> String {
        switch error.code {
        case .missingClaim where claims?["exp"] == nil && error.message.contains("“exp”"):
            return "; \(allowNoExpiration.spelling) accepts such a token"
        case .expired: return Timestamp.note("exp", claims?["exp"]?.number?.double)
        case .notYetValid: return Timestamp.note("nbf", claims?["nbf"]?.number?.double)
        case .issuedInFuture: return Timestamp.note("iat", claims?["iat"]?.number?.double)
        default: return ""
        }
    }
}
