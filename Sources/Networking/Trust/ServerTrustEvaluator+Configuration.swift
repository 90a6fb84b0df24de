extension ServerTrustEvaluator {
    /// The policies of an evaluator and what holds where they say nothing.
    public struct Configuration: Sendable {
        /// In which order the certificates of a chain are compared with the pins.
        ///
        /// The order makes no difference to whether a server is accepted, only to which pin it is by.
        @nonexhaustive
        public enum CertificateCheckingOrder: Hashable, Sendable {
            /// The server's certificate first.
            case leafToRoot
            /// The root first.
            case rootToLeaf
        }

        /// What a refusal leads to.
        @nonexhaustive
        public enum Enforcement: Hashable, Sendable {
            /// The connection is not made.
            case enforced
            /// The refusal is reported and the connection is made, to try policies out. The chain and the name of the server
            /// are verified all the same.
            case reportOnly
        }

        /// The policies.
        public let pinningPolicies: [PinningPolicy]
        /// In which order certificates are compared with pins; ``CertificateCheckingOrder/leafToRoot`` by default.
        public var certificateCheckingOrder: CertificateCheckingOrder
        /// Whether hosts that no policy is about are accepted; false by default.
        public var allowNotPinnedDomains: Bool
        /// Whether hosts whose policy has expired are accepted as if there were no pins; false by default.
        public var allowExpiredDomainPolicies: Bool
        /// What a refusal leads to; ``Enforcement/enforced`` by default.
        public var enforcement: Enforcement
        /// Is told of refusals, enforced or not, and of policies without a pin in reserve.
        ///
        /// It is called in the middle of a handshake, on the thread that serves all connections: it returns at once.
        public var report: (@Sendable (Report) -> Void)?

        /// Makes a configuration.
        ///
        /// - Parameters:
        ///   - pinningPolicies: The policies, at most one for each domain.
        ///   - certificateCheckingOrder: In which order certificates are compared with pins.
        ///   - allowNotPinnedDomains: Whether hosts that no policy is about are accepted.
        ///   - allowExpiredDomainPolicies: Whether hosts whose policy has expired are accepted as if there were no pins.
        ///   - enforcement: What a refusal leads to.
        ///   - report: Is told of refusals and of policies without a pin in reserve.
        /// - Throws: ``TrustConfigurationError/Code/emptyPolicies``.
        public init(
            pinningPolicies: some Sequence<PinningPolicy>,
            certificateCheckingOrder: CertificateCheckingOrder = .leafToRoot,
            allowNotPinnedDomains: Bool = false,
            allowExpiredDomainPolicies: Bool = false,
            enforcement: Enforcement = .enforced,
            report: (@Sendable (Report) -> Void)? = nil
        ) throws(TrustConfigurationError) {
            self.pinningPolicies = Array(pinningPolicies)
            guard !self.pinningPolicies.isEmpty else {
                throw TrustConfigurationError(.emptyPolicies, "a server trust evaluator needs a pinning policy")
            }
            self.certificateCheckingOrder = certificateCheckingOrder
            self.allowNotPinnedDomains = allowNotPinnedDomains
            self.allowExpiredDomainPolicies = allowExpiredDomainPolicies
            self.enforcement = enforcement
            self.report = report
        }
    }
}
