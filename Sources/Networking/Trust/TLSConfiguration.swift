internal import OpenSSLCrypto

/// The trust roots, TLS versions and client identity of a transport's connections.
///
/// A configuration applies to all connections of one transport. Two configurations require two
/// transports, which share neither connections nor TLS sessions. All checks happen during the
/// handshake, before the client sends any part of a request.
///
/// The configuration also applies to an HTTPS proxy, under the proxy's own name, except for the
/// client identity, which is only sent to servers. Specify such a proxy by name, not by address: a
/// handshake can't distinguish a proxy's address from a server's, so the client would reject the
/// proxy.
///
/// ```swift
/// let onlyTheseRoots = TLSConfiguration(
///     trustRoots: try .file("/etc/pki/our-roots.pem")
/// )
/// let client = try NetworkClient(tls: onlyTheseRoots)
/// ```
public struct TLSConfiguration: Sendable {
    /// The certificates that servers' certificates must chain to; the default is
    /// ``TrustRoots/system``.
    public var trustRoots: TrustRoots
    /// The oldest accepted TLS version; the default is TLS 1.2.
    public var minimumVersion: TLSVersion
    /// The newest accepted TLS version; the default, `nil`, is the newest that OpenSSL supports.
    public var maximumVersion: TLSVersion?
    /// The identity for servers that request a client certificate; the default is `nil`.
    public var clientIdentity: ClientIdentity?
    /// An additional check of servers whose chain and name were verified; the default is `nil`.
    public var serverTrustEvaluator: ServerTrustEvaluator?
    /// The maximum age of a connection, counted from its creation; with `nil`, the default, it's
    /// unlimited.
    ///
    /// A connection keeps its identity and the decision about its server. The maximum age limits
    /// how long the connection stays in use after a certificate rotation or the expiry of a policy.
    /// In whole seconds.
    public var maximumConnectionAge: Duration?

    var inspection: (@Sendable (TLSPeer) throws -> Void)?

    /// Creates a configuration.
    public init(
        trustRoots: TrustRoots = .system,
        minimumVersion: TLSVersion = .tls12,
        maximumVersion: TLSVersion? = nil,
        clientIdentity: ClientIdentity? = nil,
        serverTrustEvaluator: ServerTrustEvaluator? = nil,
        maximumConnectionAge: Duration? = nil
    ) {
        self.trustRoots = trustRoots
        self.minimumVersion = minimumVersion
        self.maximumVersion = maximumVersion
        self.clientIdentity = clientIdentity
        self.serverTrustEvaluator = serverTrustEvaluator
        self.maximumConnectionAge = maximumConnectionAge
    }

    /// All settings are the defaults, which any TLS library supports.
    var isOrdinary: Bool {
        trustRoots.includesSystem && trustRoots.certificates.isEmpty && minimumVersion == .tls12
            && maximumVersion == nil && clientIdentity == nil && serverTrustEvaluator == nil && inspection == nil
    }

    /// Throws `transportUnavailable` if the configuration rules out every connection.
    func policy() throws(NetworkError) -> TLSClientPolicy {
        if let maximumVersion, maximumVersion < minimumVersion {
            throw NetworkError(
                .transportUnavailable,
                "the TLS configuration rules out every version: at least \(minimumVersion) and at most \(maximumVersion)"
            )
        }
        let trust: @Sendable () throws(CryptoError) -> TrustStore
        do throws(CryptoError) {
            trust = try trustRoots.store()
        } catch {
            throw NetworkError(.transportUnavailable, "the trust roots can't be used: \(error.message)", cause: error)
        }
        return TLSClientPolicy(
            trust: trust,
            minimumVersion: minimumVersion.version,
            maximumVersion: maximumVersion?.version,
            identity: clientIdentity?.load,
            evaluate: evaluation
        )
    }

    private var evaluation: (@Sendable (TLSPeer) throws -> Void)? {
        guard serverTrustEvaluator != nil || inspection != nil else { return nil }
        return { [serverTrustEvaluator, inspection] peer in
            try serverTrustEvaluator?.check(peer)
            try inspection?(peer)
        }
    }
}

/// A supported TLS version; older versions aren't available
/// ([RFC 8996](https://www.rfc-editor.org/rfc/rfc8996)).
@nonexhaustive
public enum TLSVersion: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// TLS 1.2.
    case tls12
    /// TLS 1.3.
    case tls13

    init(_ version: TLSProtocolVersion) {
        self = version == .tls12 ? .tls12 : .tls13
    }

    var version: TLSProtocolVersion { self == .tls12 ? .tls12 : .tls13 }

    /// `TLS 1.2` or `TLS 1.3`.
    public var description: String { self == .tls12 ? "TLS 1.2" : "TLS 1.3" }
}
