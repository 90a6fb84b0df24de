import Foundation
import Glibc
import Networking
import OAuth2
import TokenGeneration

struct SignIn: Sendable {
    /// The default timeout for a sign-in with a browser.
    private static let patience = Duration.seconds(300)
    /// The maximum time that other processes wait for a sign-in.
    static let queueTimeout = Duration.seconds(1_800)

    let usesBrowser: Bool
    let options: SignInOptions
    let scope: String?
    /// The name of the service for the token, which several servers use instead of resources.
    let audience: String?
    let resources: [String]

    func tokens(
        _ client: OAuth2Client,
        _ network: NetworkClient,
        timeout: Duration,
        _ console: Console
    ) async throws -> IssuedTokens {
        let rule = try await idTokenRule(client, network, timeout)
        return usesBrowser
            ? try await browserTokens(client, rule, console) : try await deviceTokens(client, rule, console)
    }

    /// Returns the rule that verifies the ID token if the scope includes `openid` and the metadata
    /// lists keys and algorithms.
    ///
    /// The command uses only the access token, but an invalid ID token means that the response
    /// can't be trusted.
    private func idTokenRule(
        _ client: OAuth2Client,
        _ network: NetworkClient,
        _ timeout: Duration
    ) async throws -> IDTokenRule {
        let server = try await client.server
        let names = server.values(of: "id_token_signing_alg_values_supported") ?? []
        let algorithms = names.compactMap { JWSAlgorithm(rawValue: $0) }.filter { name in
            JWSAlgorithm.implemented.contains(name) && !name.isSymmetric
        }
        guard (scope ?? "").split(separator: " ").contains("openid"), let url = server.keySetURL,
            !algorithms.isEmpty
        else { return .skipIDTokenCheck }
        var keys = IssuerKeys.url(url, client: network, options: .init(timeout: timeout))
        // The default of a registration, for keys that state no algorithm.
        if algorithms.contains(.rs256) { keys.selection = KeySelection(assumedAlgorithms: [.rs256]) }
        return .verified(
            by: IDTokenVerifier(
                issuer: server.issuer,
                clientID: client.clientAuthentication.clientID,
                keys: keys,
                algorithms: Set(algorithms)
            )
        )
    }

    private var additionalParameters: [String: String] { audience.map { ["audience": $0] } ?? [:] }

    private func deviceTokens(
        _ client: OAuth2Client,
        _ rule: IDTokenRule,
        _ console: Console
    ) async throws -> IssuedTokens {
        let device = try await client.authorizeDevice(
            scope: scope,
            resources: resources,
            additionalParameters: additionalParameters
        )
        let address = device.verificationURI.absoluteString
        let link = device.verificationURIComplete?.absoluteString
        console.tellSignIn(
            "to sign in, open \(address) and enter \(device.userCode)" + (link.map { ", or open \($0)" } ?? ""),
            [
                ("verification_uri", .string(address)), ("user_code", .string(device.userCode)),
                ("verification_uri_complete", link.map(JSONValue.string)),
            ]
        )
        return try await client.tokens(for: device.expiring(within: options.timeout), idToken: rule)
    }

    private func browserTokens(
        _ client: OAuth2Client,
        _ rule: IDTokenRule,
        _ console: Console
    ) async throws -> IssuedTokens {
        let receiver = try LoopbackRedirectReceiver(path: options.redirectPath, port: options.redirectPort)
        defer { receiver.stop() }
        let request = try client.authorizationRequest(
            redirectURI: receiver.redirectURI,
            scope: scope,
            resources: resources,
            additionalParameters: additionalParameters
        )
        let server = try await client.server
        let url =
            server.requiresPushedAuthorizationRequests
            ? try await client.push(request).url(at: server) : try request.url(at: server)
        let address = url.absoluteString
        console.tellSignIn("to sign in, open \(address)", [("authorization_uri", .string(address))])
        if options.opensBrowser { Browser.open(url) }
        let redirect = try await receiver.redirect(for: request, within: options.timeout ?? Self.patience)
        return try await client.tokens(for: request.grant(from: redirect, of: server), idToken: rule)
    }
}

extension DeviceAuthorization {
    fileprivate func expiring(within timeout: Duration?) -> Self {
        guard let timeout else { return self }
        return Self(
            deviceCode: deviceCode,
            userCode: userCode,
            verificationURI: verificationURI,
            verificationURIComplete: verificationURIComplete,
            expiry: min(expiry, .now + timeout),
            interval: interval
        )
    }
}

struct SignInOptions: Sendable {
    private static let redirectPath = Option<String>("redirect-path", value: "PATH")
    private static let redirectPort = Option<Int>("redirect-port", value: "PORT", noun: "port number", in: 1...65_535)
    private static let isBrowserless = Flag("no-browser")
    private static let timeout = Option<TimeSpan>("sign-in-timeout")

    static let members = OptionDefinition.table([
        redirectPath:
            "With authorization_code: the registered path of the redirect URI on this machine (default: /callback)",
        redirectPort:
            "With authorization_code: the port of the redirect URI, if the server requires a fixed one (default: a free port)",
        isBrowserless: "With authorization_code: don't open a browser; the address is always printed on standard error",
        timeout: "The time limit for signing in (default: 5m; with device_code, the server's limit)",
    ])

    let arguments: ParsedArguments

    var redirectPath: String { arguments.value(of: Self.redirectPath) ?? "/callback" }
    var redirectPort: UInt16 { UInt16(arguments.value(of: Self.redirectPort) ?? 0) }  // reason: the option's range fits
    var opensBrowser: Bool { !arguments.contains(Self.isBrowserless) }
    var timeout: Duration? { arguments.value(of: Self.timeout)?.duration }

    static func check(_ arguments: ParsedArguments, for kind: GrantOptions.Kind) throws(UsageError) {
        if kind != .authorizationCode, let option = members.dropLast().first(where: arguments.contains) {
            throw arguments.usageError("\(option.spelling) requires --grant authorization_code")
        }
        if !kind.isInteractive, arguments.contains(timeout) {
            throw arguments.usageError("--sign-in-timeout requires --grant device_code or authorization_code")
        }
    }
}

enum Browser {
    /// Opens a page with `BROWSER`, or `xdg-open` on a desktop, without waiting or checking: the
    /// command always prints the address, too.
    static func open(_ url: URL) {
        guard let command else { return }
        // Pass the address as a shell argument, so that the shell can't interpret it as code.
        spawn("/bin/sh", ["sh", "-c", "\(command) \"$1\"", "sh", url.absoluteString])
    }

    private static var command: String? {
        // Never run a command that isn't valid UTF-8.
        if EnvironmentVariable.isSet("BROWSER") { return try? EnvironmentVariable.text(of: "BROWSER") }
        return ["DISPLAY", "WAYLAND_DISPLAY"].contains(where: EnvironmentVariable.isSet) ? "xdg-open" : nil
    }

    /// Starts a process that outlives this one, even after Control-C, and can't write to standard
    /// output, which is for the token.
    private static func spawn(_ path: String, _ arguments: [String]) {
        var actions = unsafe posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        guard unsafe posix_spawn_file_actions_init(&actions) == 0 else { return }
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        guard unsafe posix_spawnattr_init(&attributes) == 0 else { return }
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        for number in [STDOUT_FILENO, STDERR_FILENO] {
            unsafe posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_WRONLY, 0)
        }
        // Otherwise the child would inherit the ignored and blocked signals.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        for number in [SIGPIPE, SIGXFSZ] { unsafe sigaddset(&signals, number) }
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        let flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP
        unsafe posix_spawnattr_setflags(&attributes, Int16(flags))
        let list = unsafe arguments.map { unsafe strdup($0) } + [nil]
        defer { unsafe list.forEach { unsafe free($0) } }
        var identifier = pid_t()
        _ = unsafe posix_spawn(&identifier, path, &actions, &attributes, list, environ)
    }
}
