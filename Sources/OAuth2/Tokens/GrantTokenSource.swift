public import Networking

/// Gets tokens from an authorization server, and keeps them in a store.
///
/// Each call asks the store, and the server if nothing there will do. Wrap it in a ``CachedTokenSource`` to keep the token at hand,
/// refresh it ahead of time and ask once for many callers; ``OAuth2Authenticator`` does.
public final class GrantTokenSource: TokenSource, StoreWaiting {
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
    ///   - timing: How long getting a token may take, and how often the endpoint is asked.
    public convenience init(
        server: AuthorizationServer,
        clientAuthentication: any ClientAuthentication,
        grant: any Grant,
        store: any TokenStore = InMemoryTokenStore(),
        dpop: DPoPKey? = nil,
        client: NetworkClient = NetworkClient(),
        timing: OAuth2Timing = OAuth2Timing()
    ) {
        let endpoint = TokenEndpoint(
            location: .known(server),
            clientAuthentication: clientAuthentication,
            client: client,
            timing: timing,
            dpop: dpop,
            journal: TokenJournal()
        )
        self.init(
            TokenAcquirer(
                grant,
                endpoint: endpoint,
                store: store,
                dpop: dpop
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
