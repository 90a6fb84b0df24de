package import Foundation
internal import OpenSSLCrypto

/// A check of servers' public keys against pins, after the ordinary verification of the chain and
/// name.
///
/// ```swift
/// let evaluator = try ServerTrustEvaluator(
///     configuration: .init(pinningPolicies: [
///         PinningPolicy(
///             domainName: "example.org",
///             includeSubdomains: true,
///             pinnedHashes: [current, backup]
///         )
///     ])
/// )
/// let client = try NetworkClient(
///     tls: TLSConfiguration(serverTrustEvaluator: evaluator)
/// )
/// ```
///
/// The policy with the most specific domain name applies. A policy never covers its parent domains.
/// The evaluator runs during the handshake, so a rejected server never receives a request.
public struct ServerTrustEvaluator: Sendable {
    /// The public keys that a domain's servers may have.
    public typealias PinningPolicy = Networking.PinningPolicy

    /// The policies and the behavior for hosts without a valid policy.
    public let configuration: Configuration

    /// Creates an evaluator.
    ///
    /// - Parameter configuration: The policies and the behavior for hosts without a valid policy.
    /// - Throws: ``TrustConfigurationError/Code/duplicatePolicies`` if two policies are for the
    ///   same domain.
    public init(configuration: Configuration) throws(TrustConfigurationError) {
        var seen: Set<HostName> = []
        for policy in configuration.pinningPolicies where !seen.insert(policy.host).inserted {
            throw TrustConfigurationError(
                .duplicatePolicies,
                "two pinning policies are for \(policy.domainName); put all pins into one policy"
            )
        }
        self.configuration = configuration
    }

    /// Returns the reason for accepting a server, from the pins of its verified chain, its own
    /// first.
    ///
    /// ``Configuration/enforcement`` and ``Configuration/report`` don't apply here, only to
    /// connections.
    ///
    /// - Throws: ``TLSFailure/hostNotPinned``, ``TLSFailure/pinningPolicyExpired``,
    ///   ``TLSFailure/pinMismatch(seen:)``.
    @discardableResult
    package func evaluate(
        host: String,
        chain: [PublicKeyPin],
        at date: Date
    ) throws(TLSFailure) -> Acceptance {
        guard let name = HostName(host) else {
            // A name in an unknown form could be any of the pinned ones.
            throw .hostNotPinned
        }
        guard let policy = policy(for: name) else {
            guard configuration.allowNotPinnedDomains else { throw .hostNotPinned }
            return .notPinned
        }
        guard policy.expirationDate >= date else {
            guard configuration.allowExpiredDomainPolicies else { throw .pinningPolicyExpired }
            return .policyExpired
        }
        let match =
            switch configuration.certificateCheckingOrder {
            case .leafToRoot: chain.first { policy.pins.contains($0) }
            case .rootToLeaf: chain.last { policy.pins.contains($0) }
            }
        guard let match else { throw .pinMismatch(seen: chain) }
        return .pinned(match)
    }

    /// Returns the policy that applies to a host: the one with the longest name.
    private func policy(for host: HostName) -> PinningPolicy? {
        configuration.pinningPolicies.filter { $0.covers(host) }.max { $0.host.depth < $1.host.depth }
    }

    /// Evaluates a server during a handshake.
    func check(_ peer: TLSPeer) throws(TLSFailure) {
        let chain = peer.chain.map { PublicKeyPin(octets: $0.publicKeyHash) }
        let isEnforced = configuration.enforcement == .enforced
        func report(_ finding: Report.Finding) {
            configuration.report?(Report(host: peer.host, finding: finding, chain: chain, isEnforced: isEnforced))
        }
        do throws(TLSFailure) {
            let acceptance = try evaluate(host: peer.host, chain: chain, at: configuration.currentDate())
            guard case .pinned = acceptance, let pins = HostName(peer.host).flatMap({ policy(for: $0) })?.pins else {
                return
            }
            if pins.isSubset(of: chain) { report(.noPinInReserve) }
        } catch {
            report(.refused(error))
            if isEnforced { throw error }
        }
    }
}

extension ServerTrustEvaluator {
    /// The reason for accepting a server.
    @nonexhaustive
    package enum Acceptance: Hashable, Sendable {
        /// The chain contains this pin; if it contains several, this is the first in the order of
        /// ``Configuration/certificateCheckingOrder``.
        case pinned(PublicKeyPin)
        /// The host doesn't have a policy, and the configuration allows that.
        case notPinned
        /// The host's policy has expired, and the configuration allows that.
        case policyExpired
    }

    /// A finding of an evaluator, for logs and alerts.
    public struct Report: Sendable {
        /// The kind of finding.
        @nonexhaustive
        public enum Finding: Hashable, Sendable {
            /// The policies don't accept the server.
            case refused(TLSFailure)
            /// All pins of the host's policy are in the server's chain, so none is left for a key
            /// change ([RFC 7469 §4.3](https://www.rfc-editor.org/rfc/rfc7469#section-4.3)).
            ///
            /// The evaluator accepts the server.
            case noPinInReserve
        }

        /// The host name or address in the request.
        public let host: String
        /// The finding.
        public let finding: Finding
        /// The pins of the verified chain, starting with the server's own.
        public let chain: [PublicKeyPin]
        /// A Boolean value that indicates whether a rejection ends the connection.
        public let isEnforced: Bool
    }
}
