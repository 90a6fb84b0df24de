public import Networking

extension RemoteKeySet {
    /// Makes a set of the keys of an issuer that says itself where they are; nothing is asked yet.
    ///
    /// - Parameters:
    ///   - discovery: Finds out where the keys are, each time they are fetched.
    ///   - client: What fetches the keys.
    ///   - options: How long keys are used, and how often they are fetched.
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
