import OAuth2
import TokenGeneration

/// The options that bind tokens to a key (DPoP, RFC 9449).
struct BindingOptions: Sendable {
    private static let isBound = Flag(
        "dpop",
        section: GrantOptions.section,
        "Have the token bound to a key that is made for it and kept with it; jwt request proves it"
    )
    private static let key = Option<InputFile>(
        "dpop-key",
        value: "FILE",
        section: GrantOptions.section,
        "Have the token bound to this private key, with which jwt dpop proves it elsewhere"
    )

    static let members = [ProfileMember(isBound), ProfileMember(key)]

    /// Options of which one stands for the other.
    static let alternatives = [[isBound.definition.longName, key.definition.longName]]

    private let isBound: Bool
    private let key: InputFile?

    init(_ arguments: ParsedArguments) throws(UsageError) {
        isBound = arguments.contains(Self.isBound)
        key = try arguments.value(of: Self.key)
    }

    /// Whether nobody but this command has the key.
    var isKeyKept: Bool { isBound && key == nil }

    var standardInputReaders: Int { key?.isStandardInput ?? false ? 1 : 0 }

    /// The key that tokens are to be bound to; `nil` for bearer tokens.
    ///
    /// - Parameter console: Where a warning goes.
    /// - Returns: The key.
    /// - Throws: ``CommandFailure`` if it can't be used.
    func key(_ console: Console) throws(CommandFailure) -> DPoPKey? {
        guard let key else { return isBound ? .generated() : nil }
        let file = try KeyFile(key.name, key.read())
        file.warn(on: console)
        let signingKey = try file.signingKey(for: nil).key
        return try KeyFile.describing(key.name) { try .key(signingKey) }
    }
}
