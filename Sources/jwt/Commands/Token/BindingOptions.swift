import OAuth2
import TokenGeneration

/// The options for binding tokens to a key (DPoP, RFC 9449).
struct BindingOptions: Sendable {
    private static let isBound = Flag(
        "dpop",
        "Bind the token to a new key that is cached with it; jwt request creates the proofs"
    )
    private static let key = Option<InputFile>(
        "dpop-key",
        "Bind the token to this private key; jwt dpop can create proofs with it"
    )

    static let members = OptionDefinition.section(GrantOptions.section, [isBound, key])

    /// Groups of mutually exclusive options.
    static let alternatives: [[any CommandOption]] = [[isBound, key]]

    private let isBound: Bool
    private let key: InputFile?

    init(_ arguments: ParsedArguments) throws(UsageError) {
        isBound = arguments.contains(Self.isBound)
        key = try arguments.value(of: Self.key)
    }

    /// A Boolean value that indicates whether the key exists only in the token cache.
    var isKeyKept: Bool { isBound && key == nil }

    var standardInputReaders: Int { key?.isStandardInput ?? false ? 1 : 0 }

    /// Returns the key that tokens are bound to, or `nil` for bearer tokens.
    func key(_ console: Console) throws(CommandFailure) -> DPoPKey? {
        guard let key else { return isBound ? .generated() : nil }
        let file = try KeyFile(key.name, key.read())
        file.warn(on: console)
        let signingKey = try file.signingKey(for: nil).key
        return try KeyFile.describing(key.name) { try .key(signingKey) }
    }
}
