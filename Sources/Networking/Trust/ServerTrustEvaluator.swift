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
    package let configuration: Configuration

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

    /// The pins of the chain start with the server's own; ``Configuration/enforcement`` and
    /// ``Configuration/report`` apply to connections only.
    ///
    /// - Throws: ``TLSFailure/hostNotPinned``, ``TLSFailure/pinningPolicyExpired``,
    /// ``TLSFailure/pinMismatch(seen:)``.
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

    /// The policy with the longest name applies.
    private func policy(for host: HostName) -> PinningPolicy? {
        configuration.pinningPolicies.filter { $0.covers(host) }.max { $0.host.depth < $1.host.depth }
    }

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

        package let pinningPolicies: [PinningPolicy]
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

        /// Creates a configuration with `pinningPolicies`, at most one for each domain.
        ///
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

package enum ServerCertificates {
    package struct Item: Sendable {
        package let pin: PublicKeyPin
        package let subject: String
        /// The first and the last second of the validity period, since 1970 (UTC).
        package let notBefore: Int64
        package let notAfter: Int64

        init(_ certificate: Certificate, pin: PublicKeyPin) {
            self.pin = pin
            subject = certificate.subject
            notBefore = certificate.notBefore
            notAfter = certificate.notAfter
        }
    }

    /// Returns the verified chain of a server, starting with its own certificate, without sending a
    /// request; an address other than an `https` URL is an `invalidRequest`.
    package static func chain(
        of address: String,
        tls: TLSConfiguration = TLSConfiguration(),
        timeout: Duration = .seconds(15)
    ) async throws -> [Item] {
        guard let url = URL(string: address), let origin = HTTPOrigin(url), origin.scheme == "https" else {
            throw NetworkError(.invalidRequest, "the URL must be https:// with a host, such as https://example.org")
        }
        let host = HostName(TLSHandshake.normalized(origin.plainHost))
        var tls = tls
        tls.inspection = { peer in
            // Skips a proxy in between.
            guard HostName(peer.host) == host else { return }
            throw Seen(chain: peer.chain)
        }
        let transport = try CurlTransport(configuration: CurlTransport.Configuration(tls: tls))
        var failure: any Error
        do {
            let limits = HTTPTransportLimits(deadline: .now + timeout)
            _ = try await transport.send(HTTPRequest(method: .head, url: url), limits: limits)
            failure = NetworkError(.unknown, "\(origin) responded without presenting its certificates")
        } catch {
            failure = error
        }
        await transport.close()
        guard let seen = (failure as? NetworkError)?.cause as? Seen else { throw failure }
        return try seen.chain.map { link in
            try Item(Certificate(der: link.der), pin: PublicKeyPin(octets: link.publicKeyHash))
        }
    }

    /// Reads one certificate in DER, or any number in PEM.
    package static func list(_ octets: [UInt8]) throws(TrustConfigurationError) -> [Item] {
        try TrustFile.certificates(in: octets, from: nil).map { certificate throws(TrustConfigurationError) in
            Item(certificate, pin: try PublicKeyPin(certificate))
        }
    }

    package static func roots(_ octets: [UInt8]) throws(TrustConfigurationError) -> TrustRoots {
        TrustRoots(includesSystem: false, certificates: try TrustFile.certificates(in: octets, from: nil))
    }

    /// Ends the handshake once the certificates are known.
    private struct Seen: Error {
        let chain: [TLSPeer.ChainLink]
    }
}
