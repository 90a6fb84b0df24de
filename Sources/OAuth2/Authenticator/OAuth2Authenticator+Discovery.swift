public import Networking

extension OAuth2Authenticator {
    /// Creates an authenticator that discovers its server when it needs the first token.
    ///
    /// A service can therefore start while the server is down. If the discovery fails, the request
    /// fails, with an ``OAuth2Error`` as its cause. The next request after the backoff tries again.
    /// Concurrent requests share one discovery.
    ///
    /// ```swift
    /// let authenticator = OAuth2Authenticator(
    ///     discovery: AuthorizationServerDiscovery(issuer: "https://as.example"),
    ///     clientAuthentication: .clientSecretBasic(
    ///         clientID: "reports",
    ///         secret: Secret(secret)
    ///     ),
    ///     grant: ClientCredentialsGrant(scope: "reports.read"),
    ///     resources: [api]
    /// )
    /// ```
    ///
    /// - Parameters:
    ///   - discovery: The discovery of the server that issues the tokens.
    ///   - clientAuthentication: The client's authentication at the token endpoint.
    ///   - grant: The grant that entitles the client to a token.
    ///   - resources: The origins that get the token. Other requests are left unchanged.
    ///   - store: The storage for tokens. The default keeps them in memory.
    ///   - dpop: The key to bind tokens to. The default is `nil`, for bearer tokens.
    ///   - client: The client for token requests. Don't add this authenticator to its interceptors.
    ///   - timing: The time limits and retry delays of token requests.
    ///   - options: The authenticator's options.
    public convenience init(
        discovery: AuthorizationServerDiscovery,
        clientAuthentication: any ClientAuthentication,
        grant: any Grant,
        resources: ResourceRule,
        store: any TokenStore = InMemoryTokenStore(),
        dpop: DPoPKey? = nil,
        client: NetworkClient = NetworkClient(),
        timing: OAuth2Timing = OAuth2Timing(),
        options: Options = Options()
    ) {
        self.init(.discovered(discovery), clientAuthentication, grant, resources, store, dpop, client, timing, options)
    }
}
