package import Foundation
internal import OpenSSLCrypto

/// Decides by pins whether a server whose chain and name were verified is the right one.
///
/// ```swift
/// let evaluator = try ServerTrustEvaluator(configuration: .init(pinningPolicies: [
///     PinningPolicy(domainName: "example.org", includeSubdomains: true, pinnedHashes: [current, backup])
/// ]))
/// let client = try NetworkClient(tls: TLSConfiguration(serverTrustEvaluator: evaluator))
/// ```
///
/// Of several policies that cover a host, that with the longest name decides; a policy never covers the names above its own.
/// The decision is made inside the handshake: a server that is refused receives no request.
public struct ServerTrustEvaluator: Sendable {
    /// Which keys a domain's servers may have.
    public typealias PinningPolicy = Networking.PinningPolicy

    /// The policies and what holds where they say nothing.
    public let configuration: Configuration

    /// Makes an evaluator.
    ///
    /// - Parameter configuration: The policies and what holds where they say nothing.
    /// - Throws: ``TrustConfigurationError/Code/duplicatePolicies`` if two policies are for the same domain.
    public init(configuration: Configuration) throws(TrustConfigurationError) {
        var seen: Set<PinningPolicy> = []
        for policy in configuration.pinningPolicies where !seen.insert(policy).inserted {
            throw TrustConfigurationError(
                .duplicatePolicies,
                "two pinning policies are for \(policy.domainName): put all pins into one"
            )
        }
        self.configuration = configuration
    }

    /// Decides about a server.
    ///
    /// It only looks at the policies: ``Configuration/enforcement`` and ``Configuration/report`` are for connections.
    ///
    /// - Parameters:
    ///   - host: The name or address by which the server was asked for.
    ///   - chain: The pins of the verified chain, the server's own first.
    ///   - date: When the policies have to hold.
    /// - Returns: Why the server is accepted.
    /// - Throws: ``TLSFailure/hostNotPinned``, ``TLSFailure/pinningPolicyExpired``, ``TLSFailure/pinMismatch(seen:)``.
    @discardableResult
    package func evaluate(
        host: String,
        chain: [PublicKeyPin],
        at date: Date = Date()
    ) throws(TLSFailure) -> Acceptance {
        guard let name = HostName(host) else {
            // A name that can't be compared could be any of the pinned ones.
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

    /// The policy that is about a host, if there is one: that with the longest name.
    private func policy(for host: HostName) -> PinningPolicy? {
        configuration.pinningPolicies.filter { $0.covers(host) }.max { $0.host.depth < $1.host.depth }
    }

    /// Decides about a server in the middle of a handshake.
    func check(_ peer: TLSPeer) throws(TLSFailure) {
        let chain = peer.chain.map { PublicKeyPin(octets: $0.publicKeyHash) }
        func report(_ finding: Report.Finding) {
            configuration.report?(
                Report(
                    host: peer.host,
                    finding: finding,
                    chain: chain,
                    isEnforced: configuration.enforcement == .enforced
                )
            )
        }
        do throws(TLSFailure) {
            let acceptance = try evaluate(host: peer.host, chain: chain)
            guard case .pinned = acceptance, let pins = HostName(peer.host).flatMap({ policy(for: $0) })?.pins else {
                return
            }
            if pins.isSubset(of: chain) { report(.noPinInReserve) }
        } catch {
            report(.refused(error))
            if configuration.enforcement == .enforced { throw error }
        }
    }
}

extension ServerTrustEvaluator {
    /// Why a server is accepted.
    @nonexhaustive
    package enum Acceptance: Hashable, Sendable {
        /// This pin is in the chain; of several, the first in the order of ``Configuration/certificateCheckingOrder``.
        case pinned(PublicKeyPin)
        /// No policy is about the host, and that is allowed.
        case notPinned
        /// The host's policy has expired, and that is allowed.
        case policyExpired
    }

    /// What an evaluator found that somebody should know.
    public struct Report: Sendable {
        /// What was found.
        @nonexhaustive
        public enum Finding: Hashable, Sendable {
            /// The server is not one that the policies accept.
            case refused(TLSFailure)
            /// All pins of the host's policy are in the server's chain: when its keys change, there is none left
            /// ([RFC 7469 §4.3](https://www.rfc-editor.org/rfc/rfc7469#section-4.3)). The server was accepted.
            case noPinInReserve
        }

        /// The name or address by which the server was asked for.
        public let host: String
        /// What was found.
        public let finding: Finding
        /// The pins of the verified chain, the server's own first.
        public let chain: [PublicKeyPin]
        /// Whether a refused server was not connected to.
        public let isEnforced: Bool
    }
}
