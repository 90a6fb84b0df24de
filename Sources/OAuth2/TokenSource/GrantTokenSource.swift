public import Networking

/// Gets tokens from an authorization server, and keeps them in a store.
///
/// Each call asks the store, and the server if nothing there will do. Wrap it in a ``CachedTokenSource`` to keep the token at hand,
/// refresh it ahead of time and ask once for many callers; ``OAuth2Authenticator`` does.
public final class GrantTokenSource: TokenSource, StoreWaiting {
    /// How tokens are asked for.
    public struct Options: Sendable {
        /// How long getting a token may take; 30 seconds by default.
        public var timeout: Duration
        /// How often a token endpoint is asked in that time that fails for the moment; three times by default.
        public var attempts: Int
        /// The time to wait before a refresh token whose response was lost is sent again; 20 seconds by default.
        ///
        /// The first request may still be on its way, and servers take the second use of a refresh token for theft. Take less only for a
        /// server that forgives it, or does not replace refresh tokens.
        public var lostRequestDelay: Duration
        /// Where time comes from.
        public var timeSource: TimeSource
        /// Where the random numbers of 0…1 come from that spread the attempts of many clients.
        public var random: @Sendable () -> Double

        /// Makes options.
        ///
        /// - Parameters:
        ///   - timeout: How long getting a token may take.
        ///   - attempts: How often a token endpoint is asked that fails for the moment; at least once.
        ///   - lostRequestDelay: How long to wait before a refresh token is sent again whose answer was lost.
        ///   - timeSource: Where time comes from.
        ///   - random: Where random numbers of 0…1 come from.
        public init(
            timeout: Duration = .seconds(30),
            attempts: Int = 3,
            lostRequestDelay: Duration = .seconds(20),
            timeSource: TimeSource = .system,
            random: @escaping @Sendable () -> Double = { Double.random(in: 0...1) }
        ) {
            self.timeout = timeout
            self.attempts = max(1, attempts)
            self.lostRequestDelay = lostRequestDelay
            self.timeSource = timeSource
            self.random = random
        }
    }

    private let stored: TokenAcquirer

    /// Makes a source.
    ///
    /// - Parameters:
    ///   - server: Who issues the tokens.
    ///   - clientAuthentication: How the client proves who it is.
    ///   - grant: What entitles the client to a token.
    ///   - store: Where tokens are kept.
    ///   - dpop: The key that tokens are to be bound to; `nil` for bearer tokens.
    ///   - client: What asks the token endpoint.
    ///   - options: How tokens are asked for.
    public convenience init(
        server: AuthorizationServer,
        clientAuthentication: any ClientAuthentication,
        grant: any Grant,
        store: any TokenStore = InMemoryTokenStore(),
        dpop: DPoPKey? = nil,
        client: NetworkClient = NetworkClient(),
        options: Options = Options()
    ) {
        let endpoint = TokenEndpoint(
            location: .known(server),
            clientAuthentication: clientAuthentication,
            client: client,
            timeSource: options.timeSource,
            attempts: options.attempts,
            random: options.random,
            dpop: dpop,
            journal: TokenJournal()
        )
        self.init(
            TokenAcquirer(
                grant,
                endpoint: endpoint,
                store: store,
                dpop: dpop,
                timeout: options.timeout,
                lostRequestDelay: options.lostRequestDelay
            )
        )
    }

    init(_ stored: TokenAcquirer) {
        self.stored = stored
    }

    /// Gets a token: one that another has put into the store, or a refreshed one, or one for the grant itself.
    ///
    /// - Parameter requirements: What the token is for.
    /// - Returns: The token; what came with it is in the store, unless the store failed.
    /// - Throws: ``OAuth2Error``.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        try await stored.newToken(for: requirements)
    }

    var isWaitingForStore: Bool { stored.store.isWaitedFor }

    /// Removes the tokens from the store.
    func signOut() async throws { try await stored.signOut() }

    /// Goes on with another refresh token.
    func signIn(_ refreshToken: Secret) async throws { try await stored.signIn(refreshToken) }

    /// Goes on with other tokens.
    func signIn(_ tokens: IssuedTokens) async throws { try await stored.signIn(tokens) }
}
