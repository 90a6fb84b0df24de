import TokenGeneration

/// The options for signing a presentation with the holder's key.
struct HolderBinding {
    private static let key = KeySource.key("The holder's private key: PEM, DER or JWK; requires --nonce and --kb-aud")
    static let nonce = Option<NonEmptyText>("nonce", "The nonce that the verifier sent for this transaction")
    static let audience = Option<NonEmptyText>("kb-aud", "The verifier's name, the audience of the key binding")

    static let options = OptionDefinition.section(
        "Key binding",
        [key, KeySource.options.without(KeySource.secret), KeySource.algorithm, nonce, audience]
    )

    let nonce: String
    let audience: String
    private let source: KeySource
    private let algorithm: JWSAlgorithm?

    /// Creates the options, or returns `nil` for a presentation without a key binding.
    init?(_ arguments: ParsedArguments) throws(UsageError) {
        let source = try KeySource(arguments, key: Self.key)
        let nonce = try arguments.value(of: Self.nonce)?.text
        let audience = try arguments.value(of: Self.audience)?.text
        algorithm = try arguments.value(of: KeySource.algorithm)
        guard source != nil || nonce != nil || audience != nil else {
            if algorithm != nil { throw arguments.usageError("--alg requires a key") }
            return nil
        }
        guard let source, let nonce, let audience else {
            let missing = [source == nil ? "--key FILE" : nil, nonce == nil ? "--nonce TEXT" : nil]
            let names = (missing + [audience == nil ? "--kb-aud TEXT" : nil]).compactMap(\.self)
            throw arguments.usageError("a key binding also needs \(names.joined(separator: " and "))")
        }
        self.source = source
        self.nonce = nonce
        self.audience = audience
    }

    /// A Boolean value that indicates whether the key or its password is read from standard input.
    var takesStandardInput: Bool { source.takesStandardInput }

    /// Reads the holder's key.
    func key(_ console: Console) throws(CommandFailure) -> SigningKey {
        try source.signingKey(for: algorithm, console).key
    }
}
