import Foundation
import TokenGeneration

/// The verification of the signed token inside an encrypted one.
struct NestedVerification {
    private static let nested = Flag(
        "nested",
        "Require a signed token inside (a nested JWT), verify it, and print its claims"
    )
    static let options = OptionDefinition.section("Nested token", [nested, SignerKeys.options]) + PolicyOptions.options

    private let keys: VerificationKeys
    private let policy: PolicyOptions

    /// Creates the verification, or returns `nil` without `--nested`.
    init?(_ arguments: ParsedArguments) throws(UsageError) {
        guard arguments.contains(Self.nested) else {
            for option in Self.options where arguments.contains(option) {
                throw arguments.usageError("\(option.spelling) requires --nested")
            }
            return nil
        }
        keys = try SignerKeys.keys(
            arguments,
            advice: "--nested needs --verify-key FILE, --jwks FILE|URL or --discover ISSUER"
        )
        policy = try PolicyOptions(arguments, keyIssuer: keys.issuer)
    }

    /// A Boolean value that indicates whether the key is read from standard input.
    var takesStandardInput: Bool { keys.takesStandardInput }

    /// Reads or fetches the keys.
    func verifier(_ console: Console) throws(CommandFailure) -> JWTVerifier {
        try keys.verifier(policy.policy, console)
    }

    /// Verifies the content of a decrypted token.
    func verified(_ jwe: DecryptedJWE, _ verifier: JWTVerifier) throws(CommandFailure) -> VerifiedToken {
        do throws(TokenError) {
            return try verifier.verify(contentOf: jwe)
        } catch {
            throw policy.rejection(error, of: String(decoding: jwe.plaintext, as: UTF8.self))
        }
    }
}
