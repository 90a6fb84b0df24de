import Foundation
import TokenGeneration

/// The verification of the signed token inside an encrypted one.
struct NestedVerification {
    private static let section = "Nested token"

    private static let nested = Flag(
        "nested",
        section: section,
        "Require a signed token inside (a nested JWT), verify it, and print its claims"
    )
    private static let key = Option<InputFile>(
        "verify-key",
        value: "FILE",
        section: section,
        "The key of the signer: PEM, DER, JWK, certificate or JWK Set"
    )
    private static let algorithm = Option<KeyAlgorithm>(
        "verify-alg",
        value: "ALG",
        section: section,
        "The signature algorithm, for keys that don't state it"
    )

    private static let keyOptions =
        [key.definition, algorithm.definition]
        + KeySetSource.options.map { option in
            var option = option
            option.section = section
            return option
        }

    static let options = [nested.definition] + keyOptions + PolicyOptions.options

    private let keys: VerificationKeys
    private let policy: PolicyOptions

    /// Creates the verification, or returns `nil` without `--nested`.
    ///
    /// - Throws: ``UsageError`` if an option needs `--nested`, or `--nested` needs a key.
    init?(_ arguments: ParsedArguments) throws(UsageError) {
        guard arguments.contains(Self.nested) else {
            for option in Self.options where arguments.contains(option) {
                throw arguments.usageError("\(option.spelling) requires --nested")
            }
            return nil
        }
        let file = try arguments.value(of: Self.key)
        keys = try VerificationKeys(
            arguments,
            key: file.map { file throws(UsageError) in try KeySource(arguments, file: file) },
            algorithm: try arguments.value(of: Self.algorithm)?.algorithm,
            advice: "--nested needs --verify-key FILE, --jwks FILE|URL or --discover ISSUER"
        )
        policy = try PolicyOptions(arguments, keyIssuer: keys.issuer)
    }

    /// A Boolean value that indicates whether the key is read from standard input.
    var takesStandardInput: Bool { keys.takesStandardInput }

    /// Reads or fetches the keys.
    ///
    /// - Throws: ``CommandFailure`` if the keys can't be read or fetched.
    func verifier(_ console: Console) throws(CommandFailure) -> JWTVerifier {
        try keys.verifier(policy.policy, console)
    }

    /// Verifies the content of a decrypted token.
    ///
    /// - Throws: ``CommandFailure`` with the code `rejected`.
    func verified(_ jwe: DecryptedJWE, _ verifier: JWTVerifier) throws(CommandFailure) -> VerifiedToken {
        do throws(TokenError) {
            return try verifier.verify(contentOf: jwe)
        } catch {
            let token = String(decoding: jwe.plaintext, as: UTF8.self)
            let message = policy.explained(error).message
            throw CommandFailure(.rejected, message + PolicyOptions.advice(for: error, on: token), cause: error)
        }
    }
}
