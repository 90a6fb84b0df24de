public import Networking

extension RemoteKeySet {
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
