import TokenGeneration

/// The options for a signer's keys, in commands whose `--key` is the user's own key.
enum SignerKeys {
    private static let key = Option<InputFile>(
        "verify-key",
        "The key of the signer: PEM, DER, JWK, certificate or JWK Set"
    )
    private static let algorithm = Option<JWSAlgorithm>(
        "verify-alg",
        "The signature algorithm, for keys that don't state it"
    )

    static let options: [OptionDefinition] = [key.definition, algorithm.definition] + KeySetSource.options

    /// Returns the keys that the command line specifies.
    ///
    /// - Throws: ``UsageError`` with the advice about options unless there is exactly one source.
    static func keys(_ arguments: ParsedArguments, advice: String) throws(UsageError) -> VerificationKeys {
        let file = try arguments.value(of: key)
        return try VerificationKeys(
            arguments,
            key: file.map { file throws(UsageError) in
                try KeySource(arguments, file: file, algorithmOption: algorithm.definition.spelling)
            },
            named: key.definition.spelling,
            algorithm: arguments.value(of: algorithm),
            advice: advice
        )
    }
}
