internal import OpenSSLCrypto

/// Which servers are trusted, and who this process is to them.
///
/// It belongs to one transport and holds for all of its connections; two configurations need two transports, which share no
/// connections and no TLS sessions. Everything is decided inside the handshake, before a byte of a request is sent.
///
/// It holds for an HTTPS proxy as well, under the proxy's own name; only the client identity is for servers alone. Give such a proxy by
/// its name: between an address of a proxy and an address of a server a handshake can't tell, and then the proxy is refused.
///
/// ```swift
/// let onlyTheseRoots = TLSConfiguration(trustRoots: try .file("/etc/pki/our-roots.pem"))
/// let client = try NetworkClient(tls: onlyTheseRoots)
/// ```
public struct TLSConfiguration: Sendable {
    /// The certificates under which servers are trusted; ``TrustRoots/system`` by default.
    public var trustRoots: TrustRoots
    /// The oldest version of TLS that is spoken; TLS 1.2 by default.
    public var minimumVersion: TLSVersion
    /// The newest version of TLS that is spoken; `nil`, the default, for the newest that OpenSSL has.
    public var maximumVersion: TLSVersion?
    /// Who this process is to servers that ask for a client certificate; `nil`, the default, for nobody.
    public var clientIdentity: ClientIdentity?
    /// What else a server whose chain and name were verified has to satisfy; nothing by default.
    public var serverTrustEvaluator: ServerTrustEvaluator?
    /// How long a connection is used, counted from when it was made; `nil`, the default, for as long as it lives.
    ///
    /// A connection keeps the identity and the decision about its server with which it was made. This bounds for how long after a
    /// certificate was rotated or a policy has expired. Whole seconds; needs libcurl 7.80.
    public var maximumConnectionAge: Duration?

    /// Is shown each server that is about to be accepted; an error refuses it.
    var inspection: (@Sendable (TLSPeer) throws -> Void)?

    /// Makes a configuration.
    ///
    /// - Parameters:
    ///   - trustRoots: The certificates under which servers are trusted.
    ///   - minimumVersion: The oldest version of TLS that is spoken.
    ///   - maximumVersion: The newest version of TLS that is spoken.
    ///   - clientIdentity: Who this process is to servers that ask.
    ///   - serverTrustEvaluator: What else a server has to satisfy.
    ///   - maximumConnectionAge: How long a connection is used.
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
}

extension TLSConfiguration {
    /// Whether any TLS library does what is asked, because nothing but the default is.
    var isOrdinary: Bool {
        trustRoots.includesSystem && trustRoots.certificates.isEmpty && minimumVersion == .tls12
            && maximumVersion == nil && clientIdentity == nil && serverTrustEvaluator == nil && inspection == nil
    }

    /// The configuration in OpenSSL's terms.
    ///
    /// - Throws: ``NetworkError`` with the code `transportUnavailable` if no connection could be made under it.
    func policy() throws(NetworkError) -> TLSClientPolicy {
        if let maximumVersion, maximumVersion < minimumVersion {
            throw NetworkError(
                .transportUnavailable,
                "the TLS configuration allows no version: at least \(minimumVersion) and at most \(maximumVersion)"
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
