import Glibc
import OAuth2
import TokenGeneration

/// `jwt token`: gets an access token.
struct TokenCommand {
    private static let isForced = Flag(
        "refresh",
        section: CacheOptions.section,
        "Get a new token even if the kept one is good"
    )
    private static let isSignOut = Flag(
        "sign-out",
        section: CacheOptions.section,
        "Drop the kept tokens, refresh token included, and print none; the server does not hear of it"
    )
    private static let isSignIn = Flag(
        "sign-in",
        section: SignInOptions.section,
        "Have somebody sign in even if there is a token, or no terminal; with device_code and authorization_code"
    )

    static let definition = CommandDefinition(
        name: "token",
        summary: "Get an access token from an authorization server",
        discussion: [
            """
            Prints the access token alone (OAuth 2.0, RFC 6749). It is kept for you alone and printed again while it is good; \
            however many ask at a time, the server is asked once. Refresh tokens that the server replaces are kept as \
            well.
            """,
            """
            A profile is an object in the configuration file whose members are the options below without their dashes: \
            {"profiles": {"prod": {"token-endpoint": "https://id.example/token", "client-id": "reports", \
            "client-secret-file": "secret", "scope": "read"}}}. Files stand relative to the configuration file; ~/ is your \
            folder.
            """,
            """
            With device_code and authorization_code somebody signs in once, and the refresh token does for the time after. \
            Standard error says where; if nobody is at a terminal there, the command ends with exit code 1 and says so, \
            unless --sign-in makes it ask all the same.
            """,
            """
            With --json: {"access_token": "…", "token_type": "Bearer", "expires_in": 299, "scope": "…", "cached": true}, on \
            one line, with the members of the server's answer.
            """,
        ],
        options: TokenOptions.options + [isForced.definition, isSignIn.definition, isSignOut.definition],
        examples: [
            .init(
                purpose: "Call an API",
                line: #"curl -H "Authorization: Bearer $(jwt token --profile prod)" https://api.example/reports"#
            ),
            .init(
                purpose: "Without a profile",
                line: """
                    jwt token --token-endpoint https://id.example/token --client-id reports --client-secret-env SECRET
                    """
            ),
            .init(
                purpose: "With a signed assertion in place of a secret (private_key_jwt)",
                line: "jwt token --token-endpoint https://id.example/token --client-id reports --key key.pem"
            ),
            .init(
                purpose: "As somebody who signs in in a browser",
                line: "jwt token --issuer https://id.example --client-id cli --grant authorization_code --scope openid"
            ),
            .init(
                purpose: "As somebody who signs in on another device, such as a telephone",
                line: "jwt token --issuer https://id.example --client-id cli --grant device_code"
            ),
            .init(purpose: "One that is good for ten minutes", line: "jwt token --profile prod --min-valid 10m"),
            .init(purpose: "After somebody has been given more rights", line: "jwt token --profile prod --refresh"),
        ],
        exitStatuses: [
            .init(code: 0, meaning: "The token is printed"),
            .init(code: 1, meaning: "The authorization server or the user refuses, or nobody signs in"),
            .init(code: 2, meaning: "The server can't be asked, or a file, a key or the configuration can't be used"),
            .usage,
        ],
        action: { try TokenCommand($0).run(on: $1) }
    )

    private let options: TokenOptions
    private let isForced: Bool
    private let isSignIn: Bool
    private let isSignOut: Bool

    private init(_ arguments: ParsedArguments) throws {
        isForced = arguments.contains(Self.isForced)
        isSignOut = arguments.contains(Self.isSignOut)
        isSignIn = arguments.contains(Self.isSignIn)
        if isSignIn, isForced || isSignOut {
            throw arguments.usageError("--sign-in excludes --refresh and --sign-out")
        }
        if isForced, isSignOut { throw arguments.usageError("--refresh and --sign-out exclude each other") }
        options = try TokenOptions(arguments, others: RequestOptions.members)
        if isSignIn, !options.isInteractive {
            throw arguments.usageError("--sign-in is for --grant device_code and authorization_code")
        }
    }

    private func run(on console: Console) throws {
        let access = try options.access(console, isForced: isForced)
        if isSignOut {
            try access.signOut()
            if console.writesJSON { try console.print(["signedOut": true]) }
            return
        }
        let isAtTerminal = FileDescriptor.standard(STDERR_FILENO).isTerminal
        let token =
            isSignIn ? try access.signedIn() : try access.token(isForced: isForced, asksUser: isAtTerminal)
        if options.binding.isKeyKept {
            console.warn(
                "the token is bound to a key that is kept with it: use it with jwt request, or bind it by --dpop-key"
            )
        }
        guard console.writesJSON else { return try console.print(token.value.expose { $0 }) }
        var result: JSONObject = [
            "access_token": .string(token.value.expose { $0 }), "token_type": .string(token.type),
        ]
        if let expiry = token.expiry {
            let seconds = (expiry - .now).components.seconds
            result["expires_in"] = .number(JSONNumber(Int(max(0, seconds))))
        }
        result["scope"] = token.scope.map(JSONValue.string)
        result["cached"] = .bool(token.isFound)
        try console.print(result)
    }
}
