/// The settings for a client's TLS connections, and the decision which servers to accept.
package struct TLSClientPolicy: Sendable {
    /// Provides the trusted root certificates.
    package var trust: @Sendable () throws(CryptoError) -> TrustStore
    /// The oldest TLS version to use.
    package var minimumVersion: TLSProtocolVersion
    /// The newest TLS version to use, or `nil` for the newest that OpenSSL supports.
    package var maximumVersion: TLSProtocolVersion?
    /// Provides the client's identity for each connection to a server that requests a certificate.
    package var identity: (@Sendable () throws -> TLSIdentity?)?
    /// Evaluates each server whose chain and name are verified; an error rejects the server.
    ///
    /// It runs on the connection's thread, before any data other than the handshake is sent.
    package var evaluate: (@Sendable (TLSPeer) throws -> Void)?
    /// A Boolean value that indicates whether a connection may resume an earlier session, which
    /// isn't evaluated again.
    package var allowsResumption: Bool { evaluate == nil && identity == nil }

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - trust: Provides the trusted root certificates.
    ///   - minimumVersion: The oldest TLS version to use. The default is 1.2.
    ///   - maximumVersion: The newest TLS version to use. The default is `nil`, for the newest that
    ///     OpenSSL supports.
    ///   - identity: Provides the client's identity. The default is `nil`, for none.
    ///   - evaluate: Evaluates each verified server. The default is `nil`, to accept all of them.
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
