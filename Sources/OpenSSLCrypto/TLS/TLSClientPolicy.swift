/// The settings for a client's TLS connections, including the servers to accept.
package struct TLSClientPolicy: Sendable {
    /// A closure that provides the trusted root certificates.
    package var trust: @Sendable () throws(CryptoError) -> TrustStore
    /// The oldest TLS version to use.
    package var minimumVersion: TLSProtocolVersion
    /// The newest TLS version to use, or `nil` for the newest that OpenSSL supports.
    package var maximumVersion: TLSProtocolVersion?
    /// A closure that provides the client's identity for each connection to a server that requests
    /// a certificate.
    package var identity: (@Sendable () throws -> TLSIdentity?)?
    /// A closure that evaluates each server with a verified chain and name; an error rejects the
    /// server.
    ///
    /// It runs on the connection's thread, before any data other than the handshake is sent.
    package var evaluate: (@Sendable (TLSPeer) throws -> Void)?
    /// A Boolean value that indicates whether a connection may resume an earlier session, which
    /// isn't evaluated again.
    package var allowsResumption: Bool { evaluate == nil && identity == nil }

    /// Creates a policy.
    package init(
        trust: @escaping @Sendable () throws(CryptoError) -> TrustStore,
        minimumVersion: TLSProtocolVersion = .tls12,
        maximumVersion: TLSProtocolVersion? = nil,
        identity: (@Sendable () throws -> TLSIdentity?)? = nil,
        evaluate: (@Sendable (TLSPeer) throws -> Void)? = nil
    ) {
        self.trust = trust
        self.minimumVersion = minimumVersion
        self.maximumVersion = maximumVersion
        self.identity = identity
        self.evaluate = evaluate
    }
}
