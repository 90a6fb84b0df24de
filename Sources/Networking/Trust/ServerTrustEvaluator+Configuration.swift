package import Foundation

extension ServerTrustEvaluator {
    /// The pinning policies of an evaluator, and its behavior for hosts without a valid policy.
    public struct Configuration: Sendable {
        /// The order in which the evaluator compares a chain's certificates with the pins.
        ///
        /// The order doesn't affect whether the evaluator accepts a server, only which pin it
        /// reports as the match.
        @nonexhaustive
        public enum CertificateCheckingOrder: Hashable, Sendable {
            /// Starts with the server's certificate.
            case leafToRoot
            /// Starts with the root.
            case rootToLeaf
        }

        /// The consequence of a rejection.
        @nonexhaustive
        public enum Enforcement: Hashable, Sendable {
            /// The connection fails.
            case enforced
            /// The rejection is reported, but the connection succeeds.
            ///
            /// Use this to try out policies. The server's chain and name are still verified.
            case reportOnly
        }

        /// The policies.
        public let pinningPolicies: [PinningPolicy]
        /// The order in which certificates are compared with pins; the default is
        /// ``CertificateCheckingOrder/leafToRoot``.
        public var certificateCheckingOrder: CertificateCheckingOrder
        /// A Boolean value that indicates whether hosts without a policy are accepted; the default
        /// is `false`.
        public var allowNotPinnedDomains: Bool
        /// A Boolean value that indicates whether hosts with an expired policy are accepted without
        /// pinning; the default is `false`.
        public var allowExpiredDomainPolicies: Bool
        /// The consequence of a rejection; the default is ``Enforcement/enforced``.
        public var enforcement: Enforcement
        /// A closure that receives rejections, enforced or not, and policies without a backup pin.
        ///
        /// It's called during a handshake, on the thread that serves all connections, and must
        /// return at once.
        public var report: (@Sendable (Report) -> Void)?
        package var currentDate: @Sendable () -> Date = { Date() }

        /// Creates a configuration.
        ///
        /// - Parameters:
        ///   - pinningPolicies: The policies, at most one for each domain.
        ///   - certificateCheckingOrder: The order in which certificates are compared with pins.
        ///     The default is `leafToRoot`.
        ///   - allowNotPinnedDomains: Whether to accept hosts without a policy. The default is
        ///     `false`.
        ///   - allowExpiredDomainPolicies: Whether to accept hosts with an expired policy without
        ///     pinning. The default is `false`.
        ///   - enforcement: The consequence of a rejection. The default is `enforced`.
        ///   - report: Receives rejections, and policies without a backup pin.
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
