import Foundation
public import Networking
import OAuth2
import OpenSSLCrypto
public import SharedStores
public import TokenGeneration

/// Sign-in for a web application: OpenID Connect from the first redirect to the last logout,
/// without a web framework.
///
/// ```swift
/// let signIn = try SignIn(
///     publicURL: "https://shop.example",
///     keys: RecordKeys(sealing: Secret(key)),
///     sessions: InMemorySessions(),
///     providers: [provider]
/// )
/// // For each request:
/// if let response = await signIn.response(to: request) { return response }
/// switch await signIn.access(to: request) {
/// case .granted(let user): return page(for: user)
/// case .refused(let response): return response
/// }
/// ```
///
/// The routes are ``routes``: the sign-in and callback of each provider, sign-out, back-channel
/// logout, and the signed-in user as JSON. A framework's adapter converts its requests and
/// responses. Hummingbird has one, `HummingbirdSignIn`; <doc:UsingAnyFramework> shows Vapor's.
///
/// What a browser gets are cookies: one for each sign-in in progress, sealed, and one with the
/// random identifier of a session. Tokens stay on the server. The URLs that the provider
/// gets come from the configuration, never from a request.
public struct SignIn: Sendable {
    /// The options of a sign-in.
    public struct Options: Sendable {
        /// The path of all routes.
        ///
        /// The default is `/auth`.
        public var path = "/auth"
        /// The path to which users return from a sign-out.
        ///
        /// The default is `/`.
        public var signedOutPath = "/"
        /// The time after which an unused session ends.
        ///
        /// The default is 30 minutes.
        public var idleLifetime = Duration.seconds(1_800)
        /// The time after which a session ends, however much it's used.
        ///
        /// The default is 8 hours.
        ///
        /// Only a new authentication of the user starts a new session.
        public var absoluteLifetime = Duration.seconds(28_800)
        /// A Boolean value that indicates whether the front channel can end sessions ([OpenID
        /// Connect Front-Channel Logout
        /// 1.0](https://openid.net/specs/openid-connect-frontchannel-1_0.html)).
        ///
        /// The default is `false`: browsers rarely send the session's cookie to such a frame.
        public var acceptsFrontChannelLogout = false
        /// Writes the pages.
        ///
        /// The default is ``SignInPage/html``.
        public var page: @Sendable (SignInPage) -> String = { $0.html }
        /// The source of time, also for checks of ID tokens, logout tokens and signed responses.
        public var timeSource = TimeSource.system

        /// Creates the default options.
        public init() {}
    }

    /// The scheme, host and port of the application, as browsers see it.
    public let origin: String
    /// The providers.
    public let providers: [SignInProvider]
    /// The options.
    public let options: Options

    let cookieFormat: CookieFormat
    let attempts: SealedValue
    let signOuts: SealedValue
    let book: SessionBook
    let approve: @Sendable (AuthenticatedUser) async throws -> JSONObject
    let logoutTokens: [String: LogoutTokenVerifier]

    /// Creates a sign-in.
    ///
    /// - Parameters:
    ///   - publicURL: The scheme, host and port of the application, as browsers see it: `https`, or
    ///     `http` on a loopback address.
    ///   - keys: The keys that seal cookies and stored sessions, the same on all hosts. A key that
    ///     is gone ends the sessions that it sealed.
    ///   - sessions: The store of the sessions and their tokens.
    ///   - providers: The providers, at least one, with different names.
    ///   - options: The options.
    ///   - approve: A closure that runs before a user gets a session, and returns the values that
    ///     the session keeps, such as the account's number. The application's scripts can read
    ///     them, too. Throwing an error refuses the user. The default approves everyone with an
    ///     account at a provider.
    /// - Throws: ``SignInError`` with the code `malformedConfiguration`.
    public init(
        publicURL: String,
        keys: RecordKeys,
        sessions: any SessionStore,
        providers: [SignInProvider],
        options: Options = Options(),
        approve: @escaping @Sendable (AuthenticatedUser) async throws -> JSONObject = { _ in [:] }
    ) throws(SignInError) {
        func malformed(_ message: String) -> SignInError { SignInError(.malformedConfiguration, message) }
        let origin = publicURL.hasSuffix("/") ? String(publicURL.dropLast()) : publicURL
        // As browsers write it in `Origin`.
        guard let place = URL(string: origin).flatMap({ HTTPOrigin($0) }), origin.isExactly(place.serialized) else {
            throw malformed(
                "the public URL must be a scheme and a host in lowercase, and a port unless it's the scheme's, without a path"
            )
        }
        guard place.isConfidential else { throw malformed("the public URL must be https, or http on this machine") }
        guard !providers.isEmpty, Set(providers.map(\.name)).count == providers.count,
            providers.allSatisfy(\.isNameValid)
        else { throw malformed("there must be a provider, and names must differ and have a-z, 0-9 and -") }
        guard place.scheme == "https" || !providers.contains(where: \.usesFormPost) else {
            throw malformed("the responses of a provider can be posted only to https")
        }
        let base = options.path
        guard base.hasPrefix("/"), !base.hasSuffix("/"),
            base.utf8.allSatisfy({ PercentEncoding.isUnreserved($0) || $0 == 0x2F })
        else { throw malformed("the path of the routes must begin with a slash and not end with one") }
        guard options.idleLifetime >= .seconds(10), options.absoluteLifetime >= options.idleLifetime else {
            throw malformed("sessions must last at least 10 seconds, and not shorter than idle ones")
        }
        self.origin = origin
        let date = options.timeSource.date
        self.providers = providers.map { provider in
            var provider = provider
            provider.idTokens.currentDate = date
            provider.responseVerifier?.currentDate = date
            return provider
        }
        self.options = options
        self.approve = approve
        cookieFormat = CookieFormat(isSecure: place.scheme == "https")
        attempts = try SealedValue("sign-in attempt", keys)
        signOuts = try SealedValue("sign-out", keys)
        book = SessionBook(sessions, keys, try SealedValue("session", keys), options, providers)
        logoutTokens = Dictionary(
            uniqueKeysWithValues: providers.map { ($0.name, LogoutTokenVerifier($0, currentDate: date)) }
        )
    }

    // MARK: Routes

    /// The routes, for frameworks that need them one by one.
    public var routes: [SignInRoute] {
        let own = [("GET", "/sign-in"), ("GET", "/sign-out"), ("POST", "/sign-out"), ("GET", "/user")]
        return own.map { SignInRoute(method: $0.0, path: options.path + $0.1) }
            + providers.flatMap { provider in
                var ofProvider = [
                    ("GET", "start"), (provider.usesFormPost ? "POST" : "GET", "callback"), ("GET", "signed-out"),
                    ("POST", "back-channel-logout"),
                ]
                if options.acceptsFrontChannelLogout { ofProvider.append(("GET", "front-channel-logout")) }
                return ofProvider.map { SignInRoute(method: $0.0, path: "\(options.path)/\(provider.name)/\($0.1)") }
            }
    }

    /// Responds to a request for one of the ``routes``.
    ///
    /// - Parameter request: The request.
    /// - Returns: The response, or `nil` if the path isn't one of the sign-in's. Log its
    ///   ``SignInResponse/error``.
    public func response(to request: SignInRequest) async -> SignInResponse? {
        let parts = request.path.dropFirst(options.path.count).split(separator: "/", omittingEmptySubsequences: false)
        guard request.path.hasPrefix(options.path + "/"), let last = parts.last,
            routes.contains(where: { $0.path.isExactly(request.path) })
        else { return nil }
        let methods = routes.filter { $0.path.isExactly(request.path) }.map(\.method)
        guard methods.contains(request.method) else {
            return refusal(SignInError(.methodNotAllowed, "the route has another method"), request)
                .setting("Allow", methods.joined(separator: ", "))
        }
        do {
            guard parts.count == 3, let provider = providers.first(where: { $0.name == parts[1] }) else {
                return switch last {
                case "sign-in": choice(request)
                case "user": try await user(request)
                default: try await request.method == "POST" ? signOut(request) : signOutPage(request)
                }
            }
            return switch last {
            case "start": try await start(request, at: provider)
            case "callback": try await callback(request, from: provider)
            case "signed-out": signedOut(request, from: provider)
            case "back-channel-logout": await backChannelLogout(request, from: provider)
            default: try await frontChannelLogout(request, from: provider)
            }
        } catch {
            return refusal(error, request)
        }
    }

    /// Returns the path that starts a sign-in and returns to a path afterwards, for a link.
    ///
    /// - Parameters:
    ///   - path: The path and query to return to. The default is `/`.
    ///   - provider: The name of the provider. The default, `nil`, is the only one, or a page with
    ///     a link for each.
    ///   - loginHint: A hint at the user for the provider (`login_hint`), such as the email
    ///     address. The default is `nil`.
    ///   - prompt: The page to show at the provider: `login`, `select_account`, `consent`, or
    ///     `create` for a new account. The default is `nil`, for what the provider decides.
    /// - Returns: The path.
    public func signInPath(
        returningTo path: String = "/",
        at provider: String? = nil,
        loginHint: String? = nil,
        prompt: String? = nil
    ) -> String {
        let name = provider ?? (providers.count == 1 ? providers[0].name : nil)
        let place = ReturnPath(path, origin: origin, besides: options.path)
        var fields = [(name: "return", value: place.text)]
        if let loginHint { fields.append(("login_hint", loginHint)) }
        if let prompt { fields.append(("prompt", prompt)) }
        return options.path + (name.map { "/\($0)/start" } ?? "/sign-in") + "?" + FormURLEncoded.encode(fields)
    }

    /// The hints of a link to a sign-in that the provider gets.
    ///
    /// Anyone can make such a link, so there's no `prompt=none`.
    func hints(in request: SignInRequest) -> [(name: String, value: String)] {
        var hints: [(name: String, value: String)] = []
        if let hint = request.value("login_hint", in: request.query), hint.utf8.count <= 256 {
            hints.append(("login_hint", hint))
        }
        if let prompt = request.value("prompt", in: request.query),
            ["login", "select_account", "consent", "create"].contains(where: prompt.isExactly)
        {
            hints.append(("prompt", prompt))
        }
        return hints
    }

    /// The path of the sign-out: for the action of a form with the method `POST`, or a link to a
    /// page with such a form.
    public var signOutPath: String { options.path + "/sign-out" }

    func url(_ provider: SignInProvider, _ route: String) -> String {
        "\(origin)\(options.path)/\(provider.name)/\(route)"
    }

    private func choice(_ request: SignInRequest) -> SignInResponse {
        let path = ReturnPath(request.value("return", in: request.query), origin: origin, besides: options.path)
        let query = FormURLEncoded.encode([("return", path.text)] + hints(in: request))
        let actions = providers.map { provider in
            SignInPage.Action(
                label: "Sign in with \(provider.title)",
                path: "\(options.path)/\(provider.name)/start?\(query)",
                isForm: false
            )
        }
        return page(200, SignInPage(title: "Sign in", message: "Choose where you have an account.", actions: actions))
    }

    /// The signed-in user for scripts of the application's own pages, or `null`.
    private func user(_ request: SignInRequest) async throws(SignInError) -> SignInResponse {
        guard let session = try await session(for: request) else { return .json("null") }
        var content: JSONObject = [
            "provider": .string(session.provider), "iss": .string(session.issuer), "sub": .string(session.subject),
            "name": .string(session.name), "values": .object(session.values),
            "expires": .number(JSONNumber(Int(clamping: session.expiry.timeIntervalSince1970))),
        ]
        content["acr"] = session.acr.map(JSONValue.string)
        content["email"] = session.claims["email"]
        return .json(content.serialized())
    }

    // MARK: Pages

    func page(_ status: Int, _ page: SignInPage, error: SignInError? = nil) -> SignInResponse {
        SignInResponse(
            status,
            headers: [
                ("Content-Type", "text/html; charset=utf-8"), ("Referrer-Policy", "same-origin"),
                (
                    "Content-Security-Policy",
                    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
                ),
            ],
            body: options.page(page),
            error: error
        )
    }

    func refusal(_ error: SignInError, _ request: SignInRequest, returningTo path: String = "/") -> SignInResponse {
        let status = error.code.status
        var response = SignInResponse(status, error: error)
        if request.acceptsPages || request.isNavigation {
            let (title, message) = error.code.explanation
            let again = SignInPage.Action(label: "Sign in", path: signInPath(returningTo: path), isForm: false)
            let home = SignInPage.Action(label: "Back to the start", path: "/", isForm: false)
            let actions = error.code.canSignInAgain ? [again, home] : [home]
            response = page(status, SignInPage(title: title, message: message, actions: actions), error: error)
        }
        return status == 401 ? response.setting("WWW-Authenticate", challenge) : response
    }

    /// The challenge that every 401 needs
    /// ([RFC 9110 §15.5.2](https://www.rfc-editor.org/rfc/rfc9110#section-15.5.2)).
    ///
    /// Only the cookie counts. No scheme for cookies is registered, and browsers ignore this one.
    var challenge: String {
        #"Cookie realm="\#(origin)", cookie-name="\#(cookieFormat.name(SessionBook.cookieName))""#
    }
}

extension HTTPOrigin {
    /// The text that browsers send in `Origin` ([RFC 6454
    /// §6.2](https://www.rfc-editor.org/rfc/rfc6454#section-6.2)).
    fileprivate var serialized: String {
        let isStandard = port == (scheme == "https" ? 443 : 80)
        return "\(scheme)://\(host)" + (isStandard ? "" : ":\(port)")
    }
}

/// A route of a ``SignIn``.
public struct SignInRoute: Sendable, Hashable {
    /// The method: `GET` or `POST`.
    public let method: String
    /// The path.
    public let path: String
}

extension SignInError.Code {
    var status: Int {
        switch self {
        case .userRefused, .stepUpFailed, .crossSite: 403
        case .signedOut, .stepUpRequired: 401
        case .pathRefused: 404
        case .methodNotAllowed: 405
        case .providerUnavailable, .apiUnavailable: 502
        case .storeFailed: 503
        case .malformedConfiguration: 500
        default: 400
        }
    }

    var canSignInAgain: Bool {
        switch self {
        case .crossSite, .methodNotAllowed, .logoutUnconfirmed, .logoutTokenRejected, .pathRefused, .apiUnavailable,
            .malformedConfiguration:
            false
        default: true
        }
    }

    /// What the user reads.
    ///
    /// The error has the details for logs.
    var explanation: (title: String, message: String) {
        switch self {
        case .authorizationDenied: ("You weren't signed in", "The sign-in was cancelled.")
        case .userRefused: ("No access", "Your account can't use this application.")
        case .stepUpFailed: ("Not confirmed", "The confirmation didn't succeed. You are still signed in as before.")
        case .signedOut: ("Please sign in", "You aren't signed in, or your session has ended.")
        case .stepUpRequired: ("Please confirm", "This needs a new confirmation that it's you.")
        case .providerUnavailable: ("Try again later", "The sign-in service can't be reached.")
        case .malformedConfiguration: ("Try again later", "The sign-in service can't be used.")
        case .storeFailed: ("Try again later", "The session can't be read.")
        case .pathRefused: ("Not found", "There's no such address.")
        case .apiUnavailable: ("Try again later", "A service that this page needs can't be reached.")
        case .crossSite: ("Refused", "Another site's page sent this request.")
        case .logoutUnconfirmed: ("Not confirmed", "It isn't known whether you are signed out there.")
        default: ("Please sign in again", "This sign-in has expired or was used before.")
        }
    }
}
