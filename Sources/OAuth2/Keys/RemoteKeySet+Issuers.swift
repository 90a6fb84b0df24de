import Foundation
public import Networking
public import TokenGeneration

extension RemoteKeySet {
    /// Creates a set of the keys that a well-known issuer publishes, without fetching anything yet.
    ///
    /// The keys are at the issuer's `keySetURL`, or at the `jwks_uri` of its metadata ([OpenID
    /// Connect Discovery 1.0
    /// §3](https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderMetadata)). The
    /// metadata must name the issuer and needs no other endpoint. If neither is known, fetching the
    /// keys fails with the code `endpointMissing`.
    ///
    /// - Parameters:
    ///   - issuer: The issuer.
    ///   - client: The client for the requests. For a Kubernetes cluster, it may have to trust the
    ///     cluster's certificate authority and authenticate.
    ///   - options: The lifetime of the keys and the limits of requests.
    public convenience init(
        _ issuer: TokenIssuer,
        client: NetworkClient = NetworkClient(),
        options: Options = Options()
    ) {
        guard issuer.keySetURL == nil, let name = issuer.metadataIssuer else {
            self.init(publishedAt: issuer.keySetURL, client, options)
            return
        }
        var discovery = AuthorizationServerDiscovery.Options()
        discovery.timing.timeSource = options.timeSource
        let source = MetadataSource(
            issuer: name,
            client: client,
            options: discovery,
            parse: MetadataDocument.keySetURL(in:issuer:)
        )
        self.init(client: client, options: options) { try await source.value() }
    }

    /// Creates a set of the keys that a well-known identity provider publishes, without fetching
    /// anything yet.
    ///
    /// - Parameters:
    ///   - provider: The provider.
    ///   - client: The client for the requests.
    ///   - options: The lifetime of the keys and the limits of requests.
    public convenience init(
        _ provider: IdentityProvider,
        client: NetworkClient = NetworkClient(),
        options: Options = Options()
    ) {
        self.init(publishedAt: provider.keySetURL, client, options)
    }

    private convenience init(publishedAt url: URL?, _ client: NetworkClient, _ options: Options) {
        self.init(client: client, options: options) {
            guard let url else {
                throw OAuth2Error(
                    .endpointMissing,
                    "the URL of the issuer's keys isn't known; set its keySetURL, or pass the keys"
                )
            }
            return url
        }
    }

    /// Creates a key set for an issuer whose metadata names its URL, without fetching anything yet.
    ///
    /// - Parameters:
    ///   - discovery: The discovery of the issuer's metadata, used for each fetch of the keys.
    ///   - client: The client for requests of the keys.
    ///   - options: The lifetime of the keys and the limits of requests.
    public convenience init(
        discovery: AuthorizationServerDiscovery,
        client: NetworkClient = NetworkClient(),
        options: Options = Options()
    ) {
        self.init(client: client, options: options) {
            try await discovery.server().keySetURL.required("the key set")
        }
    }
}
