public import Networking

extension OAuth2Authenticator {
    /// Makes an authenticator whose server is discovered when the first token is needed, and not before: a service can start
    /// while the server is down.
    ///
    /// If the discovery fails, the request fails, with an ``OAuth2Error`` as its cause. The next request after the backoff tries
    /// again. Concurrent requests share one discovery.
    ///
    /// ```swift
    /// let authenticator = OAuth2Authenticator(
    ///     discovery: AuthorizationServerDiscovery(issuer: "https://as.example"),
    ///     clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret(secret)),
    ///     grant: ClientCredentialsGrant(scope: "reports.read"),
    ///     resources: [api]
    /// )
    /// ```
    ///
    /// - Parameters:
    ///   - discovery: Finds the server that issues the tokens.
    ///   - clientAuthentication: How the client proves who it is.
    ///   - grant: What entitles the client to a token.
    ///   - resources: The origins that the token is meant for; requests to other origins are left unchanged.
    ///   - store: Where tokens are kept.
    ///   - dpop: The key that tokens are to be bound to; `nil` for bearer tokens.
    ///   - client: What asks the token endpoint. It must not have this authenticator among its interceptors.
    ///   - timing: How long getting a token may take, and how often the endpoint is asked.
    ///   - options: What the authenticator does by default.
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
