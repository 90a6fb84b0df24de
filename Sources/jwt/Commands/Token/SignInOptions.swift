/// The options for signing in.
struct SignInOptions: Sendable {
    static let section = "Sign-in"

    private static let redirectPath = Option<NonEmptyText>(
        "redirect-path",
        value: "PATH",
        "With authorization_code: the registered path of the redirect URI on this machine (default: /callback)"
    )
    private static let redirectPort = Option<PortNumber>(
        "redirect-port",
        "With authorization_code: the port of the redirect URI, if the server requires a fixed one (default: a free port)"
    )
    private static let isBrowserless = Flag(
        "no-browser",
        "With authorization_code: don't open a browser; the address is always printed on standard error"
    )
    private static let timeout = Option<TimeSpan>(
        "sign-in-timeout",
        "The time limit for signing in (default: 5m; with device_code, the server's limit)"
    )

    static let members = OptionDefinition.section(section, [redirectPath, redirectPort, isBrowserless, timeout])

    let redirectPath: String
    let redirectPort: UInt16
    let opensBrowser: Bool
    /// The time limit, or `nil` if the user sets none.
    let timeout: Duration?

    /// - Throws: ``UsageError`` if an option doesn't apply to the grant.
    init(_ arguments: ParsedArguments, for kind: GrantOptions.Kind) throws(UsageError) {
        redirectPath = try arguments.value(of: Self.redirectPath)?.text ?? "/callback"
        redirectPort = try arguments.value(of: Self.redirectPort).map { UInt16($0.number) } ?? 0
        opensBrowser = !arguments.contains(Self.isBrowserless)
        timeout = try arguments.value(of: Self.timeout).map { $0.duration }
        let browserOptions = [
            Self.redirectPath.definition, Self.redirectPort.definition, Self.isBrowserless.definition,
        ]
        if kind != .authorizationCode, let option = browserOptions.first(where: arguments.contains) {
            throw arguments.usageError("\(option.spelling) requires --grant authorization_code")
        }
        if !kind.isInteractive, timeout != nil {
            throw arguments.usageError("--sign-in-timeout requires --grant device_code or authorization_code")
        }
    }
}
