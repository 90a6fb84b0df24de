import Foundation
import TokenGeneration

/// `jwt verify`: checks a token and prints its claims.
struct VerifyCommand {
    private static let checkSection = "Checks"

    private static let key = Option<InputFile>(
        "key",
        short: "k",
        value: "FILE",
        isRequired: true,
        section: "Key",
        "The key: PEM, DER or JWK, a certificate, or a JWK Set; of a private key the public half is used"
    )
    private static let algorithm = Option<KeyAlgorithm>(
        "alg",
        value: "ALG",
        section: "Key",
        "The algorithm, for keys that do not state it, such as an RSA key in PEM"
    )
    private static let issuer = Option<NonEmptyText>(
        "iss",
        value: "TEXT",
        section: checkSection,
        "The issuer it must have"
    )
    private static let audience = Option<NonEmptyText>(
        "aud",
        value: "TEXT",
        section: checkSection,
        "The audience it must be meant for"
    )
    private static let subject = Option<NonEmptyText>(
        "sub",
        value: "TEXT",
        section: checkSection,
        "The subject it must have"
    )
    private static let type = Option<NonEmptyText>(
        "typ",
        value: "TYPE",
        section: checkSection,
        "The type its header must state, such as at+jwt"
    )
    private static let leeway = Option<TimeSpan>(
        "leeway",
        value: "DURATION",
        section: checkSection,
        "How far the issuer's clock and this one may differ (default: 60s)"
    )
    private static let time = Option<Timestamp>(
        "at",
        value: "TIME",
        section: checkSection,
        "Check as if it were this time: 2026-01-31T12:00:00Z, or seconds since 1970"
    )
    private static let allowNoExpiration = Flag(
        "allow-no-exp",
        section: checkSection,
        "Accept a token that never expires"
    )

    static let definition = CommandDefinition(
        name: "verify",
        summary: "Check a token and print its claims",
        discussion: [
            """
            Checks the signature and the claims exp, nbf and iat, and what the options ask for. Prints the claims as \
            JSON if the token passes, and otherwise one line on standard error. The key decides the algorithm, never \
            the token.
            """
        ],
        options: [
            key.definition, algorithm.definition, issuer.definition, audience.definition, subject.definition,
            type.definition,
            leeway.definition, time.definition, allowNoExpiration.definition,
        ],
        operands: [TokenInput.operand],
        examples: [
            .init(
                purpose: "Check a token, then use a claim",
                line: "jwt verify --key public.pem --aud api < token | jq -r .sub"
            ),
            .init(
                purpose: "Was it good at that time?",
                line: "jwt verify --key public.pem --at 2026-01-31T12:00:00Z < token"
            ),
        ],
        exitStatuses: [
            .init(code: 0, meaning: "The token is good"),
            .init(code: 1, meaning: "The token was rejected"),
            .init(code: 2, meaning: "The key cannot be used, or a file or pipe failed"),
            .init(code: 64, meaning: "The command line is wrong"),
        ],
        action: { try VerifyCommand($0).run(on: $1) }
    )

    /// What was made by `jwt sign` of a large claims file shall pass, too.
    private static let maximumTokenSize = TokenInput.sizeLimit

    private let key: InputFile
    private let algorithm: JWSAlgorithm?
    private let token: TokenInput
    private let policy: ValidationPolicy

    private init(_ arguments: ParsedArguments) throws(UsageError) {
        key = try arguments.requiredValue(of: Self.key)
        algorithm = try arguments.value(of: Self.algorithm)?.algorithm
        token = try TokenInput(arguments)
        policy = try Self.policy(arguments)
        if key.isStandardInput, token.isStandardInput {
            throw arguments.usageError("the key and the token cannot both come from standard input")
        }
    }

    private func run(on console: Console) throws {
        let verifier = try KeyFile(key).verifier(for: algorithm, policy: policy)
        let token = try token.read()
        let verified: VerifiedToken
        do throws(TokenError) {
            verified = try verifier.verify(token)
        } catch {
            throw CommandFailure(.rejected, error.message + Self.advice(for: error, on: token), cause: error)
        }
        try console.print(VisibleText.json(verified.claims.prettyPrinted()))
    }

    private static func policy(_ arguments: ParsedArguments) throws(UsageError) -> ValidationPolicy {
        var policy = ValidationPolicy(maximumTokenSize: maximumTokenSize)
        if let issuer = try arguments.value(of: issuer) { policy.issuers = [issuer.text] }
        // What is not stated on the command line is not checked, and the help says so.
        policy.audience = try arguments.value(of: audience).map { .contains($0.text) } ?? .skipAudienceCheck
        policy.subject = try arguments.value(of: subject)?.text
        if let type = try arguments.value(of: type) { policy.type = .exactly(type.text) }
        policy.expiration = arguments.contains(allowNoExpiration) ? .optional : .required
        if let leeway = try arguments.value(of: leeway) { policy.leeway = .seconds(leeway.seconds) }
        if let date = try arguments.value(of: time)?.date { policy.currentDate = { date } }
        return policy
    }

    /// What helps the user to see why the token was rejected, where the reason alone does not.
    private static func advice(for error: TokenError, on token: String) -> String {
        let claims = (try? UnverifiedToken(token, maximumSize: maximumTokenSize))?.unverifiedClaims
        switch error.code {
        case .missingClaim where claims?["exp"] == nil:
            return "; \(allowNoExpiration.definition.spelling) accepts such a token"
        case .expired:
            return time("exp", in: claims)
        case .notYetValid:
            return time("nbf", in: claims)
        case .issuedInFuture:
            return time("iat", in: claims)
        default:
            return ""
        }
    }

    private static func time(_ name: String, in claims: JSONObject?) -> String {
        let time = claims?[name]?.number?.double.flatMap { Timestamp(secondsSince1970: $0) }
        return time.map { " (\(name) is \($0.text))" } ?? ""
    }
}
