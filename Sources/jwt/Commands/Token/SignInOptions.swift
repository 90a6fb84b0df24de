/// The options that say how users sign in.
struct SignInOptions: Sendable {
    static let section = "Signing in"

    private static let redirectPath = Option<NonEmptyText>(
        "redirect-path",
        value: "PATH",
        section: section,
        "With authorization_code: where the browser comes back to on this machine, as it was registered (default: /callback)"
    )
    private static let redirectPort = Option<PortNumber>(
        "redirect-port",
        value: "PORT",
        section: section,
        "With authorization_code: the port of it, for a server that insists on one (default: one that is free)"
    )
    private static let isBrowserless = Flag(
        "no-browser",
        section: section,
        "With authorization_code: open no browser; the address is on standard error in any case"
    )
    private static let timeout = Option<TimeSpan>(
        "sign-in-timeout",
        value: "DURATION",
        section: section,
        "How long somebody has to sign in (default: 5m; with device_code as long as the server says)"
    )

    static let members = [
        ProfileMember(redirectPath), ProfileMember(redirectPort), ProfileMember(isBrowserless), ProfileMember(timeout),
    ]

    let redirectPath: String
    let redirectPort: UInt16
    let opensBrowser: Bool
    /// `nil` if the user has set no limit.
    let timeout: Duration?

    /// - Parameters:
    ///   - arguments: The command line and the profile.
    ///   - kind: What entitles the client.
    /// - Throws: ``UsageError`` if there is an option that the grant has no use for.
    init(_ arguments: ParsedArguments, for kind: GrantOptions.Kind) throws(UsageError) {
        redirectPath = try arguments.value(of: Self.redirectPath)?.text ?? "/callback"
        redirectPort = try arguments.value(of: Self.redirectPort)?.number ?? 0
        opensBrowser = !arguments.contains(Self.isBrowserless)
        timeout = try arguments.value(of: Self.timeout).map { .seconds($0.seconds) }
        let browserOptions = [
            Self.redirectPath.definition, Self.redirectPort.definition, Self.isBrowserless.definition,
        ]
        if kind != .authorizationCode, let option = browserOptions.first(where: arguments.contains) {
            throw arguments.usageError("\(option.spelling) is for --grant authorization_code")
        }
        if !kind.isInteractive, timeout != nil {
            throw arguments.usageError("--sign-in-timeout is for --grant device_code and authorization_code")
        }
    }
}
