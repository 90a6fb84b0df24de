import TokenGeneration

/// The options for a verifier's rule about key bindings.
struct KeyBindingOptions {
    private static let nonce = Option<NonEmptyText>(
        "nonce",
        "The nonce that you sent to the holder; requires a key binding"
    )
    private static let audience = Option<NonEmptyText>(
        "kb-aud",
        "The name that the holder knows you by, the required audience of the key binding"
    )
    private static let maximumAge = Option<TimeSpan>(
        "kb-max-age",
        "The maximum time since the holder signed the key binding (default: 5m)"
    )
    private static let notRequired = Flag(
        "allow-no-key-binding",
        """
        Accept presentations with and without a key binding, which is ignored; anyone who has a copy can present the \
        SD-JWT
        """
    )

    static let options = OptionDefinition.section("Key binding", [nonce, audience, maximumAge, notRequired])

    let rule: KeyBindingRule

    /// - Throws: ``UsageError`` unless the command line has a complete rule.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        let nonce = try arguments.value(of: Self.nonce)?.text
        let audience = try arguments.value(of: Self.audience)?.text
        let maximumAge = try arguments.value(of: Self.maximumAge)
        let allowsNone = arguments.contains(Self.notRequired)
        if allowsNone, let option = Self.options.dropLast().first(where: { arguments.contains($0) }) {
            throw arguments.usageError("--allow-no-key-binding and \(option.spelling) can't be combined")
        }
        switch (nonce, audience, allowsNone) {
        case (_, _, true): rule = .notRequired
        case (let nonce?, let audience?, false):
            rule = .required(
                nonce: nonce,
                audience: audience,
                maximumAge: maximumAge?.duration ?? .seconds(300)
            )
        case (_?, nil, false):
            throw arguments.usageError("--nonce needs --kb-aud TEXT, the audience of the key binding")
        case (nil, _?, false): throw arguments.usageError("--kb-aud needs --nonce TEXT, which you sent to the holder")
        case (nil, nil, false):
            throw arguments.usageError(
                """
                missing rule for key bindings; pass --nonce TEXT and --kb-aud TEXT, or --allow-no-key-binding if anyone \
                who has a copy may present the SD-JWT
                """
            )
        }
    }
}
