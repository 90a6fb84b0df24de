public import TokenGeneration

extension SigningKeyRing {
    /// The life of the keys, and the properties of hosts and verifiers that it depends on.
    ///
    /// All hosts that share a ring need the same options. A changed option applies to keys that are
    /// made later.
    public struct Options: Sendable {
        /// The algorithm of new keys, which must have a public key.
        ///
        /// The default is ES256.
        public var algorithm: JWSAlgorithm
        /// The time for which each key is the newest one that signs.
        ///
        /// The default is 30 days. A key may sign for another quarter of it, for hosts that can't
        /// rely on the next key yet.
        public var rotationInterval: Duration
        /// The longest lifetime of a token.
        ///
        /// The default is 1 hour. ``SigningKeyRing/sign(_:header:)`` rejects a longer one.
        public var tokenLifetime: Duration
        /// The longest time for which a verifier uses a document before it fetches the next one.
        ///
        /// The default is 1 hour, the bound of a `RemoteKeySet`. Documents have a `max-age` of five
        /// minutes at most, for verifiers that heed it.
        public var cacheLifetime: Duration
        /// The longest time for which a verifier accepts a token that has expired.
        ///
        /// The default is 5 minutes.
        public var leeway: Duration
        /// The longest time for which a host uses the set of keys before it reads the set again.
        ///
        /// The default is 1 minute.
        public var pollInterval: Duration
        /// The largest difference between the clocks of two hosts.
        ///
        /// The default is 1 minute.
        public var clockDifference: Duration

        /// Creates options.
        ///
        /// - Parameters:
        ///   - algorithm: The algorithm of new keys. The default is ES256.
        ///   - rotationInterval: The time for which each key is the newest one that signs. The
        ///     default is 30 days.
        ///   - tokenLifetime: The longest lifetime of a token. The default is 1 hour.
        ///   - cacheLifetime: The longest time for which a verifier uses a document. The default is
        ///     1 hour.
        ///   - leeway: The longest time for which a verifier accepts a token that has expired. The
        ///     default is 5 minutes.
        ///   - pollInterval: The longest time for which a host uses the set before it reads the set
        ///     again. The default is 1 minute.
        ///   - clockDifference: The largest difference between the clocks of two hosts. The default
        ///     is 1 minute.
        public init(
            algorithm: JWSAlgorithm = .es256,
            rotationInterval: Duration = .seconds(30 * 86_400),
            tokenLifetime: Duration = .seconds(3_600),
            cacheLifetime: Duration = .seconds(3_600),
            leeway: Duration = .seconds(300),
            pollInterval: Duration = .seconds(60),
            clockDifference: Duration = .seconds(60)
        ) {
            self.algorithm = algorithm
            self.rotationInterval = rotationInterval
            self.tokenLifetime = tokenLifetime
            self.cacheLifetime = cacheLifetime
            self.leeway = leeway
            self.pollInterval = pollInterval
            self.clockDifference = clockDifference
        }
    }
}
