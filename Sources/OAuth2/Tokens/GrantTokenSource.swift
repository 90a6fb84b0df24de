public import Networking

/// A token source that gets tokens from an authorization server and keeps them in a store.
///
/// Each call reads the store, and asks the server if the store has no suitable token. Wrap the
/// source in a ``CachedTokenSource`` to cache the token, refresh it ahead of time and share one
/// request among callers; ``OAuth2Authenticator`` does so.
public final class GrantTokenSource: TokenSource, StoreWaiting {
    private let stored: TokenAcquirer

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - server: The server that issues the tokens.
    ///   - clientAuthentication: The client's authentication at the token endpoint.
    ///   - grant: The grant that entitles the client to a token.
    ///   - store: The storage for tokens. The default keeps them in memory.
    ///   - dpop: The key to bind tokens to. The default is `nil`, for bearer tokens.
    ///   - client: The client for requests to the token endpoint.
    ///   - timing: The time limits and retry delays of token requests.
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
            journal: TokenJournal(client.options.observers)
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

    /// Gets a token: from the store, with a refresh, or with the grant itself.
    ///
    /// - Parameter requirements: The requirements for the token.
    /// - Returns: The token. It's stored with everything issued along with it, unless the store
    ///   failed.
    /// - Throws: ``OAuth2Error``.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        try await stored.newToken(for: requirements)
    }

    var isWaitingForStore: Bool { stored.store.isWaitedFor }

    func signOut() async throws { try await stored.signOut() }

    func signIn(_ refreshToken: Secret) async throws { try await stored.signIn(refreshToken) }

    func signIn(_ tokens: IssuedTokens) async throws { try await stored.signIn(tokens) }
}
